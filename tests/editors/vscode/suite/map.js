// The memory map: drawn in a web view, follows edits, leads to lines.
const assert = require('node:assert/strict');
const { execFileSync } = require('node:child_process');
const vscode = require('vscode');
const { open, until } = require('./help.js');
const page = require('./page.js');

const dump = 'split/module_0055.jit_attention.cl_933746096.after_optimizations-buffer-assignment.txt';

async function shown() {
  const { document } = await open(dump);
  const { maps } = await vscode.extensions.getExtension('buflens.buflens').activate();
  await vscode.commands.executeCommand('buflens.showMap');
  const drawn = await until('a map that is drawn', () => maps.get(document.uri)?.drawn);
  return { document, map: maps.get(document.uri), drawn };
}

exports['all values are drawn'] = async () => {
  const { document, drawn } = await shown();
  const map = JSON.parse(execFileSync('buflens', ['map', document.uri.fsPath, '--format', 'json'], { encoding: 'utf8' }));
  const count = map.values.allocation.filter((place) => map.allocations[place].space === 0).length;
  assert.equal(drawn.total, count);
  assert.equal(drawn.drawn + drawn.merged, count);
  assert(drawn.drawn > 0);
  await page.seeInView('.map-spaces button', 'HBM 2\\.0 MiB');
  const titles = vscode.window.tabGroups.all.flatMap(({ tabs }) => tabs.map(({ label }) => label));
  assert(titles.includes('Map of jit_attention'), titles.join());
  await page.screenshot('map');
};

exports['opening a line'] = async () => {
  await shown();
  await page.clickInView('.map-values button', '^fusion\\.5$');
  await page.seeInView('.map-details h3', '^fusion\\.5$');
  await page.clickInView('button', '^Open line$');
  await until('the line of the value', () => {
    const editor = vscode.window.activeTextEditor;
    return editor?.document.lineAt(editor.selection.active.line).text.includes('fusion.5 @0');
  });
  assert.equal(vscode.window.tabGroups.all.length, 2, 'beside the map');
};

exports['following edits, keeping what is looked at'] = async () => {
  const { document, map } = await shown();
  await page.clickInView('.map-values button', '^fusion\\.5$');
  await page.seeInView('.map-details dd', '^512\\.0 KiB');
  const number = document.getText().split('\n').findIndex((line) => line.includes('fusion.5 @0'));
  const write = async (text) => {
    const edit = new vscode.WorkspaceEdit();
    edit.replace(document.uri, document.lineAt(number).range, text);
    await vscode.workspace.applyEdit(edit);
  };
  const { text } = document.lineAt(number);
  await write(text.replace('size=524288', 'size=1572864'));
  await page.seeInView('.map-spaces button', 'HBM 3\\.0 MiB');
  await page.seeInView('.map-details dd', '^1\\.5 MiB');
  await write(text);
  await page.seeInView('.map-spaces button', 'HBM 2\\.0 MiB');
  await document.save();
  map.dispose();
};

exports['what is left out in the map is in the explorer, and the other way round'] = async () => {
  const { document, map } = await shown();
  const { explorer, leftOut } = vscode.extensions.getExtension('buflens.buflens').exports;
  leftOut.set(document.uri, []);
  await page.clickInView('.map-values button', '^fusion\\.5$');
  await page.clickInView('.map-tick', 'leave out');
  await until('the explorer to say so', () => /Without 1 value in HBM: 1\.5 MiB at step 7/.test(explorer.message));
  await page.seeInView('.map-what-if', '^without fusion\\.5: 1\\.5 MiB at step 7');
  const { values } = await explorer.peak(0);
  leftOut.setSpace(document.uri, 0, values.slice(0, 2).map(({ id }) => id));
  await page.seeInView('.map-what-if', `^without ${values[0].name.replace('.', '\\.')}, ${values[1].name.replace('.', '\\.')}: `);
  explorer.clearTicks();
  await until('nothing is left out', () => !explorer.message?.includes('Without'));
  map.dispose();
};

exports['with the map in the active tab, commands, explorer and status are about its dump'] = async () => {
  const { document, map } = await shown();
  const { explorer } = vscode.extensions.getExtension('buflens.buflens').exports;
  await open('run-on/module_0027.jit_mlp_sgd.after_optimizations-buffer-assignment.txt');
  await until('the other dump', () => explorer.uri.path.includes('jit_mlp_sgd'));
  await vscode.commands.executeCommand('workbench.action.closeActiveEditor');
  await vscode.commands.executeCommand('workbench.action.focusSecondEditorGroup');
  await until('the dump of the map', () => explorer.uri.path === document.uri.path);
  await page.see('.statusbar-item', 'jit_attention');
  const shownList = vscode.commands.executeCommand('buflens.showPadding');
  await page.see('.quick-input-widget', 'Padding of jit_attention');
  await page.press('Escape');
  await shownList;
  await page.screenshot('map-active');
  map.dispose();
};

exports['the same map for all files of a dump, in both themes'] = async () => {
  const { map } = await shown();
  await open(dump.replace('-buffer-assignment', '-live-range'));
  await vscode.commands.executeCommand('buflens.showMap');
  const views = () => vscode.window.tabGroups.all.flatMap(({ tabs }) => tabs).filter(({ input }) => input instanceof vscode.TabInputWebview);
  assert.equal(views().length, 1);
  for (const [theme, name] of [['Default Light Modern', 'light'], ['Default High Contrast', 'contrast'], ['Default Dark Modern', 'dark']]) {
    await vscode.workspace.getConfiguration('workbench').update('colorTheme', theme, vscode.ConfigurationTarget.Workspace);
    await new Promise((resolve) => setTimeout(resolve, 800));
    await page.screenshot(`map-${name}`);
  }
  await vscode.workspace.getConfiguration('workbench').update('colorTheme', undefined, vscode.ConfigurationTarget.Workspace);
  map.dispose();
};
