// Whatever is wrong gives one message, and the editor stays usable.
const assert = require('node:assert/strict');
const fs = require('node:fs');
const path = require('node:path');
const vscode = require('vscode');
const { MESSAGES, find, folder, message, messages, open, provided, until } = require('./help.js');
const page = require('./page.js');

const dump = 'split/module_0055.jit_attention.cl_933746096.after_optimizations-buffer-assignment.txt';

const setPath = (value) =>
  vscode.workspace.getConfiguration('buflens').update('server.path', value, vscode.ConfigurationTarget.Workspace);

/** The one message that a server at this path gives. */
async function complaint(program, text) {
  const before = await messages();
  await setPath(program);
  await message(text);
  await new Promise((resolve) => setTimeout(resolve, 500));
  // An older one may have gone meanwhile.
  const added = (await messages()).filter((message) => !before.includes(message));
  assert.equal(added.length, 1, `one message: ${added}`);
}

async function recovers() {
  await vscode.commands.executeCommand('notifications.clearAll');
  await setPath(undefined);
  const { document } = await open(dump);
  await provided('vscode.executeDocumentSymbolProvider', document.uri);
}

/** A program that does what a shell script says. */
function program(name, script) {
  const file = path.join(folder.fsPath, name);
  fs.writeFileSync(file, `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  return file;
}

exports['no server at the path of the setting'] = async () => {
  await open(dump);
  await complaint('/nowhere/buflens', 'not found.*/nowhere/buflens');
  await page.screenshot('no-server');
  await page.click(`${MESSAGES} .monaco-button`, 'Open Setting');
  await page.see('.settings-editor', 'Path of the');
  await recovers();
};

exports['another program'] = async () => {
  await open(dump);
  await complaint(program('other', 'echo other 1.0'), 'is not the Buflens server');
  await recovers();
};

exports['another version'] = async () => {
  await open(dump);
  const real = '$(command -v buflens)';
  await complaint(program('newer', `[ "$1" = --version ] && echo buflens 99.0.0 || exec ${real} "$@"`), 'is Buflens 99\\.0\\.0');
  await recovers();
};

exports['a server that ends again and again'] = async () => {
  await open(dump);
  const script = '[ "$1" = --version ] && exec $(command -v buflens) --version; (sleep 0.4; kill $$) & exec $(command -v buflens) "$@"';
  await complaint(program('ends', script), 'ended three times');
  await recovers();
};

exports['a file that vanishes'] = async () => {
  const { document } = await open('vanishes.txt');
  await until('the language', () => document.languageId === 'xla-buffer-assignment');
  await provided('vscode.executeDocumentSymbolProvider', document.uri);
  const before = await messages();
  fs.rmSync((await find('vanishes.txt')).fsPath);
  await new Promise((resolve) => setTimeout(resolve, 300));
  await provided('vscode.executeDocumentSymbolProvider', document.uri);
  assert.deepEqual(await messages(), before);
};
