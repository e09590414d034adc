// What changed between two dumps, and dumps as files for others.
const assert = require('node:assert/strict');
const fs = require('node:fs');
const path = require('node:path');
const vscode = require('vscode');
const { open } = require('./help.js');
const page = require('./page.js');

const before = 'split/module_0017.jit_host_offload_outputs.cl_933746096.after_optimizations-buffer-assignment.txt';
const dump = 'split/module_0055.jit_attention.cl_933746096.after_optimizations-buffer-assignment.txt';
const choice = '.quick-input-list .monaco-list-row';

exports['comparing with an open dump'] = async () => {
  await open(before);
  await open(dump.replace('-buffer-assignment', '-live-range'));
  await open(dump);
  const done = vscode.commands.executeCommand('buflens.compareWith');
  await page.see(choice, 'jit_host_offload_outputs');
  const others = (await page.texts(choice)).filter((text) => text.includes('jit_attention'));
  assert.deepEqual(others, [], 'files of the same dump are not from before');
  await page.click(choice, 'jit_host_offload_outputs');
  await done;
  assert.match(await page.seeInView('strong', 'HBM occupied at the true peak'), /64\.0 MiB -> 2\.0 MiB/);
  await page.seeInView('p', 'The programs are called jit_host_offload_outputs and jit_attention');
  for (const file of [before, dump]) await page.seeInView('p', file.replaceAll('.', '\\.'));
  await page.seeInView('h3', '^At the peak of HBM$');
  await page.screenshot('compare');
  await vscode.commands.executeCommand('workbench.action.closeAllEditors');
};

exports['exporting a dump'] = async () => {
  const { document } = await open(dump);
  for (const [label, extension, start] of [['^Report', 'html', '<!DOCTYPE html>'], ['^SVG', 'svg', '<svg'], ['^CSV', 'csv', 'id,']]) {
    const done = vscode.commands.executeCommand('buflens.exportDump');
    await page.click(choice, label);
    await page.see('.quick-input-title', 'Export jit_attention');
    await page.press('Enter');
    await done;
    const target = path.join(path.dirname(document.uri.fsPath), `jit_attention.${extension}`);
    assert(fs.readFileSync(target, 'utf8').startsWith(start), target);
    fs.rmSync(target);
  }
};
