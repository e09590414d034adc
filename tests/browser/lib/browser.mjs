// Chromium, and pages of which is known what went wrong in them and what they asked for.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { chromium } from 'playwright-core';

const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
  args: ['--no-sandbox', '--disable-gpu', '--disable-quic', '--disable-background-networking', '--disable-component-update'],
});
const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'buflens-browser-'));
let documents = 0;

/** Ends the browser: call it after the last test of a file. */
export async function close() {
  await browser.close();
  fs.rmSync(folder, { recursive: true, force: true });
}

/**
 * Opens a document, given as its text, from a file. `options` are those of a browser context. `page.check()` fails if
 * there was an error, anything on the console, or a request for anything but the file.
 */
export async function open(html, options = {}) {
  documents += 1;
  const file = path.join(folder, `${documents}.html`);
  fs.writeFileSync(file, html);
  const url = pathToFileURL(file).href;
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, ...options });
  const page = await context.newPage();
  page.setDefaultTimeout(10_000);
  const trouble = [];
  page.on('pageerror', (error) => trouble.push(`error: ${error.stack}`));
  page.on('console', (message) => trouble.push(`console: ${message.text()}`));
  page.on('request', (request) => {
    if (request.url() !== url) trouble.push(`request: ${request.url()}`);
  });
  page.on('dialog', (dialog) => {
    trouble.push(`dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  await page.goto(url);
  page.check = () => assert.deepEqual(trouble, []);
  return page;
}
