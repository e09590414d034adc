// What the server says arrives in the editor.
const assert = require('node:assert/strict');
const path = require('node:path');
const vscode = require('vscode');
const { hoverText, open, positionOf, provided, until } = require('./help.js');
const page = require('./page.js');

const stem = 'split/module_0055.jit_attention.cl_933746096.after_optimizations';

exports.hover = async () => {
  const { document } = await open(`${stem}-live-range.txt`);
  const hovers = await provided('vscode.executeHoverProvider', document.uri, positionOf(document, 'copy-start.1{0}:'));
  assert.match(hoverText(hovers), /copy-start\.1/);
  assert.match(hoverText(hovers), /steps? 6-12/);
};

exports['definition in a sibling'] = async () => {
  const { document } = await open(`${stem}-live-range.txt`);
  const [found] = await provided('vscode.executeDefinitionProvider', document.uri, positionOf(document, 'fusion.6{1}:7-12'));
  assert.equal(path.basename((found.uri ?? found.targetUri).path), path.basename(`${stem}-buffer-assignment-values.txt`));
};

exports['definition by F12'] = async () => {
  const editor = await open(`${stem}-buffer-assignment.txt`);
  const position = positionOf(editor.document, 'fusion.5 @0');
  editor.selection = new vscode.Selection(position, position);
  await provided('vscode.executeDefinitionProvider', editor.document.uri, position);
  await page.press('F12');
  await until('another editor', () => vscode.window.activeTextEditor?.document.uri.path.endsWith('-values.txt'));
};

exports.problems = async () => {
  const { document } = await open('broken/module_0001.jit_broken.cpu_after_optimizations-buffer-assignment.txt');
  const found = await until('findings', () => {
    const found = vscode.languages.getDiagnostics(document.uri);
    return found.length > 0 && found;
  });
  assert.deepEqual(found.map(({ code }) => code.value), ['bytes-overlap']);
  assert.equal(found[0].severity, vscode.DiagnosticSeverity.Error);
  await vscode.commands.executeCommand('workbench.actions.view.problems');
  await page.see('.markers-panel .monaco-list-row', 'shares bytes');
  await page.screenshot('problems');
  await vscode.commands.executeCommand('workbench.action.closePanel');
};

exports['severities are settings'] = async () => {
  const { document } = await open('broken/module_0001.jit_broken.cpu_after_optimizations-buffer-assignment.txt');
  const severities = () => vscode.languages.getDiagnostics(document.uri).map(({ severity }) => severity);
  const { Error, Hint } = vscode.DiagnosticSeverity;
  await until('an error', () => severities().includes(Error));
  const configuration = vscode.workspace.getConfiguration('buflens');
  await configuration.update('severity', { 'bytes-overlap': 'hint' }, vscode.ConfigurationTarget.Workspace);
  await until('a hint', () => severities().includes(Hint));
  await configuration.update('severity', undefined, vscode.ConfigurationTarget.Workspace);
  await until('an error again', () => severities().includes(Error));
};

/** What is wrong with a document; advice is something else. */
const wrong = ({ uri }) =>
  vscode.languages.getDiagnostics(uri).filter(({ severity }) => severity <= vscode.DiagnosticSeverity.Warning);

exports['an intact dump has no problems'] = async () => {
  const { document } = await open(`${stem}-buffer-assignment.txt`);
  await provided('vscode.executeDocumentSymbolProvider', document.uri);
  assert.deepEqual(wrong(document), []);
};

exports.outline = async () => {
  const { document } = await open(`${stem}-buffer-assignment.txt`);
  const [section] = await provided('vscode.executeDocumentSymbolProvider', document.uri);
  assert.match(section.children[0].name, /^allocation 0: /);
  const symbols = await provided('vscode.executeWorkspaceSymbolProvider', 'fusion.6');
  assert(symbols.some(({ name }) => name.startsWith('fusion.6')));
};

exports['semantic tokens'] = async () => {
  const { document } = await open(`${stem}-buffer-assignment-values.txt`);
  const legend = await vscode.commands.executeCommand('vscode.provideDocumentSemanticTokensLegend', document.uri);
  assert(legend.tokenTypes.includes('variable'));
  const range = new vscode.Range(0, 0, 40, 0);
  const tokens = await until('tokens', () => vscode.commands.executeCommand('vscode.provideDocumentRangeSemanticTokens', document.uri, range));
  assert(tokens.data.length > 100);
};

exports['folding, references and edits'] = async () => {
  const { document } = await open('notes.txt');
  assert((await provided('vscode.executeFoldingRangeProvider', document.uri)).length > 1);
  const [first] = await provided('vscode.executeDocumentSymbolProvider', document.uri);
  const name = first.children[0].children[0];
  assert((await provided('vscode.executeReferenceProvider', document.uri, name.selectionRange.start)).length > 1);
  const edit = new vscode.WorkspaceEdit();
  edit.replace(document.uri, document.lineAt(1).range, document.lineAt(1).text.replace(/size \d+/, 'size 7'));
  await vscode.workspace.applyEdit(edit);
  await until('a finding', () => wrong(document).length > 0);
  await vscode.commands.executeCommand('undo');
  await until('no finding', () => wrong(document).length === 0);
  await vscode.commands.executeCommand('workbench.action.revertAndCloseActiveEditor');
};

exports['every command that is offered exists'] = async () => {
  const { contributes } = vscode.extensions.getExtension('buflens.buflens').packageJSON;
  const commands = await vscode.commands.getCommands(true);
  for (const { command } of contributes.commands) assert(commands.includes(command), command);
};
