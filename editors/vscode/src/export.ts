// Writes what the server makes of a dump to a file that the user chooses.

import * as vscode from 'vscode';

import type { Server } from './server';

/** What a dump can be exported as: the server's formats. */
const FORMATS: (vscode.QuickPickItem & { format: string })[] = [
  { label: 'Report', description: 'everything in one HTML file, for a browser', format: 'html' },
  { label: 'SVG', description: 'the memory map as a picture', format: 'svg' },
  { label: 'JSON', description: 'all that is known of the dump', format: 'json' },
  { label: 'CSV', description: 'a row for each value', format: 'csv' },
  { label: 'Perfetto trace', description: 'the memory map over time, for ui.perfetto.dev', format: 'perfetto' },
];

export async function exportDump(server: Server, uri: vscode.Uri): Promise<void> {
  const chosen = await vscode.window.showQuickPick(FORMATS, { title: 'Export the dump as' });
  if (chosen === undefined) return;
  const result = await server.answer('buflens.export', uri, { format: chosen.format });
  // What dumps call their programs may hold anything.
  const name = result.module.replaceAll(/[^\w.-]/g, '_') || 'dump';
  const folder = uri.scheme === 'file' ? vscode.Uri.joinPath(uri, '..') : vscode.workspace.workspaceFolders?.[0]?.uri;
  const [last = ''] = result.extension.split('.').slice(-1);
  const target = await vscode.window.showSaveDialog({
    defaultUri: folder && vscode.Uri.joinPath(folder, `${name}.${result.extension}`),
    filters: { [chosen.label]: [last] },
    title: `Export ${result.module}`,
  });
  if (target === undefined) return;
  await vscode.workspace.fs.writeFile(target, new TextEncoder().encode(result.text));
  void vscode.window.showInformationMessage(`Exported ${result.module} to ${target.path.split('/').pop() ?? ''}.`);
}
