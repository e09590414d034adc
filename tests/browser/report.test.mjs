// A report in a browser, against what the program says on the command line.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, test } from 'node:test';
import { close, open } from './lib/browser.mjs';
import { buflens, fixture, json } from './lib/server.mjs';

const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'buflens-report-'));
after(async () => {
  await close();
  fs.rmSync(folder, { recursive: true, force: true });
});

const PARAMETERS = fixture('tpu-many-parameters');
const ATTENTION = fixture('tpu-split', 'module_0055.jit_attention');
const UNKNOWN = fixture('no-live-range');
const HOSTILE = '</script><img src=x onerror="window.evil=1"><!--';

/** The text of the report of a dump. */
function report(file, ...options) {
  const out = path.join(folder, 'report.html');
  buflens('report', file, '-o', out, ...options);
  return fs.readFileSync(out, 'utf8');
}

const TABLE = '#peak-0 .tools + .table';
/** What stands in a column of the rows shown of the first such table. */
const column = (page, at) => page.locator(TABLE).first().evaluate((first, at) => {
  const rows = [...first.querySelectorAll('tbody tr:not([hidden])')];
  return rows.map((row) => row.cells[at].dataset.value ?? row.cells[at].textContent);
}, at);

test('tables are sorted by click and by key', async () => {
  const page = await open(report(PARAMETERS));
  const before = (await column(page, 0)).map(Number);
  assert(before.length > 10);
  assert(before.every((bytes, at) => at === 0 || bytes <= before[at - 1]), 'the largest comes first');
  const heading = page.locator(`${TABLE} th:first-child`).first();
  assert.equal(await heading.getAttribute('aria-sort'), 'none');
  await heading.locator('button').click();
  assert.equal(await heading.getAttribute('aria-sort'), 'descending');
  await heading.locator('button').focus();
  await page.keyboard.press('Enter');
  assert.equal(await heading.getAttribute('aria-sort'), 'ascending');
  assert.deepEqual((await column(page, 0)).map(Number), before.toSorted((a, b) => a - b));
  page.check();
});

test('rows are filtered, counted and copied with exact numbers', async () => {
  const page = await open(report(PARAMETERS));
  const all = await column(page, 0);
  const tools = page.locator('#peak-0 .tools').first();
  await tools.locator('input').fill('no-such-value');
  assert.deepEqual(await column(page, 0), []);
  assert.equal(await tools.locator('output').innerText(), `0 of ${all.length} rows`);
  await tools.locator('input').fill('');
  assert.equal((await column(page, 0)).length, all.length);
  // What was copied is read where the page itself puts it.
  await page.evaluate(() => {
    const { setData } = DataTransfer.prototype;
    DataTransfer.prototype.setData = function (kind, text) { window.copied = text; setData.call(this, kind, text); };
  });
  await tools.locator('button').click();
  const lines = (await page.evaluate(() => window.copied)).split('\n');
  assert.equal(lines.length, all.length + 1);
  assert.deepEqual(lines.slice(1).map((line) => line.split('\t')[0]), all);
  page.check();
});

test('the map of a report says what its text says, and answers what-if', async () => {
  for (const file of [ATTENTION, fixture('gpu-split', 'jit_attention'), fixture('out-of-memory', 'buffer-assignment')]) {
    const page = await open(report(file));
    const map = page.locator('.buflens-map[data-shown]');
    await map.waitFor();
    assert.equal(await page.locator('.picture').isVisible(), false, 'one picture is enough');
    const peak = json('peak', file);
    const label = await page.locator('canvas').getAttribute('aria-label');
    assert(label.includes(`step ${peak.step}, ${peak.instruction}`), label);
    const titles = await page.locator('#peak-0').innerText();
    assert(titles.includes(`step ${peak.step}`), titles.slice(0, 300));
    const search = map.locator('input[type=search]');
    const [largest] = peak.values;
    await search.fill(largest.name);
    await search.press('Enter');
    const details = map.locator('.map-details');
    await details.getByText('leave out').locator('input').check();
    const rest = json('peak', file, '--without', largest.id);
    const text = await page.locator('.map-what-if').innerText();
    assert(text.includes(` at step ${rest.step}${rest.instruction ? `, ${rest.instruction}` : ''} (`), text);
    page.check();
    await page.context().close();
  }
});

test('both themes are legible, and paper is white', async () => {
  const page = await open(report(ATTENTION, '--device', 'v5e'));
  const brightness = () => page.evaluate(() => {
    const of = (name) => getComputedStyle(document.body)[name].match(/\d+/g).slice(0, 3).reduce((sum, it) => sum + Number(it), 0) / 3;
    return { text: of('color'), page: of('backgroundColor') };
  });
  await page.emulateMedia({ colorScheme: 'light' });
  const light = await brightness();
  assert(light.page - light.text > 150, JSON.stringify(light));
  await page.emulateMedia({ colorScheme: 'dark' });
  const dark = await brightness();
  assert(dark.text - dark.page > 150, JSON.stringify(dark));
  await page.emulateMedia({ media: 'print' });
  const paper = await brightness();
  assert(paper.page - paper.text > 150, JSON.stringify(paper));
  assert.equal(await page.locator('nav').isVisible(), false);
  assert.equal(await page.locator('.picture').isVisible(), true, 'the map is printed as a picture');
  assert.equal(await page.locator('#memory-map').isVisible(), false);
  page.check();
});

test('no page is wider than the screen', async () => {
  const page = await open(report(ATTENTION));
  for (const width of [360, 700, 1400]) {
    await page.setViewportSize({ width, height: 800 });
    const needed = await page.evaluate(() => document.documentElement.scrollWidth);
    assert(needed <= width, `${needed} of ${width}`);
  }
  page.check();
});

test('without scripts there are a picture and tables', async () => {
  const page = await open(report(ATTENTION), { javaScriptEnabled: false });
  assert.equal(await page.locator('.picture svg').isVisible(), true);
  assert.equal(await page.locator('#peak-0 table').first().isVisible(), true);
  page.check();
});

test('without a map the tables still work', async () => {
  const page = await open(report(UNKNOWN));
  assert.equal(await page.locator('#memory-map').count(), 0);
  assert(await page.locator('th button').count() > 0);
  page.check();
});

test('hostile names do no harm', async () => {
  const dump = fs.readFileSync(fixture('smallest'), 'utf8');
  const stem = path.join(folder, 'module_0001.hostile.cpu_after_optimizations');
  const names = [...new Set([...dump.matchAll(/^ value: <\d+ (\S+) @/gm)].map(([, name]) => name))];
  assert(names.length > 0);
  fs.writeFileSync(`${stem}-buffer-assignment.txt`, dump.replaceAll(names[0], HOSTILE.replaceAll(' ', '/')));
  const page = await open(report(`${stem}-buffer-assignment.txt`));
  assert((await page.locator('body').innerText()).includes('onerror'), 'the name is there as text');
  assert.equal(await page.locator('img').count(), 0);
  assert.equal(await page.evaluate(() => window.evil), undefined);
  page.check();
});

test('a script that is not the report\'s own does not run', async () => {
  const page = await open(report(ATTENTION).replace('</main>', '</main><script>window.evil = 1</script>'));
  assert((await page.locator('meta[http-equiv]').getAttribute('content')).startsWith("default-src 'none'"));
  assert.equal(await page.evaluate(() => window.evil), undefined);
});
