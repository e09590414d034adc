// Makes the folder that the tests open: real dumps, under their own and under other names, and a very large one.
import fs from 'node:fs';
import path from 'node:path';

const folder = process.argv[2];
const fixtures = new URL('../../fixtures/', import.meta.url).pathname;
const copy = (from, to) => {
  fs.mkdirSync(path.dirname(path.join(folder, to)), { recursive: true });
  fs.cpSync(path.join(fixtures, from), path.join(folder, to), { recursive: true });
};
const one = (from, part) => path.join(from, fs.readdirSync(path.join(fixtures, from)).find((name) => name.includes(part)));

copy('dumps/tpu-split', 'split');
copy('dumps/tpu-run-on', 'run-on');
copy('dumps/cpu-tree', 'tree');
const renamed = one('dumps/cpu-tree', 'jit_donated_inplace.cpu_after_optimizations-buffer-assignment.txt');
copy(renamed, 'notes.txt');
copy(renamed, 'build.log');
copy(renamed, 'vanishes.txt');
copy(one('broken', 'overlapping'), 'broken/module_0001.jit_broken.cpu_after_optimizations-buffer-assignment.txt');
fs.writeFileSync(path.join(folder, 'prose.txt'), 'BufferAssignment is what this text is about.\n');

// Most bytes of a real large dump are in the texts of instructions with large tuples, repeated for every element.
const dumpOf = (elements) => {
  const operands = Array.from({ length: 15_000 }, (_, index) => `%parameter.${index}`).join(', ');
  const shape = `(${Array.from({ length: elements }, () => 'f32[64]{0}').join(', ')})`;
  const indices = Array.from({ length: elements }, (_, index) => index);
  return linesOf(elements, operands, shape, indices).join('\n');
};
const linesOf = (elements, operands, shape, indices) => [
  'BufferAssignment:',
  `allocation 0: size ${256 * elements}, preallocated-temp:`,
  ...indices.map((index) => ` value: <${index} tuple.1{${index}} @0> (size=256,offset=${256 * index}): f32[64]{0}`),
  '',
  `Total bytes used: ${256 * elements} (${Math.floor((2560 * elements) / 1024) / 10}KiB)`,
  '',
  'Used values:',
  ...indices.flatMap((index) => [
    `<${index} tuple.1{${index}} @0>`, ' positions:', `  tuple.1 {${index}}`, ' uses:',
    ` from instruction: %tuple.1 = ${shape} custom-call(${operands}), custom_call_target="f"`,
  ]),
  '',
  '',
  'HloLiveRange (max 1):',
  '  InstructionSequence:',
  '    0:tuple.1',
  '  BufferLiveRange:',
  ...indices.map((index) => `    tuple.1{${index}}:0-1`),
  '  Live ranges at 0 (peak):',
  ...indices.map((index) => `    tuple.1{${index}}: 256 bytes`),
  '',
];
const large = dumpOf(220);
if (large.length < 52 * 1024 * 1024) throw new Error(`only ${large.length} bytes`);
fs.mkdirSync(path.join(folder, 'large'));
fs.writeFileSync(path.join(folder, 'large/module_0001.jit_large.cpu_after_optimizations-buffer-assignment.txt'), large);
const forty = dumpOf(160);
if (forty.length < 38 * 1024 * 1024 || forty.length > 42 * 1024 * 1024) throw new Error(`${forty.length} bytes`);
fs.writeFileSync(path.join(folder, 'large/module_0002.jit_forty.cpu_after_optimizations-buffer-assignment.txt'), forty);
