// Opens the workbench in Chromium, lets the suite run in the extension host, and does for it what only a user can do:
// look, point, click. The two talk through files in the folder `.page` of the workspace.
//
// node drive.mjs URL WORKSPACE DRIVER OUT
import fs from 'node:fs';
import { createRequire } from 'node:module';
import os from 'node:os';
import path from 'node:path';

const [, , url, workspace, driver, out] = process.argv;
const { chromium } = createRequire(`${driver}/`)('playwright-core');
const mailbox = path.join(workspace, '.page');
fs.rmSync(mailbox, { recursive: true, force: true });
fs.mkdirSync(mailbox);

const here = new URL('.', import.meta.url).pathname;
const remote = (path) => `vscode-remote://${new URL(url).host}${path}`;
const payload = [
  ['extensionDevelopmentPath', remote(path.join(here, 'rival'))],
  ['extensionTestsPath', remote(path.join(here, 'suite/index.js'))],
];
const profile = fs.mkdtempSync(path.join(os.tmpdir(), 'chromium-'));
const context = await chromium.launchPersistentContext(profile, {
  executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
  headless: true,
  viewport: { width: 1400, height: 900 },
  args: [
    '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking',
    '--disable-component-update', '--disable-sync',
  ],
});
const page = context.pages()[0] ?? (await context.newPage());

page.setDefaultTimeout(15_000);

/** What is found in a frame below the page. */
async function inView(selector, text) {
  for (const end = Date.now() + 15_000; Date.now() < end; await new Promise((resolve) => setTimeout(resolve, 50))) {
    for (const frame of page.frames().slice(1)) {
      const found = frame.locator(selector).filter({ hasText: new RegExp(text) }).filter({ visible: true }).first();
      if ((await found.count().catch(() => 0)) > 0) return found;
    }
  }
  throw new Error(`no ${selector} with ${text} in a web view`);
}

const requests = {
  /** Waits until something with a text is on the screen; gives its whole text. */
  async see({ selector, text, timeout = 15_000 }) {
    const found = page.locator(selector).filter({ hasText: new RegExp(text) }).filter({ visible: true }).first();
    await found.waitFor({ timeout });
    return found.innerText();
  },
  async texts({ selector }) {
    return page.locator(selector).filter({ visible: true }).allInnerTexts();
  },
  async click({ selector, text = '' }) {
    await page.locator(selector).filter({ hasText: new RegExp(text) }).filter({ visible: true }).first().click();
  },
  /** The same two within a web view, whose page is in frames of its own. */
  async seeInView({ selector, text }) {
    return (await inView(selector, text)).innerText();
  },
  async clickInView({ selector, text = '' }) {
    await (await inView(selector, text)).click();
  },
  async press({ key }) {
    await page.keyboard.press(key);
  },
  /** Points at the first occurrence of a text in the editor. */
  async point({ text, at = 2 }) {
    const line = page.locator('.monaco-editor .view-line', { hasText: text }).first();
    const box = await line.evaluate((element, [text, at]) => {
      const range = document.createRange();
      const walker = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
      const start = element.textContent.replaceAll('\u00a0', ' ').indexOf(text) + at;
      for (let passed = 0, node = walker.nextNode(); node; passed += node.length, node = walker.nextNode()) {
        if (start < passed + node.length) {
          range.setStart(node, start - passed);
          range.setEnd(node, start - passed + 1);
          break;
        }
      }
      const { x, y, width, height } = range.getBoundingClientRect();
      return { x: x + width / 2, y: y + height / 2 };
    }, [text, at]);
    await page.mouse.move(box.x - 30, box.y + 60);
    await page.mouse.move(box.x, box.y, { steps: 4 });
  },
  async away() {
    await page.mouse.move(300, 892);
  },
  async screenshot({ name }) {
    await page.screenshot({ path: path.join(out, `${name}.png`) });
  },
};

let exit;
const ended = new Promise((resolve) => (exit = resolve));
await page.exposeFunction('codeAutomationLog', (_, [text = '', ...more] = []) => {
  if (String(text).startsWith('test:')) console.log([text, ...more].join(' ').slice('test: '.length));
});
await page.exposeFunction('codeAutomationExit', (code) => exit(code));
const hosts = new Set();
page.on('request', (request) => hosts.add(new URL(request.url()).host));
if (process.env.DEBUG) page.on('console', (message) => console.log('  page:', message.text().slice(0, 300)));

let done = false;
const answering = (async () => {
  for (let number = 1; !done; ) {
    const request = path.join(mailbox, `${number}.request`);
    if (!fs.existsSync(request)) {
      await new Promise((resolve) => setTimeout(resolve, 25));
      continue;
    }
    const { what, ...argument } = JSON.parse(fs.readFileSync(request, 'utf8'));
    const answer = await requests[what](argument).then((value) => ({ value }), (error) => ({ error: String(error).split('\n')[0] }));
    fs.writeFileSync(path.join(mailbox, 'unfinished'), JSON.stringify(answer));
    fs.renameSync(path.join(mailbox, 'unfinished'), path.join(mailbox, `${number}.answer`));
    number += 1;
  }
})();

await page.goto(`${url}/?folder=${encodeURIComponent(workspace)}&payload=${encodeURIComponent(JSON.stringify(payload))}`);
const limit = Number(process.env.LIMIT ?? 400);
const code = await Promise.race([ended, new Promise((resolve) => setTimeout(() => resolve(`not after ${limit} s`), limit * 1000))]);
done = true;
await answering;
if (code !== 0) await page.screenshot({ path: path.join(out, 'failed.png') }).catch(() => {});
// Web views call local files so; a worker of the page answers, not the network.
const isLocal = (host) => host.startsWith('127.0.0.1') || host.endsWith('.vscode-resource.vscode-cdn.net');
const foreign = [...hosts].filter((host) => host && !isLocal(host));
if (foreign.length > 0) console.log(`asked for: ${foreign.join(' ')}`);
await context.close();
fs.rmSync(profile, { recursive: true, force: true });
if (code !== 0) console.log(`the tests in the extension host ended: ${code}; see ${out}`);
process.exit(code === 0 ? 0 : 1);
