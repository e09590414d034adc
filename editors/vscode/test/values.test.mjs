import assert from 'node:assert/strict';
import test from 'node:test';

import numbers from '../dist/test/numbers.js';
import values from '../dist/test/values.js';

const { bytes, exactBytes, counted } = numbers;
const { filtered, rowsOf, sorted, summaryOf, whatIfOf } = values;

const value = (name, bytes, live, op_name) => ({
  id: 1, name, index: '{}', kind: 'temp', allocation: 6, offset: 32768, bytes, logical_bytes: bytes, live,
  shape: 'f32[8]{0}', opcode: 'copy', op_name, source: null, what_if: null, location: {},
});
const all = [value('copy.10', 8, [3, 9], 'b'), value('copy.9', 32, [1, 4], null), value('pad', 16, null, 'a')];
const names = (values) => values.map(({ name }) => name);

test('values are sorted in each order', () => {
  assert.deepEqual(names(sorted(all, 'bytes')), ['copy.9', 'pad', 'copy.10']);
  assert.deepEqual(names(sorted(all, 'name')), ['copy.9', 'copy.10', 'pad']);
  assert.deepEqual(names(sorted(all, 'live')), ['pad', 'copy.9', 'copy.10']);
  assert.deepEqual(names(sorted(all, 'op_name')), ['pad', 'copy.10', 'copy.9']);
});

test('every word of a filter has to be there', () => {
  assert.deepEqual(names(filtered(all, 'COPY 10')), ['copy.10']);
  assert.deepEqual(names(filtered(all, '  ')), names(all));
  assert.deepEqual(names(filtered(all, 'f32[8] nothing')), []);
});

test('bytes are those that the server tells', () => {
  assert.equal(bytes(1310720), '1.2 MiB');
  assert.equal(bytes(1835008), '1.8 MiB');
  assert.equal(bytes(1048571), '1.0 MiB');
  assert.equal(bytes(-3), '-3 B');
  assert.equal(bytes(1.125 * 2 ** 30), '1.12 GiB');
});

test('what is said of a value', () => {
  assert.equal(summaryOf(all[0], 32), '25.0 %, temp, steps 3-9');
  assert.equal(summaryOf(all[2], null), 'temp');
  const padded = { ...all[0], logical_bytes: 4, what_if: { step: 16, instruction: 'copy.4', occupied_bytes: 1024 } };
  assert.deepEqual(Object.fromEntries(rowsOf(padded, 32))['if it went away'], 'the peak is 1.0 KiB at step 16, copy.4');
});

test('what is not known is left out', () => {
  const odd = { ...all[0], logical_bytes: null, what_if: { step: 16, instruction: null, occupied_bytes: 1024 } };
  const rows = Object.fromEntries(rowsOf(odd, 32));
  assert.equal(rows['without padding'], undefined);
  assert.equal(rows['if it went away'], 'the peak is 1.0 KiB at step 16');
});

test('what remains, in a sentence', () => {
  const result = { name: 'HBM', without: [1, 2], reason: null, saved_bytes: 5046272, note: 'as it is', after: { step: 16, instruction: 'copy.4', occupied_bytes: 1007566848 } };
  assert.equal(whatIfOf([result]), 'Without 2 values in HBM: 960.9 MiB at step 16 (-4.8 MiB), as it is');
  assert.equal(whatIfOf([{ ...result, saved_bytes: 0 }]), 'Without 2 values in HBM: 960.9 MiB at step 16 (no change), as it is');
  assert.equal(whatIfOf([{ ...result, without: [1], after: null, reason: 'no live ranges' }]), 'Without 1 value in HBM: no live ranges');
  const other = { ...result, name: 'VMEM', without: [3], saved_bytes: 0 };
  const both = 'Without 2 values in HBM: 960.9 MiB at step 16 (-4.8 MiB). Without 1 value in VMEM: 960.9 MiB at step 16 (no change), as it is';
  assert.equal(whatIfOf([result, other]), both, 'what is taken for granted is said once');
  assert.equal(whatIfOf([]), '');
});

test('numbers', () => {
  assert.deepEqual([0, 1023, 1024, 340787200, -5046272].map(bytes), ['0 B', '1023 B', '1.0 KiB', '325.0 MiB', '-4.8 MiB']);
  assert.equal(exactBytes(340787200), '325.0 MiB (340,787,200 B)');
  assert.equal(counted(1, 'value'), '1 value');
  assert.equal(counted(2000, 'value'), '2,000 values');
});
