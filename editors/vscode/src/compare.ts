// What changed between two dumps, as a Markdown document of its own beside them.

import * as path from 'node:path';
import * as vscode from 'vscode';

import { isServed } from './detect';
import { stemOf } from './heads';
import type { Server } from './server';

const SCHEME = 'buflens-diff';
/** So many rows of each list. */
const LIMIT = 100;

interface Choice extends vscode.QuickPickItem {
  /** Nothing: a file that is to be chosen. */
  uri?: vscode.Uri;
}

export class Comparisons implements vscode.TextDocumentContentProvider {
  private readonly texts = new Map<string, string>();
  private readonly changed = new vscode.EventEmitter<vscode.Uri>();
  readonly onDidChange = this.changed.event;

  constructor(private readonly server: Server) {}

  register(): vscode.Disposable {
    return vscode.Disposable.from(
      this.changed,
      vscode.workspace.registerTextDocumentContentProvider(SCHEME, this),
      vscode.workspace.onDidCloseTextDocument(({ uri }) => {
        if (uri.scheme === SCHEME) this.texts.delete(uri.toString());
      }),
    );
  }

  provideTextDocumentContent(uri: vscode.Uri): string {
    return this.texts.get(uri.toString()) ?? 'Compare the dumps again to see what changed.';
  }

  /** Asks which dump was before, and shows what changed since. */
  async compare(after: vscode.Uri): Promise<void> {
    const before = await askOther(after);
    if (before !== undefined) await this.show(before, after);
  }

  /** Shows what changed from one dump to another. */
  async show(before: vscode.Uri, after: vscode.Uri): Promise<void> {
    const result = await this.server.answer('buflens.diff', after, { other: before.toString(), limit: LIMIT });
    // The two are told apart by the query; the path is what the tab shows.
    const query = JSON.stringify([before.toString(), after.toString()]);
    const uri = vscode.Uri.from({ scheme: SCHEME, path: `/${result.module.replace(/[^\w.-]/g, '_')}: what changed.md`, query });
    this.texts.set(uri.toString(), `Before: ${pathOf(before)}\\\nAfter: ${pathOf(after)}\n\n${result.markdown}`);
    this.changed.fire(uri);
    await vscode.commands.executeCommand('markdown.showPreview', uri);
  }
}

/** The path of a file, as Markdown shows it: VS Code's preview takes no links to files. */
function pathOf(file: vscode.Uri): string {
  const path = vscode.workspace.asRelativePath(file).replace(/\p{Cc}/gu, ' ');
  return path.replace(/[!-/:-@[-`{-~]/g, '\\$&');
}

async function askOther(after: vscode.Uri): Promise<vscode.Uri | undefined> {
  // Not the other files of the same dump.
  const open = vscode.workspace.textDocuments.filter((document) => isServed(document) && stemOf(document.uri.path) !== stemOf(after.path));
  const choices: Choice[] = open.map(({ uri }) => ({
    label: path.basename(uri.path),
    description: vscode.workspace.asRelativePath(path.dirname(uri.fsPath)),
    uri,
  }));
  choices.push({ label: '$(folder-opened) Choose a file...' });
  const title = 'Compare with which dump from before?';
  const chosen = choices.length === 1 ? choices[0] : await vscode.window.showQuickPick(choices, { title, matchOnDescription: true });
  if (chosen === undefined || chosen.uri !== undefined) return chosen?.uri;
  const folder = after.scheme === 'file' ? vscode.Uri.joinPath(after, '..') : undefined;
  const files = await vscode.window.showOpenDialog({ title, openLabel: 'Compare', ...(folder && { defaultUri: folder }) });
  return files?.[0];
}
