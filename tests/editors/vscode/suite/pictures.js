// Screenshots for people to look at, in a dark and a light theme; and what can only be seen.
const assert = require('node:assert/strict');
const vscode = require('vscode');
const { open, positionOf, provided, until } = require('./help.js');
const page = require('./page.js');

const split = 'split/module_0055.jit_attention.cl_933746096.after_optimizations';

/** The text of the hover at a place. The editor loses one that comes while it draws a new theme: then the mouse comes again. */
async function hoverOf(text, at) {
  for (let lost = 0; lost < 2; lost += 1) {
    await page.point(text, at);
    try {
      return await page.see('.monaco-hover', 'allocation', 4000);
    } catch {
      await page.away();
    }
  }
  await page.point(text, at);
  return page.see('.monaco-hover', 'allocation');
}

async function inTheme(theme, name) {
  await vscode.workspace.getConfiguration('workbench').update('colorTheme', theme, vscode.ConfigurationTarget.Workspace);
  await vscode.commands.executeCommand('outline.focus');
  const assignment = await open('run-on/module_0027.jit_mlp_sgd.after_optimizations-buffer-assignment.txt');
  await provided('vscode.executeHoverProvider', assignment.document.uri, positionOf(assignment.document, ' value: <', 10));
  await page.see('.outline-tree .monaco-list-row', 'allocation 0');
  const hover = await hoverOf(' value: <', 12);
  assert(!/[<>]\/?(b|br|td|table|p)[ >]|\|---/.test(hover), `markup in ${hover}`);
  await page.see('.monaco-hover table', 'bytes');
  await page.screenshot(`hover-${name}`);
  await page.away();
  await page.press('Escape');
  await vscode.commands.executeCommand('workbench.actions.view.problems');
  await page.see('.markers-panel .monaco-list-row', 'buflens');
  await page.screenshot(`advice-${name}`);
  await vscode.commands.executeCommand('workbench.action.closePanel');
  await vscode.commands.executeCommand('buflens.showPeak');
  await page.see('.pane-body .monaco-list-row', 'true peak');
  await new Promise((resolve) => setTimeout(resolve, 500));
  await page.click('.pane-body .monaco-list-row .custom-view-tree-node-item-checkbox');
  await page.see('.tree-explorer-viewlet-tree-view .message', 'Without 1 value');
  await page.away();
  await page.screenshot(`explorer-${name}`);
  await vscode.commands.executeCommand('buflens.clearTicks');
  for (const [command, title] of [['showPadding', 'Padding'], ['auditDonation', 'Donation'], ['auditCopies', 'Copies']]) {
    const shown = vscode.commands.executeCommand(`buflens.${command}`);
    await page.see('.quick-input-widget', `${title} (in|of) jit_mlp_sgd`);
    await new Promise((resolve) => setTimeout(resolve, 400));
    await page.screenshot(`${command}-${name}`);
    await page.press('Escape');
    await shown;
  }
  await vscode.commands.executeCommand('outline.focus');

  const values = await open(`${split}-buffer-assignment.txt`);
  await provided('vscode.executeHoverProvider', values.document.uri, positionOf(values.document, '{2,3,1,0:T(8,128)'));
  const shape = positionOf(values.document, '{2,3,1,0:T(8,128)', 10);
  values.selection = new vscode.Selection(shape, shape);
  values.revealRange(new vscode.Range(shape, shape));
  await until('the hover on a shape', async () => {
    await vscode.commands.executeCommand('editor.action.showHover');
    return page.see('.monaco-hover', 'tile', 1000).catch(() => false);
  });
  await page.screenshot(`shape-${name}`);
  for (const part of ['-live-range', '', '-memory-usage-report']) {
    const file = part === '-memory-usage-report' ? 'split/jit_mlp_fwd.cl_933746096.after_optimizations' : split;
    const { document } = await open(`${file}${part}.txt`);
    await provided('vscode.executeDocumentSymbolProvider', document.uri);
    await new Promise((resolve) => setTimeout(resolve, 400));
    await page.screenshot(`document${part}-${name}`);
  }
}

exports.dark = () => inTheme('Default Dark Modern', 'dark');
exports.light = () => inTheme('Default Light Modern', 'light');

exports.walkthrough = async () => {
  await vscode.commands.executeCommand('buflens.openWalkthrough');
  await page.see('.gettingStartedContainer', 'Read an XLA memory dump');
  await page.screenshot('walkthrough');
};
