import assert from 'node:assert/strict';
import fs from 'node:fs';
import { createRequire } from 'node:module';
import test from 'node:test';

const require = createRequire(import.meta.url);
const oniguruma = require('vscode-oniguruma');
const textmate = require('vscode-textmate');

await oniguruma.loadWASM(fs.readFileSync(require.resolve('vscode-oniguruma/release/onig.wasm')).buffer);
const files = { 'text.xla.buffer-assignment': 'buffer-assignment', 'text.xla.memory-report': 'memory-report', 'source.hlo': 'hlo' };
const registry = new textmate.Registry({
  onigLib: Promise.resolve({
    createOnigScanner: (patterns) => new oniguruma.OnigScanner(patterns),
    createOnigString: (text) => new oniguruma.OnigString(text),
  }),
  loadGrammar: (scope) => {
    const path = new URL(`../syntaxes/${files[scope]}.tmLanguage.json`, import.meta.url);
    return Promise.resolve(textmate.parseRawGrammar(fs.readFileSync(path, 'utf8'), path.pathname));
  },
});

/** The coloured pieces of a line: `text: scope` without the last part of the scope. */
async function pieces(scope, line) {
  const grammar = await registry.loadGrammar(scope);
  const { tokens } = grammar.tokenizeLine(line, textmate.INITIAL);
  return tokens
    .filter(({ scopes }) => scopes.length > 1)
    .map(({ startIndex, endIndex, scopes }) => `${line.slice(startIndex, endIndex)}: ${scopes.at(-1).replace(/\.\w+$/, '')}`);
}

test('an assignment', async () => {
  const of = (line) => pieces('text.xla.buffer-assignment', line);
  assert.deepEqual(await of(' value: <38 copy-start.1{0} @1> (size=66560,offset=81920): f32[4]{0}'), [
    ' value: : keyword.control.value', '38: constant.numeric', 'copy-start.1: variable.other.readwrite',
    '0: constant.numeric', '1: constant.numeric', 'size: keyword.control', '66560: constant.numeric',
    'offset: keyword.control', '81920: constant.numeric', 'f32: support.type', '4: constant.numeric', '0: constant.numeric',
  ]);
  assert.deepEqual((await of('allocation 5: size 148480, color 1, preallocated-temp:')).slice(0, 4), [
    'allocation: keyword.control.allocation', '5: constant.numeric', 'size: keyword.control', '148480: constant.numeric',
  ]);
  assert.deepEqual((await of('    fusion.6{1}:7-12'))[0], 'fusion.6: variable.other.readwrite');
});

test('HLO', async () => {
  const line = '  ROOT %ge.2 = pred[256]{0} compare(%a, %b), direction=GE, metadata={op_name="jit(f)/ge"}';
  assert.deepEqual(await pieces('source.hlo', line), [
    'ROOT : keyword.control', '%ge.2: entity.name.function.instruction', 'pred: support.type', '256: constant.numeric',
    '0: constant.numeric', 'compare: support.function.opcode', '%a: variable.other.readwrite', '%b: variable.other.readwrite',
    'direction: variable.other.property', 'metadata: variable.other.property', 'op_name: variable.other.property',
    '"jit(f)/ge": string.quoted.double',
  ]);
});

test('a report', async () => {
  assert.deepEqual((await pieces('text.xla.memory-report', 'Memory Space: default (color=0)'))[0], 'Memory Space: keyword.control.section');
});
