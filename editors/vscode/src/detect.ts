// Finds out which open documents are dumps though their names do not say so.

import * as vscode from 'vscode';

import { HEAD, HEAD_LINES, isLanguage, LANGUAGES, languageOf, type Language } from './heads';

/** The languages that VS Code gives files that nobody claims, `.txt` and `.log`. */
const UNCLAIMED = ['plaintext', 'log'];

/** Sets the language of plain-text documents that begin like a dump or with a failure, now and when they are opened. */
export function detectDumps(): vscode.Disposable {
  // Each once: who sets it back to plain text means it.
  const seen = new Set<string>();
  const detect = (document: vscode.TextDocument) => {
    if (!UNCLAIMED.includes(document.languageId) || seen.has(document.uri.toString())) return;
    const language = languageOf(headOf(document));
    if (language === undefined) return;
    seen.add(document.uri.toString());
    void vscode.languages.setTextDocumentLanguage(document, language);
  };
  vscode.workspace.textDocuments.forEach(detect);
  return vscode.Disposable.from(
    vscode.workspace.onDidOpenTextDocument(detect),
    // A new language also comes as an end, but of a document that stays.
    vscode.workspace.onDidCloseTextDocument((document) => {
      if (document.isClosed) seen.delete(document.uri.toString());
    }),
  );
}

/** The command "Treat as XLA dump": believes the first lines, else asks. */
export async function treatAsDump(): Promise<void> {
  const document = vscode.window.activeTextEditor?.document;
  if (document === undefined) return;
  const items = LANGUAGES.map((language) => ({ label: NAMES[language], language }));
  const language =
    languageOf(headOf(document)) ??
    (await vscode.window.showQuickPick(items, { placeHolder: 'Its first lines do not tell what it is. Treat it as' }))?.language;
  if (language !== undefined) await vscode.languages.setTextDocumentLanguage(document, language);
}

/** The document in the active editor, if it is part of a dump. */
export function activeDump(): vscode.TextDocument | undefined {
  const document = vscode.window.activeTextEditor?.document;
  return document !== undefined && isServed(document) ? document : undefined;
}

/** Whether the server has this document. */
export function isServed(document: vscode.TextDocument): boolean {
  return isLanguage(document.languageId) && ['file', 'untitled'].includes(document.uri.scheme);
}

const NAMES: Record<Language, string> = {
  'xla-buffer-assignment': 'Buffer assignment, its values or live ranges',
  'xla-memory-report': 'Memory usage report',
  hlo: 'HLO text',
};

function headOf(document: vscode.TextDocument): string {
  return document.getText(new vscode.Range(0, 0, HEAD_LINES, 0)).slice(0, HEAD);
}
