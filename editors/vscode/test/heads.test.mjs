import assert from 'node:assert/strict';
import fs from 'node:fs';
import test from 'node:test';

import heads from '../dist/test/heads.js';

const { HEAD, languageOf, stemOf } = heads;

test('the first lines tell', () => {
  assert.equal(languageOf('BufferAssignment:\nallocation 0: size 4'), 'xla-buffer-assignment');
  assert.equal(languageOf('\nTotal bytes used: 36864 (36.0KiB)\n\nUsed values:\n<0 a @0>'), 'xla-buffer-assignment');
  assert.equal(languageOf('Used values:\n<0 a @0>'), 'xla-buffer-assignment');
  assert.equal(languageOf('\n*** Begin a dump ***\n\nBufferAssignment:\n'), 'xla-buffer-assignment');
  assert.equal(languageOf('HloLiveRange (max 13):\n'), 'xla-buffer-assignment');
  assert.equal(languageOf('HloLiveRange not available (finalized or constructed from proto)'), 'xla-buffer-assignment');
  assert.equal(languageOf('Total bytes used: 102912 (100.5KiB)\n\nAllocations sorted by size:\n'), 'xla-memory-report');
  assert.equal(languageOf('\uFEFFMemory Space: default (color=0)\r\n'), 'xla-memory-report');
  assert.equal(languageOf('HloModule jit_f, is_scheduled=true'), 'hlo');
});

test('a failure is recognised in a log', () => {
  const lines = fs.readFileSync(new URL('../../../tests/fixtures/failures.txt', import.meta.url), 'utf8').split('\n');
  for (const line of lines.filter((line) => line)) {
    assert.equal(languageOf(`step 1\nTraceback (most recent call last):\n${line}\n`), 'xla-memory-report', line);
  }
});

test('prose is no dump', () => {
  for (const text of ['', '\n\n', 'BufferAssignment is a class', 'HloModule is what XLA calls it', 'Total bytes used: 3', 'notes\nBufferAssignment:\n', 'It ran out of memory on Monday.', 'Attempting to allocate 4 workers', 'Allocator (GPU_0_bfc) ran out of memory trying to allocate 3.37GiB. The caller indicates that this is not a failure']) {
    assert.equal(languageOf(text), undefined, text);
  }
});

test('every real dump is recognised as what its name says', () => {
  const root = new URL('../../../tests/fixtures/dumps/', import.meta.url);
  const files = fs.readdirSync(root, { recursive: true }).filter((name) => name.endsWith('.txt'));
  assert.ok(files.length > 100);
  for (const name of files) {
    const head = fs.readFileSync(new URL(name, root), 'utf8').slice(0, HEAD);
    const expected = /-memory-usage-report\.txt$/.test(name)
      ? 'xla-memory-report'
      : /-(buffer-assignment|buffer-assignment-values|live-range)\.txt$/.test(name)
        ? 'xla-buffer-assignment'
        : 'hlo';
    assert.equal(languageOf(head), expected, name);
  }
});

test('the files of a dump have their stem in common', () => {
  for (const suffix of ['', '-buffer-assignment', '-buffer-assignment-values', '-live-range', '-memory-usage-report']) {
    assert.equal(stemOf(`/d/module_0001.jit_f.after_optimizations${suffix}.txt`), '/d/module_0001.jit_f.after_optimizations');
  }
  assert.equal(stemOf('/d/build.log'), '/d/build.log');
});
