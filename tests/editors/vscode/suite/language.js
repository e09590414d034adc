// Dumps are recognised, by name and by their first lines.
const assert = require('node:assert/strict');
const vscode = require('vscode');
const { open, until } = require('./help.js');

const becomes = (editor, language) => until(`language ${language}`, () => editor.document.languageId === language);

exports['activation is fast'] = async (say) => {
  const extension = vscode.extensions.getExtension('buflens.buflens');
  assert(extension, 'the extension is installed');
  const { activation } = await extension.activate();
  say(`     activated in ${activation.toFixed(0)} ms`);
  assert(activation < 100);
};

exports['by name, against an extension that claims the same files'] = async () => {
  assert.equal((await open('split/module_0055.jit_attention.cl_933746096.after_optimizations-live-range.txt')).document.languageId, 'xla-buffer-assignment');
  assert.equal((await open('split/module_0055.jit_attention.cl_933746096.after_optimizations.txt')).document.languageId, 'hlo');
  const names = {
    'jit_attention.cl_933746096.after_optimizations-buffer-assignment.txt': 'xla-buffer-assignment',
    'jit_attention.cl_933746096.after_optimizations-buffer-assignment-values.txt': 'xla-buffer-assignment',
    'jit_mlp_fwd.cl_933746096.after_optimizations-memory-usage-report.txt': 'xla-memory-report',
  };
  for (const [name, language] of Object.entries(names)) assert.equal((await open(`split/${name}`)).document.languageId, language, name);
};

exports['by the first line'] = async () => {
  await becomes(await open('notes.txt'), 'xla-buffer-assignment');
  await becomes(await open('build.log'), 'xla-buffer-assignment');
  const text = 'HloModule jit_f, is_scheduled=true\n\nENTRY %main () -> f32[] {\n}\n';
  const untitled = await vscode.workspace.openTextDocument({ content: text, language: 'plaintext' });
  await becomes(await vscode.window.showTextDocument(untitled), 'hlo');
};

exports['prose stays prose, and a choice of the user stands'] = async () => {
  const prose = await open('prose.txt');
  const notes = await open('notes.txt');
  await becomes(notes, 'xla-buffer-assignment');
  assert.equal(prose.document.languageId, 'plaintext');
  await vscode.languages.setTextDocumentLanguage(notes.document, 'plaintext');
  await new Promise((resolve) => setTimeout(resolve, 300));
  assert.equal(notes.document.languageId, 'plaintext');
  await vscode.commands.executeCommand('buflens.treatAsDump');
  await becomes(notes, 'xla-buffer-assignment');
};
