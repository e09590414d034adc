// A setting that is changed reaches the server, and what is shown follows.
const assert = require('node:assert/strict');
const vscode = require('vscode');
const { open, provided, until } = require('./help.js');

const dump = 'run-on/module_0027.jit_mlp_sgd.after_optimizations-buffer-assignment.txt';

/** Sets something, waits until `holds`, and takes it back. */
async function withSetting(name, value, holds) {
  const set = (value) => vscode.workspace.getConfiguration('buflens').update(name, value, vscode.ConfigurationTarget.Workspace);
  assert(!(await holds()), `${name} before`);
  await set(value);
  await until(`${name} to change`, holds);
  await set(undefined);
  await until(`${name} to change back`, async () => !(await holds()));
}

exports.hints = async () => {
  const { document } = await open(dump);
  const all = new vscode.Range(0, 0, document.lineCount, 0);
  const labels = async () => (await provided('vscode.executeInlayHintProvider', document.uri, all)).map(({ label }) => label);
  const none = (pattern) => async () => !(await labels()).some((label) => pattern.test(label));
  await withSetting('inlayHints.bytes', false, none(/^\d+\.\d .iB$/));
  await withSetting('inlayHints.padding', false, none(/^pad /));
  await withSetting('inlayHints.spaces', false, none(/^VMEM$/));
  await withSetting('inlayHints.ends', true, async () => (await labels()).some((label) => label.startsWith('.. ')));
};

exports.lenses = async () => {
  const { document } = await open(dump);
  const lenses = () => vscode.commands.executeCommand('vscode.executeCodeLensProvider', document.uri);
  await until('lenses', async () => (await lenses())?.length > 0);
  await withSetting('codeLens', false, async () => (await lenses()).length === 0);
};

exports['advice, capacity and severities'] = async () => {
  const { document } = await open(dump);
  const codes = () => vscode.languages.getDiagnostics(document.uri).map(({ code }) => code.value);
  await until('findings', () => codes().length > 0);
  await withSetting('capacity', { hbm: '1MiB' }, () => codes().includes('capacity'));
  const few = codes().length;
  await withSetting('advice.minBytes', '1KiB', () => codes().length > few);
  const first = codes()[0];
  await withSetting('severity', { [first]: 'off' }, () => !codes().includes(first));
};
