import assert from 'node:assert/strict';
import fs from 'node:fs';
import test from 'node:test';

import { published, severities } from '../scripts/codes.mjs';

const read = (name) => fs.readFileSync(new URL(name, import.meta.url), 'utf8');
const { contributes, version } = JSON.parse(read('../package.json'));

test('there is a setting for the severity of every code: npm run codes', () => {
  assert.deepEqual(published(), severities());
  assert.ok('bytes-overlap' in severities());
});

test('the settings of the server are settings here, with the same defaults', () => {
  const settings = Object.assign({}, ...contributes.configuration.map(({ properties }) => properties));
  const own = ['server.path', 'trace.server'];
  const rows = new Map([...read('../../../docs/lsp.md').matchAll(/^\| `(\w+)` \| (.*)$/gm)].map(([, name, row]) => [name, row]));
  const expected = { severity: {}, codeLens: true, index: true, indexBytes: '2GiB', libraryPaths: [], sourceMap: {}, device: null, capacity: {} };
  assert.deepEqual([...rows.keys()].toSorted(), ['advice', 'inlayHints', ...Object.keys(expected)].toSorted());
  for (const [, key, value] of rows.get('advice').matchAll(/`(\w+)` \(([^)]+)\)/g)) {
    expected[`advice.${key}`] = value === '1 MiB' ? 1024 * 1024 : Number(value);
  }
  for (const [, key] of /object: (.*?) to /.exec(rows.get('inlayHints'))[1].matchAll(/`(\w+)`/g)) {
    expected[`inlayHints.${key}`] = !rows.get('inlayHints').includes(`All are on but \`${key}\``);
  }
  for (const name of own) delete settings[`buflens.${name}`];
  const found = Object.entries(settings).map(([name, setting]) => [name.replace('buflens.', ''), setting.default]);
  assert.deepEqual(Object.fromEntries(found), expected);
});

test('the version is that of the program', () => {
  assert.equal(version, /^version = "(.*)"$/m.exec(read('../../../Cargo.toml'))[1]);
});

test('file names go before those of the extension that claims module_*.jit_*.txt', () => {
  const patterns = contributes.languages.flatMap(({ filenamePatterns }) => filenamePatterns);
  // VS Code takes the longest pattern that fits.
  for (const pattern of patterns) assert.ok(pattern.length > 'module_*.jit_*.txt'.length, pattern);
});

test('each real dump has one language, by its name', () => {
  const regexes = contributes.languages.map(({ id, filenamePatterns }) => [
    id,
    filenamePatterns.map((pattern) => new RegExp(`^${pattern.replaceAll('.', '\\.').replaceAll('*', '.*')}$`)),
  ]);
  const folder = new URL('../../../tests/fixtures/dumps/', import.meta.url);
  for (const file of fs.readdirSync(folder, { recursive: true }).filter((name) => name.endsWith('.txt'))) {
    const name = file.split('/').at(-1);
    const found = regexes.filter(([, patterns]) => patterns.some((pattern) => pattern.test(name))).map(([id]) => id);
    assert.equal(found.length, 1, `${name}: ${found}`);
  }
});

test('words', () => {
  const { wordPattern } = JSON.parse(read('../language-configuration.json'));
  const words = (text) => text.match(new RegExp(wordPattern, 'g'));
  assert.deepEqual(words('%name.12 copy-start.1{0} 340787200'), ['%name.12', 'copy-start.1{0}', '340787200']);
  assert.deepEqual(words('    fusion.6{1}:7-12'), ['fusion.6{1}', '7', '12']);
  assert.deepEqual(words('<38 copy-start.1{0} @1> f32[32,513]{0,1:T(8,128)}').slice(0, 3), ['38', 'copy-start.1{0}', '1']);
});

test('commands have one category, and every command in a menu exists', () => {
  const commands = new Set(contributes.commands.map(({ command }) => command));
  for (const { category } of contributes.commands) assert.equal(category, 'Buflens');
  for (const { command } of Object.values(contributes.menus).flat()) assert.ok(commands.has(command), command);
});
