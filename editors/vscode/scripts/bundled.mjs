// Packages the extension with its server, for the platform this runs on: npm run package:bundled -- PROGRAM OUT.vsix
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';

const [, , program, out] = process.argv;
const server = `bin/buflens${process.platform === 'win32' ? '.exe' : ''}`;
const target = `${process.platform}-${process.arch}`;
fs.mkdirSync('bin', { recursive: true });
try {
  fs.copyFileSync(program, server);
  fs.chmodSync(server, 0o755);
  const options = ['package', '--no-dependencies', '--target', target, ...(out === undefined ? [] : ['--out', out])];
  execFileSync(process.execPath, ['node_modules/@vscode/vsce/vsce', ...options], { stdio: 'inherit' });
} finally {
  // The universal extension must not find it there.
  fs.rmSync('bin', { recursive: true });
}
