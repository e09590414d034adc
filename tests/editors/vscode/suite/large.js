// A dump of 40 MB, and one of more than 50 MiB, which VS Code shows to no extension.
const assert = require('node:assert/strict');
const vscode = require('vscode');
const { MESSAGES, find, hoverText, message, open, positionOf, provided, until } = require('./help.js');
const page = require('./page.js');

const name = 'large/module_0001.jit_large.cpu_after_optimizations-buffer-assignment.txt';

exports['40 MB: a hover answers, and keys do'] = async (say) => {
  let start = Date.now();
  const editor = await open('large/module_0002.jit_forty.cpu_after_optimizations-buffer-assignment.txt');
  const { document } = editor;
  const shown = Date.now() - start;
  const position = positionOf(document, '<150 tuple.1{150}', 6);
  assert.match(hoverText(await provided('vscode.executeHoverProvider', document.uri, position)), /tuple\.1\{150\}/);
  const hovered = Date.now() - start;
  editor.selection = new vscode.Selection(position, position);
  const keys = [];
  for (const key of 'abcdefgh') {
    start = Date.now();
    await vscode.commands.executeCommand('type', { text: key });
    keys.push(Date.now() - start);
  }
  assert(document.lineAt(position.line).text.includes('abcdefgh'));
  start = Date.now();
  await vscode.commands.executeCommand('cursorMove', { to: 'down', by: 'line', value: 100 });
  await provided('vscode.executeHoverProvider', document.uri, positionOf(document, '<20 tuple.1{20}', 5));
  say(`     shown after ${shown} ms, hover after ${hovered} ms, a key takes at most ${Math.max(...keys)} ms, then a hover ${Date.now() - start} ms`);
  assert(Math.max(...keys) < 1000, `${keys}`);
  await vscode.commands.executeCommand('workbench.action.revertAndCloseActiveEditor');
};

exports['it is noticed, and opens in parts'] = async (say) => {
  const file = await find(name);
  const start = Date.now();
  await vscode.commands.executeCommand('vscode.open', file);
  await message('can open it in parts');
  // What extensions are not shown is the dump at hand all the same.
  await page.see('.statusbar-item', 'jit_large');
  await page.screenshot('large-notice');
  await page.click(`${MESSAGES} .monaco-button`, 'Open in Parts');
  const outline = await until('the outline', () => {
    const { document } = vscode.window.activeTextEditor ?? {};
    return document?.uri.scheme === 'buflens-part' && document;
  });
  say(`     outline after ${Date.now() - start} ms`);
  assert.match(outline.getText(), /allocation 0: /);
  const entry = positionOf(outline, 'tuple.1{150}');
  assert.match(hoverText(await provided('vscode.executeHoverProvider', outline.uri, entry)), /tuple\.1\{150\}/);

  const links = await until('links', async () => {
    const links = await vscode.commands.executeCommand('vscode.executeLinkProvider', outline.uri, 1000);
    return links?.length > 100 && links.every(({ target }) => target) && links;
  });
  const link = links.find(({ range }) => range.start.line === entry.line);
  await vscode.commands.executeCommand('vscode.open', link.target);
  const part = await until('a part', () => {
    const { document } = vscode.window.activeTextEditor ?? {};
    return document?.uri.path.includes('/lines ') && document.languageId === 'xla-buffer-assignment' && document;
  });
  const value = positionOf(part, '<150 tuple.1{150}', 6);
  assert.match(hoverText(await provided('vscode.executeHoverProvider', part.uri, value)), /tuple\.1\{150\}/);
  await page.screenshot('large-part');

  const [found] = await provided('vscode.executeDefinitionProvider', part.uri, value);
  const target = await vscode.workspace.openTextDocument(found.uri ?? found.targetUri);
  assert.equal(target.uri.scheme, 'buflens-part');
  const line = (found.range ?? found.targetSelectionRange).start.line;
  assert.match(target.lineAt(line).text, /^<150 tuple\.1\{150\}/);

  // Where a list of values leads: not to the whole file, which no extension sees.
  const range = { start: { line: 0, character: 0 }, end: { line: 0, character: 0 } };
  await vscode.commands.executeCommand('buflens.goTo', { uri: file.toString(), range });
  const first = vscode.window.activeTextEditor.document;
  assert.deepEqual([first.uri.scheme, first.lineAt(0).text], ['buflens-part', 'BufferAssignment:']);
};
