// Cuts the dependencies of VS Code's server, in the folder named, down to those that the workbench and the extension
// host load, each at the version that its own lock file names.
import fs from 'node:fs';

const folder = process.argv[2];
const read = (name) => JSON.parse(fs.readFileSync(`${folder}/${name}`, 'utf8'));
const locked = read('npm-shrinkwrap.json').packages;
const manifest = read('package.json');

// Accounts, remote machines, sandboxes and assistants: nothing that these tests use.
const unused = [
  '@anthropic', '@devcontainers', '@github', '@microsoft/mxc', '@openai', '@vscode/copilot', '@vscode/deviceid',
  '@vscode/fs-copyfile', '@vscode/policy', '@vscode/sandbox-runtime', '@vscode/sqlite3', '@vscode/windows-',
  'detect-libc', 'katex', 'kerberos', 'ssh2', 'tar', 'zod',
];
const isUsed = (name) => !unused.some((prefix) => name.startsWith(prefix));
const names = [...Object.keys(manifest.dependencies).filter(isUsed), 'undici'];
const dependencies = Object.fromEntries(
  names.filter((name) => locked[`node_modules/${name}`]).map((name) => [name, locked[`node_modules/${name}`].version]),
);
const { name, version, type } = manifest;
fs.writeFileSync(`${folder}/package.json`, JSON.stringify({ name, version, type, private: true, dependencies }, null, 2));
