// The peak explorer and the lists, if the server has their commands; else it is said that it has not.
const assert = require('node:assert/strict');
const { execFileSync } = require('node:child_process');
const fs = require('node:fs');
const vscode = require('vscode');
const { find, message, open, until } = require('./help.js');
const page = require('./page.js');

const dump = 'split/module_0055.jit_attention.cl_933746096.after_optimizations-buffer-assignment.txt';
const rows = '.pane-body .monaco-list-row';
const extension = () => vscode.extensions.getExtension('buflens.buflens');

async function hasCommands() {
  const { server } = await extension().activate();
  const client = await server.start();
  return client.initializeResult.capabilities.executeCommandProvider?.commands.includes('buflens.peak') === true;
}

exports['the status item'] = async () => {
  await open(dump);
  await page.see('.statusbar-item', (await hasCommands()) ? 'jit_attention.*HBM .*iB' : 'Buflens');
};

exports['the status item follows edits'] = async () => {
  const { document } = await open(dump);
  await page.see('.statusbar-item', 'HBM 2\\.0 MiB');
  const edit = new vscode.WorkspaceEdit();
  const line = document.getText().split('\n').findIndex((line) => line.includes('fusion.5 @0'));
  edit.replace(document.uri, document.lineAt(line).range, document.lineAt(line).text.replace('size=524288', 'size=1572864'));
  await vscode.workspace.applyEdit(edit);
  await page.see('.statusbar-item', 'HBM 3\\.0 MiB');
  await vscode.commands.executeCommand('undo');
  await page.see('.statusbar-item', 'HBM 2\\.0 MiB');
  await vscode.commands.executeCommand('workbench.action.revertAndCloseActiveEditor');
};

exports['the status item follows what becomes of the files beside'] = async () => {
  // Of this dump no test has opened the file: what is open counts, and not what is on disk.
  const beside = 'split/module_0542.jit_scan_cumsum.cl_933746096.after_optimizations';
  const { document } = await open(`${beside}-buffer-assignment.txt`);
  await page.see('.statusbar-item', 'HBM 133\\.0 KiB');
  const live = (await find(`${beside}-live-range.txt`)).fsPath;
  const text = fs.readFileSync(live);
  fs.rmSync(live);
  try {
    await page.see('.statusbar-item', '^\\W*jit_scan_cumsum\\W*$');
  } finally {
    fs.writeFileSync(live, text);
  }
  await page.see('.statusbar-item', 'HBM 133\\.0 KiB');
  assert.equal(vscode.window.activeTextEditor.document, document);
};

exports['a server without the commands says so'] = async (say) => {
  if (await hasCommands()) return;
  say('     this server has no buflens.peak');
  await open(dump);
  await vscode.commands.executeCommand('buflens.showPeak');
  await page.see('.message', 'has no buflens.peak');
  await page.screenshot('explorer-without-command');
  await vscode.commands.executeCommand('buflens.showPadding');
  await message('has no buflens.padding');
};

exports.explorer = async () => {
  if (!(await hasCommands())) return;
  const { explorer } = extension().exports;
  await open(dump);
  await vscode.commands.executeCommand('buflens.showPeak');
  await page.see(rows, 'HBM \\(@0\\)');
  await page.see(rows, 'true peak');
  assert.match(await page.see(rows, '^512.*fusion\\.5'), /^512\.0 KiB\s+fusion\.5\s*25\.0 %, output, steps 12-13/);

  const [space] = await explorer.getChildren();
  const [step] = await explorer.getChildren(space);
  const [first, second] = await explorer.getChildren(step);
  assert(first.value.bytes >= second.value.bytes, 'the largest first');
  explorer.setFilter('parameter q.1');
  const shown = await explorer.getChildren(step);
  assert.deepEqual(shown.map((node) => node.value?.name ?? node.text), ['q.1', '3 values filtered out']);
  await until('what is shown is said', () => explorer.message === 'jit_attention. Only values with "parameter q.1"');
  explorer.setFilter('');

  await page.see(rows, '^512\\.0 KiB\\s+fusion\\.5');
  await new Promise((resolve) => setTimeout(resolve, 500));
  await page.click(`${rows} .custom-view-tree-node-item-checkbox`);
  await until('the result of what-if', () => /\. Without 1 value in HBM: .* at step \d+/.test(explorer.message));
  await page.see('.tree-explorer-viewlet-tree-view .message', 'Without 1 value in HBM');

  await open(dump.replace('-buffer-assignment', '-live-range'));
  await new Promise((resolve) => setTimeout(resolve, 300));
  assert.match(explorer.message, /Without 1 value in HBM/, 'another file of the same dump changes nothing');
  await vscode.commands.executeCommand('buflens.clearTicks');
  await until('no what-if', () => explorer.message === 'jit_attention');

  await page.click(rows, '^512.*fusion\\.5');
  await until('the line of the value', () => {
    const editor = vscode.window.activeTextEditor;
    return editor?.document.lineAt(editor.selection.active.line).text.includes('fusion.5 @0');
  });
};

