// Puts the extension together. Nothing here may take long: what is slow waits for the first dump.

import * as vscode from 'vscode';

import { Comparisons } from './compare';
import { activeDump, detectDumps, isServed, treatAsDump } from './detect';
import { Explorer } from './explorer';
import { exportDump } from './export';
import { LeftOut } from './left-out';
import { auditCopies, auditDonation, findValueAtOffset, showBuffersOfLine, showPadding, whatIfWithout } from './lists';
import { Maps } from './map';
import { activeFile, activePart, LargeDumps, Parts, type Place } from './parts';
import { messageOf, Server } from './server';
import { Status } from './status';

let server: Server | undefined;

/** Edits come one by one; what is shown of the peak is asked for again when they pause (ms). */
const PAUSE = 500;

/** What tests look at. */
export interface Api {
  /** How long the activation took, in ms. */
  activation: number;
  explorer: Explorer;
  leftOut: LeftOut;
  maps: Maps;
  server: Server;
}

export function activate(context: vscode.ExtensionContext): Api {
  const start = performance.now();
  const log = vscode.window.createOutputChannel('Buflens', { log: true });
  const running = (server = new Server(context, log));
  const leftOut = new LeftOut();
  const explorer = new Explorer(running, leftOut);
  const status = new Status(running);
  const parts = new Parts(running);
  const comparisons = new Comparisons(running);
  const maps = new Maps(vscode.Uri.joinPath(context.extensionUri, 'dist/webview'), running, parts, leftOut);
  const large = new LargeDumps();

  /** The dump in the active tab, by one of its files: itself, a part of it, its map, or one that no extension sees. */
  const dumpAtHand = () => activeDump()?.uri ?? activePart() ?? maps.active ?? large.active;
  const follow = () => {
    const dump = dumpAtHand();
    if (dump !== undefined) {
      void running.start();
      explorer.show(dump);
    }
    void status.update(dump);
  };
  let pause: NodeJS.Timeout | undefined;
  /** The dumps that have changed since, by one of their documents; or any. */
  const changed = { documents: new Map<string, vscode.Uri>(), isAny: false };
  const refresh = () => {
    explorer.refresh();
    if (changed.isAny) maps.refresh();
    else for (const uri of changed.documents.values()) maps.refresh(uri);
    changed.documents.clear();
    changed.isAny = false;
    void status.update(dumpAtHand());
  };
  const refreshSoon = () => {
    clearTimeout(pause);
    pause = setTimeout(refresh, PAUSE);
  };
  const edited = ({ document }: { document: vscode.TextDocument }) => {
    if (!isServed(document)) return;
    changed.documents.set(document.uri.toString(), document.uri);
    refreshSoon();
  };
  // A document becomes a dump when its language is set, while its editor stays.
  const opened = (document: vscode.TextDocument) => {
    if (document === vscode.window.activeTextEditor?.document) follow();
    else if (isServed(document)) void running.start();
  };

  const register = (command: string, run: (...args: never[]) => unknown) => vscode.commands.registerCommand(`buflens.${command}`, run);
  const openInParts = async (file?: vscode.Uri) => {
    const chosen = file ?? activeFile();
    if (chosen?.scheme === 'file') await report(() => parts.open(chosen));
    else void vscode.window.showInformationMessage('Open the dump first, or use the menu of the file in the explorer.');
  };

  const show = (command: string, uri: vscode.Uri, argument: { space?: number; step?: number; without?: number[] }) => {
    switch (command) {
      case 'buflens.padding':
        return showPadding(running, uri);
      case 'buflens.donation':
        return auditDonation(running, uri);
      case 'buflens.copies':
        return auditCopies(running, uri);
      case 'buflens.valueAtOffset':
        return findValueAtOffset(running, uri);
      case 'buflens.map':
        maps.show(uri);
        return undefined;
      default:
        explorer.show(uri);
        if (argument.without !== undefined) leftOut.setSpace(uri, argument.space ?? 0, argument.without);
        return explorer.reveal(argument.space, argument.step);
    }
  };
  // The server's own commands come from its code lenses, and from whoever binds a key to one.
  running.run = async (command, [argument]) => {
    const given = (argument ?? {}) as { uri?: string; space?: number; step?: number; without?: number[] };
    const uri = given.uri === undefined ? activeDump()?.uri : vscode.Uri.parse(given.uri);
    if (uri !== undefined) await report(async () => show(command, uri, given));
  };
  const onDump = (command: string, run: (uri: vscode.Uri) => Promise<unknown>) =>
    register(command, async () => {
      const uri = dumpAtHand() ?? explorer.uri;
      if (uri === undefined) void vscode.window.showInformationMessage('Open an XLA buffer-assignment dump first.');
      else await report(() => run(uri));
    });

  context.subscriptions.push(
    log,
    new vscode.Disposable(() => {
      clearTimeout(pause);
    }),
    explorer,
    status,
    maps,
    running.onDidChange(() => {
      changed.isAny = true;
      refresh();
    }),
    running.onDidRead(() => {
      changed.isAny = true;
      refreshSoon();
    }),
    parts.register(),
    comparisons.register(),
    detectDumps(),
    leftOut,
    large,
    large.onDidFind(follow),
    maps.onDidActivate(follow),
    vscode.window.onDidChangeActiveTextEditor(follow),
    vscode.workspace.onDidOpenTextDocument(opened),
    vscode.workspace.onDidChangeTextDocument(edited),
    vscode.workspace.onDidChangeConfiguration((event) => {
      if (event.affectsConfiguration('buflens.server')) void running.reconfigure();
    }),
    onDump('showPeak', (uri) => Promise.resolve(show('buflens.peak', uri, {}))),
    onDump('showMap', (uri) => Promise.resolve(show('buflens.map', uri, {}))),
    onDump('whatIfWithout', (uri) => whatIfWithout(running, explorer, leftOut, uri)),
    onDump('findValueAtOffset', (uri) => findValueAtOffset(running, uri)),
    onDump('showPadding', (uri) => showPadding(running, uri)),
    onDump('auditDonation', (uri) => auditDonation(running, uri)),
    onDump('auditCopies', (uri) => auditCopies(running, uri)),
    register('buffersOfLine', async () => {
      const editor = vscode.window.activeTextEditor;
      if (editor !== undefined) await report(() => showBuffersOfLine(running, editor));
    }),
    onDump('compareWith', (uri) => comparisons.compare(uri)),
    onDump('exportDump', (uri) => exportDump(running, uri)),
    register('sortPeak', () => explorer.sort()),
    register('filterPeak', () => explorer.askFilter()),
    register('clearTicks', () => {
      explorer.clearTicks();
    }),
    register('refreshPeak', () => {
      explorer.refresh();
    }),
    register('treatAsDump', treatAsDump),
    // Not in the palette: where the entries of lists and trees lead.
    register('goTo', (location: Place, preview?: boolean) => report(() => parts.goTo(location, preview ?? false))),
    register('openInParts', openInParts),
    register('restartServer', () => running.restart()),
    register('showLog', () => {
      log.show();
    }),
    register('openWalkthrough', () => vscode.commands.executeCommand('workbench.action.openWalkthrough', `${context.extension.id}#start`)),
  );
  follow();
  if (vscode.workspace.textDocuments.some(isServed)) void running.start();
  return { activation: performance.now() - start, explorer, leftOut, maps, server: running };
}

export function deactivate(): Promise<void> | undefined {
  return server?.stop();
}

/** Runs something for the user, who hears of it when it fails. */
async function report(run: () => Promise<unknown>): Promise<void> {
  try {
    await run();
  } catch (error) {
    void vscode.window.showErrorMessage(`Buflens: ${messageOf(error)}.`);
  }
}
