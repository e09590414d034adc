// The real program, asked on the command line.
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';

const root = new URL('../../../', import.meta.url).pathname;
const program = process.env.BUFLENS_BINARY ?? path.join(root, 'target/debug/buflens');

/** What `buflens ARGUMENTS...` prints. */
export function buflens(...args) {
  return execFileSync(program, args.map(String), { encoding: 'utf8', maxBuffer: 1 << 30, env: { ...process.env, COLUMNS: '200' } });
}

/** The same, as JSON. */
export function json(...args) {
  return JSON.parse(buflens(...args, '--format', 'json'));
}

/** The first assignment in a folder of fixtures whose name holds `part`. */
export function fixture(folder, part = '') {
  const there = path.join(root, 'tests/fixtures/dumps', folder);
  const name = fs.readdirSync(there).find((name) => name.includes(part) && name.endsWith('-buffer-assignment.txt'));
  if (name === undefined) throw new Error(`no ${part} in ${folder}`);
  return path.join(there, name);
}
