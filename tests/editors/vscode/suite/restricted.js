// A folder that the user does not trust: everything works but what the folder chose to run.
const assert = require('node:assert/strict');
const fs = require('node:fs');
const path = require('node:path');
const vscode = require('vscode');
const { folder, hoverText, messages, open, positionOf, provided } = require('./help.js');
const page = require('./page.js');

exports['the server of the folder is not run'] = async () => {
  assert.equal(vscode.workspace.isTrusted, false);
  assert.match(fs.readFileSync(path.join(folder.fsPath, '.vscode/settings.json'), 'utf8'), /intruder/);
  const { document } = await open('split/module_0055.jit_attention.cl_933746096.after_optimizations-live-range.txt');
  const hovers = await provided('vscode.executeHoverProvider', document.uri, positionOf(document, 'copy-start.1{0}:'));
  assert.match(hoverText(hovers), /copy-start\.1/);
  await page.screenshot('restricted');
  await vscode.commands.executeCommand('buflens.restartServer');
  await provided('vscode.executeDocumentSymbolProvider', document.uri);
  assert(!fs.existsSync(path.join(folder.fsPath, 'was-run')));
  assert.deepEqual((await messages()).filter((text) => /buflens/i.test(text)), []);
};
