// A page with nothing but a memory map, made of the files that reports and editors use.
import fs from 'node:fs';
import { open } from './browser.mjs';

const files = new URL('../../../server/src/report/html/', import.meta.url);
const read = (name) => fs.readFileSync(new URL(name, files), 'utf8');
const scripts = fs.readdirSync(files).filter((name) => /^map.*\.js$/.test(name));

/** Data that a script can hold, whatever is in it. */
const embedded = (data) => JSON.stringify(data).replaceAll('<', '\\u003c');

/** The document. Scripts and styles run by a nonce, so that whatever gets into the page besides does not. */
export function documentOf(data) {
  return `<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'nonce-test'; script-src 'nonce-test'">
<title>map</title>
<style nonce="test">${read('style.css')}${read('map.css')}</style>
</head>
<body>
<main><h1>${'map'}</h1><div id="map"></div></main>
<script nonce="test">${scripts.map(read).join('\n')}</script>
<script nonce="test">
window.opened = [];
window.saved = null;
window.map = buflensMap(document.getElementById('map'), ${embedded(data)}, {
  open: (place) => window.opened.push(place),
  save: (state) => { window.saved = state; },
  restore: () => window.saved,
});
</script>
</body>
</html>`;
}

/** Opens the map of what `buflens map` wrote. */
export async function openMap(data, options) {
  const page = await open(documentOf(data), options);
  await page.waitForSelector('.buflens-map[data-shown], .map-nothing');
  return page;
}
