// The memory map beside the editor: a web page with the same scripts as in reports, which gets its data by messages.

import { randomBytes } from 'node:crypto';
import * as vscode from 'vscode';

import { stemOf } from './heads';
import type { LeftOut } from './left-out';
import { isThere, type Parts } from './parts';
import { messageOf, type Server } from './server';

/** What the page sends; see webview/map.js. */
type Message =
  | { type: 'ready' }
  | { type: 'leftOut'; without: [number, number[]][] }
  | { type: 'open'; allocation: number; offset: number; start: number; id: number }
  | { type: 'drawn'; drawn: number; merged: number; total: number };

/** How long to wait before the server is asked again about a document that it does not know yet (ms). */
const AGAIN = 1000;

const VIEW = 'buflens.map';

export class Maps implements vscode.Disposable {
  /** By what the names of a dump's files have in common. */
  private readonly maps = new Map<string, Panel>();
  private readonly registrations: vscode.Disposable;
  private readonly activated = new vscode.EventEmitter<void>();
  /** When the map in the active tab may be another. */
  readonly onDidActivate = this.activated.event;

  constructor(
    private readonly media: vscode.Uri,
    private readonly server: Server,
    private readonly parts: Parts,
    private readonly leftOut: LeftOut,
  ) {
    // A map that was open when the window was closed comes back, with the state that the page has kept.
    const registration = vscode.window.registerWebviewPanelSerializer(VIEW, {
      deserializeWebviewPanel: (panel: vscode.WebviewPanel, state: { uri?: string } | undefined) => {
        if (state?.uri === undefined) panel.dispose();
        else this.add(vscode.Uri.parse(state.uri), panel);
        return Promise.resolve();
      },
    });
    const ticks = leftOut.onDidChange((uri) => void this.maps.get(stemOf(uri.path))?.leaveOut());
    this.registrations = vscode.Disposable.from(registration, ticks, this.activated);
  }

  dispose(): void {
    this.registrations.dispose();
    for (const map of this.maps.values()) map.dispose();
  }

  /** Shows the map of the dump that `uri` is a file of. */
  show(uri: vscode.Uri): void {
    const known = this.maps.get(stemOf(uri.path));
    if (known !== undefined) {
      known.panel.reveal(undefined, true);
      return;
    }
    const place = { viewColumn: vscode.ViewColumn.Beside, preserveFocus: true };
    this.add(uri, vscode.window.createWebviewPanel(VIEW, 'Memory Map', place));
  }

  /** The dump of the map that is in the active tab. */
  get active(): vscode.Uri | undefined {
    return [...this.maps.values()].find(({ panel }) => panel.active)?.uri;
  }

  /** Asks the server again: about the dump that `uri` is a file of, or about all. */
  refresh(uri?: vscode.Uri): void {
    for (const [stem, map] of this.maps) if (uri === undefined || stemOf(uri.path) === stem) void map.update();
  }

  /** What a map says of itself, for tests: of the dump that `uri` is a file of. */
  get(uri: vscode.Uri): Panel | undefined {
    return this.maps.get(stemOf(uri.path));
  }

  private add(uri: vscode.Uri, panel: vscode.WebviewPanel): void {
    const stem = stemOf(uri.path);
    this.maps.get(stem)?.dispose();
    const map = new Panel(uri, panel, this.media, this.server, this.parts, this.leftOut);
    this.maps.set(stem, map);
    panel.onDidChangeViewState(() => {
      this.activated.fire();
    });
    panel.onDidDispose(() => {
      map.isGone = true;
      if (this.maps.get(stem) === map) this.maps.delete(stem);
    });
    this.activated.fire();
  }
}

class Panel {
  /** What the page has drawn last. */
  drawn: { drawn: number; merged: number; total: number } | undefined;
  isGone = false;
  /** Counts the questions, to drop an answer that a later one has overtaken. */
  private asked = 0;