exports['ticks give the peak that the command line gives'] = async () => {
  if (!(await hasCommands())) return;
  const { document } = await open('run-on/module_0027.jit_mlp_sgd.after_optimizations-buffer-assignment.txt');
  const { explorer, leftOut } = extension().exports;
  explorer.show(document.uri);
  for (const color of [0, 1]) {
    const { values } = await explorer.peak(color);
    for (const ids of [values.slice(0, 1), values.slice(0, 3)].map((values) => values.map(({ id }) => id))) {
      const args = ['peak', document.uri.fsPath, '--space', color, '--without', ids.join(), '--format', 'json'];
      const { name, step, occupied_bytes } = JSON.parse(execFileSync('buflens', args, { encoding: 'utf8' }));
      const mib = (occupied_bytes / 1024 / 1024).toFixed(1);
      explorer.clearTicks();
      leftOut.setSpace(document.uri, color, ids);
      const expected = `Without ${ids.length} value${ids.length === 1 ? '' : 's'} in ${name}: ${mib} MiB at step ${step} `;
      await until(expected, () => explorer.message?.includes(expected));
    }
  }
  explorer.clearTicks();
};

exports['a code lens opens the explorer at its step'] = async () => {
  if (!(await hasCommands())) return;
  await open(dump);
  const { explorer } = extension().exports;
  for (const [title, color, step] of [
    ['^HBM .* occupied at step 12', 0, 12],
    ['^3\\.1 MiB temp, full at step 7', 1, 7],
    ['^512\\.0 KiB output', 0, 12],
    ['^32\\.5 KiB temp, fullest .* at step 7', 0, 7],
  ]) {
    await vscode.commands.executeCommand('workbench.view.explorer');
    // Earlier tests may have gone further down, where the lens is not drawn.
    await open(dump);
    await vscode.commands.executeCommand('cursorTop');
    await page.click('.codelens-decoration a', title);
    await until(`space ${color}, step ${step}`, () => {
      const [node] = explorer.selection;
      return node?.kind === 'step' && node.color === color && node.moment.step === step;
    });
    await page.see(rows, `at step ${step}\\D`);
  }
  // A step that is no peak is there because it was chosen.
  await vscode.commands.executeCommand('buflens.peak', { uri: vscode.window.activeTextEditor.document.uri.toString(), space: 0, step: 3 });
  await page.see(rows, ' at step 3\\s*chosen, ');
};

exports['lists that lead to lines'] = async () => {
  if (!(await hasCommands())) return;
  await open(dump);
  for (const [command, title] of [['showPadding', 'Padding of jit_attention'], ['auditDonation', 'Donation in'], ['auditCopies', 'Copies in']]) {
    const shown = vscode.commands.executeCommand(`buflens.${command}`);
    await page.see('.quick-input-widget', title);
    await page.see('.quick-input-list .monaco-list-row', '.');
    await page.press('Enter');
    await shown;
  }
};

exports['beside another file the lists are about the dump of the explorer'] = async () => {
  if (!(await hasCommands())) return;
  await open(dump);
  await vscode.commands.executeCommand('buflens.showPeak');
  await vscode.window.showTextDocument(await vscode.workspace.openTextDocument(await find('prose.txt')));
  const shown = vscode.commands.executeCommand('buflens.showPadding');
  await page.see('.quick-input-widget', 'Padding of jit_attention');
  await page.press('Escape');
  await shown;
};

exports["the server's own command opens the explorer"] = async () => {
  if (!(await hasCommands())) return;
  const { document } = await open(dump);
  await vscode.commands.executeCommand('workbench.view.explorer');
  await vscode.commands.executeCommand('buflens.peak', { uri: document.uri.toString(), space: 0 });
  await page.see(rows, 'true peak');
};
