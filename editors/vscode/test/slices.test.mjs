import assert from 'node:assert/strict';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import test from 'node:test';

import slices from '../dist/test/slices.js';

const { sliceAt, slicesOf, textOf } = slices;

test('a file is cut behind lines and nothing is lost', async (context) => {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'slices-'));
  context.after(() => fs.rmSync(folder, { recursive: true }));
  const file = path.join(folder, 'a.txt');
  for (const text of ['', '\n', 'a', 'a\nb\nc\nd\ne', 'ä\nlong line of text\n\n\nb\n', 'a\n'.repeat(600_000)]) {
    fs.writeFileSync(file, text);
    const found = await slicesOf(file, 2, 10);
    const texts = found.length < 100 ? await Promise.all(found.map((slice) => textOf(file, slice))) : [text];
    assert.equal(texts.join(''), text);
    assert.equal(found.reduce((sum, { length }) => sum + length, 0), Buffer.byteLength(text));
    const lines = text.split('\n').length - (text.endsWith('\n') || text === '' ? 1 : 0);
    assert.equal(found.reduce((sum, { lines }) => sum + lines, 0), lines);
    for (let line = 0; line < Math.min(lines, 9); line += 1) {
      const slice = sliceAt(found, line);
      assert.equal((await textOf(file, slice)).split('\n')[line - slice.first], text.split('\n')[line]);
    }
    assert.equal(sliceAt(found, lines), undefined);
  }
});

test('a file that shrank gives what there is', async (context) => {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'slices-'));
  context.after(() => fs.rmSync(folder, { recursive: true }));
  const file = path.join(folder, 'a.txt');
  fs.writeFileSync(file, 'abc');
  assert.equal(await textOf(file, { offset: 1, length: 10 }), 'bc');
});