  constructor(
    readonly uri: vscode.Uri,
    readonly panel: vscode.WebviewPanel,
    media: vscode.Uri,
    private readonly server: Server,
    private readonly parts: Parts,
    private readonly leftOut: LeftOut,
  ) {
    panel.title = `Map of ${uri.path.slice(uri.path.lastIndexOf('/') + 1)}`;
    panel.webview.options = { enableScripts: true, localResourceRoots: [media] };
    panel.webview.onDidReceiveMessage((message: Message) => void this.receive(message));
    panel.webview.html = documentOf(panel.webview, media);
  }

  dispose(): void {
    this.panel.dispose();
  }

  /** Sends the page what the server knows now. */
  async update(): Promise<void> {
    this.asked += 1;
    const asked = this.asked;
    const message = await this.message();
    if (this.isGone || asked !== this.asked) return;
    await this.panel.webview.postMessage(message);
    if (!('isAsked' in message)) return;
    await new Promise((resolve) => setTimeout(resolve, AGAIN));
    // Read on behind `await`: it may have changed.
    if (!(this.isGone as boolean) && asked === this.asked) await this.update();
  }

  /** Tells the page what is left out. */
  async leaveOut(): Promise<void> {
    await this.panel.webview.postMessage({ type: 'leftOut', without: this.without() });
  }

  /** The ids of the values that are left out, of all memory spaces. */
  private without(): number[] {
    return [...this.leftOut.of(this.uri).values()].flat();
  }

  private async message(): Promise<{ type: string; uri: string; data?: unknown; without?: number[]; text?: string; isAsked?: boolean }> {
    const uri = this.uri.toString();
    try {
      const data = await this.server.command('buflens.map', this.uri, {});
      if (data === undefined) {
        if (!(await isThere(this.uri))) return { type: 'note', uri, text: 'This dump is not there any more.' };
        return { type: 'note', uri, text: 'The server has not read this dump yet.', isAsked: true };
      }
      this.panel.title = `Map of ${data.module}`;
      return { type: 'data', uri, data, without: this.without() };
    } catch (error) {
      return { type: 'note', uri, text: `There is no memory map: ${messageOf(error)}.` };
    }
  }

  private async receive(message: Message): Promise<void> {
    switch (message.type) {
      case 'ready':
        await this.update();
        return;
      case 'drawn':
        this.drawn = message;
        return;
      case 'leftOut':
        this.leftOut.set(this.uri, message.without);
        return;
      case 'open':
        try {
          await this.open(message);
        } catch (error) {
          void vscode.window.showErrorMessage(`Buflens: ${messageOf(error)}.`);
        }
    }
  }

  /** Goes to the line of a value, found by its place: ids change with the text. */
  private async open({ allocation, offset, start, id }: Extract<Message, { type: 'open' }>): Promise<void> {
    const found = await this.server.command('buflens.valueAtOffset', this.uri, { allocation, offset, step: start });
    // A value without bytes holds no offset, and so is found nowhere.
    const location = (found?.values.find((value) => value.id === id) ?? found?.values[0])?.location;
    if (location == null) throw new Error('no line of this value was found; the dump may have changed');
    const { start: from } = location.range;
    const place = new vscode.Range(from.line, from.character, from.line, from.character);
    const { uri, range } = await this.parts.shown(vscode.Uri.parse(location.uri), place);
    // Where its file is shown already, else beside the map.
    const editor = vscode.window.visibleTextEditors.find((editor) => editor.document.uri.toString() === uri.toString());
    const viewColumn = editor?.viewColumn ?? (this.panel.viewColumn === vscode.ViewColumn.One ? vscode.ViewColumn.Two : vscode.ViewColumn.One);
    await vscode.window.showTextDocument(uri, { selection: range, viewColumn, preview: false });
  }
}

function documentOf(webview: vscode.Webview, media: vscode.Uri): string {
  const nonce = randomBytes(16).toString('hex');
  const at = (name: string) => webview.asWebviewUri(vscode.Uri.joinPath(media, name)).toString();
  return `<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src ${webview.cspSource}; script-src 'nonce-${nonce}'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="stylesheet" href="${at('map.css')}">
<title>Memory Map</title>
</head>
<body>
<div id="map"><p class="map-nothing" role="status">Reading the dump</p></div>
<script nonce="${nonce}" src="${at('map.js')}"></script>
</body>
</html>`;
}
