// A report in a real browser: `node --test tests/browser/report.test.mjs`, after `cargo build`.
// `BUFLENS` names another program, `CHROMIUM` another browser.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath, pathToFileURL } from "node:url";
import puppeteer from "puppeteer-core";

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), "../..");
const program = process.env.BUFLENS ?? path.join(root, "target/debug/buflens");
const browsers = [process.env.CHROMIUM, "/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];
const folder = mkdtempSync(path.join(tmpdir(), "buflens-report-"));
const dumps = {
  "many-parameters": "tpu-many-parameters",
  attention: "tpu-split/module_0055.jit_attention.cl_933746096.after_optimizations-buffer-assignment.txt",
  "no-live-range": "no-live-range",
};
let browser;

before(async () => {
  const executablePath = browsers.find((candidate) => candidate && existsSync(candidate));
  assert.ok(executablePath, "there is no Chromium; CHROMIUM names one");
  browser = await puppeteer.launch({ executablePath, args: ["--no-sandbox"] });
});
after(async () => {
  await browser?.close();
  rmSync(folder, { recursive: true });
});

/** Opens the report of a fixture; `look` gets the page. Nothing may go wrong or go out meanwhile. */
async function open(fixture, options, look) {
  const file = path.join(folder, `${fixture}.html`);
  execFileSync(program, ["report", path.join(root, "tests/fixtures/dumps", dumps[fixture]), "-o", file, ...options]);
  const page = await browser.newPage();
  const problems = [];
  page.on("console", (message) => problems.push(message.text()));
  page.on("pageerror", (error) => problems.push(String(error)));
  page.on("request", (request) => {
    if (!/^(file|blob|data):/.test(request.url())) problems.push(request.url());
  });
  try {
    await page.setViewport({ width: 1400, height: 900 });
    await page.goto(pathToFileURL(file).href, { waitUntil: "load" });
    await look(page);
    assert.deepEqual(problems, []);
  } finally {
    await page.close();
  }
}

const table = "#peak-0 .tools + .table";
/** What stands in a column of the rows shown of the first such table. */
const column = (page, at) => page.$eval(table, (first, at) => {
  const rows = [...first.querySelectorAll("tbody tr:not([hidden])")];
  return rows.map((row) => row.cells[at].dataset.value ?? row.cells[at].textContent);
}, at);

test("tables are sorted by click and by key", () => open("many-parameters", [], async (page) => {
  const before = (await column(page, 0)).map(Number);
  assert.ok(before.length > 10);
  assert.ok(before.every((bytes, at) => at === 0 || bytes <= before[at - 1]), "the largest comes first");
  const heading = `${table} th:first-child`;
  const sorted = () => page.$eval(heading, (it) => it.getAttribute("aria-sort"));
  assert.equal(await sorted(), "none");
  await page.click(`${heading} button`);
  assert.equal(await sorted(), "descending");
  await page.focus(`${heading} button`);
  await page.keyboard.press("Enter");
  assert.equal(await sorted(), "ascending");
  assert.deepEqual((await column(page, 0)).map(Number), before.toSorted((a, b) => a - b));
}));

test("rows are filtered and counted", () => open("many-parameters", [], async (page) => {
  const all = await column(page, 0);
  await page.type("#peak-0 .tools input", "no-such-value");
  assert.deepEqual(await column(page, 0), []);
  assert.equal(await page.$eval("#peak-0 .tools output", (it) => it.textContent), `0 of ${all.length} rows`);
  await page.click("#peak-0 .tools input", { count: 3 });
  await page.keyboard.press("Backspace");
  assert.equal((await column(page, 0)).length, all.length);
}));

test("rows are copied with exact numbers", () => open("many-parameters", [], async (page) => {
  const copied = page.evaluate(() => new Promise((resolve) => {
    document.addEventListener("copy", (event) => setTimeout(() => resolve(event.clipboardData.getData("text/plain"))), { once: true });
  }));
  // What was copied is read where the page itself puts it.
  await page.evaluate(() => {
    const setData = DataTransfer.prototype.setData;
    DataTransfer.prototype.setData = function (kind, text) { window.copied = text; setData.call(this, kind, text); };
  });
  await page.click("#peak-0 .tools button");
  await copied;
  const lines = (await page.evaluate(() => window.copied)).split("\n");
  assert.equal(lines.length, (await column(page, 0)).length + 1);
  assert.match(lines[1], /^\d+\t/);
}));

test("both themes are legible", () => open("attention", ["--device", "v5e"], async (page) => {
  const brightness = () => page.evaluate(() => {
    const of = (name) => getComputedStyle(document.body)[name].match(/\d+/g).slice(0, 3).reduce((sum, it) => sum + Number(it), 0) / 3;
    return { text: of("color"), page: of("backgroundColor") };
  });
  await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: "light" }]);
  const light = await brightness();
  assert.ok(light.page - light.text > 150, JSON.stringify(light));
  await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: "dark" }]);
  const dark = await brightness();
  assert.ok(dark.text - dark.page > 150, JSON.stringify(dark));
  // Paper is white.
  await page.emulateMediaType("print");
  const paper = await brightness();
  assert.ok(paper.page - paper.text > 150, JSON.stringify(paper));
  assert.equal(await page.$eval("nav", (it) => getComputedStyle(it).display), "none");
}));

test("no page is wider than the screen", () => open("attention", [], async (page) => {
  for (const width of [360, 700, 1400]) {
    await page.setViewport({ width, height: 800 });
    const needed = await page.evaluate(() => document.documentElement.scrollWidth);
    assert.ok(needed <= width, `${needed} of ${width}`);
  }
}));

test("a script that is not the report's own does not run", () => open("attention", [], async (page) => {
  const policy = await page.$eval("meta[http-equiv]", (it) => it.content);
  assert.ok(policy.startsWith("default-src 'none'"));
  const names = readFileSync(path.join(folder, "attention.html"), "utf8");
  const changed = path.join(folder, "changed.html");
  writeFileSync(changed, names.replace("</main>", "</main><script>window.evil = 1</script>"));
  const other = await browser.newPage();
  await other.goto(pathToFileURL(changed).href, { waitUntil: "load" });
  assert.equal(await other.evaluate(() => window.evil), undefined);
  await other.close();
}));

test("without a map the tables still work", () => open("no-live-range", [], async (page) => {
  assert.equal(await page.$("#memory-map"), null);
  assert.ok(await page.$("th button"));
}));
