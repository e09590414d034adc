// Dumps that VS Code shows to no extension because they are too long: their outline and parts as documents of their own,
// in which the server answers as if the file on disk were open.

import * as fs from 'node:fs';
import * as vscode from 'vscode';
import type { DocumentSymbol, Hover, Location, LocationLink } from 'vscode-languageclient';

import { HEAD, languageOf } from './heads';
import { counted } from './numbers';
import type { Value } from './results';
import type { Server } from './server';
import { sliceAt, slicesOf, textOf, type Slice } from './slices';

export const SCHEME = 'buflens-part';

/** Milliseconds for which a file is waited for that the server does not tell of. */
const PATIENCE = 60_000;

/** Characters; behind them VS Code keeps a document to itself. */
export const LIMIT = 50 * 1024 * 1024;

/** A file as it was at some time: where its parts begin, and what kind of dump it is. */
interface Cut {
  mtimeMs: number;
  slices: Slice[];
  language: string | undefined;
}

/** A symbol in a file, and how deep it stands. */
interface Entry {
  symbol: DocumentSymbol;
  depth: number;
}

/** Where an entry leads; `null` where there is no line to go to. */
export type Place = Value['location'];

type Goto = 'definition' | 'declaration' | 'typeDefinition' | 'implementation';

export class Parts implements vscode.TextDocumentContentProvider, vscode.HoverProvider, vscode.DocumentLinkProvider {
  /** By path. */
  private readonly cuts = new Map<string, Promise<Cut>>();
  private readonly outlines = new Map<string, Entry[]>();
  private readonly changed = new vscode.EventEmitter<vscode.Uri>();
  readonly onDidChange = this.changed.event;

  constructor(private readonly server: Server) {}

  register(): vscode.Disposable {
    const selector = { scheme: SCHEME };
    const to = (method: Goto) => (document: vscode.TextDocument, position: vscode.Position) => this.goto(method, document, position);
    return vscode.Disposable.from(
      this.changed,
      vscode.workspace.registerTextDocumentContentProvider(SCHEME, this),
      vscode.workspace.onDidOpenTextDocument((document) => {
        const language = document.uri.scheme === SCHEME ? document.uri.query.split(',')[3] : undefined;
        if (language) void vscode.languages.setTextDocumentLanguage(document, language);
      }),
      vscode.languages.registerHoverProvider(selector, this),
      vscode.languages.registerDocumentLinkProvider(selector, this),
      vscode.languages.registerDefinitionProvider(selector, { provideDefinition: to('definition') }),
      vscode.languages.registerDeclarationProvider(selector, { provideDeclaration: to('declaration') }),
      vscode.languages.registerTypeDefinitionProvider(selector, { provideTypeDefinition: to('typeDefinition') }),
      vscode.languages.registerImplementationProvider(selector, { provideImplementation: to('implementation') }),
    );
  }

  /** Opens the outline of a file, when the server has read it. */
  async open(file: vscode.Uri): Promise<void> {
    const options = {
      location: vscode.ProgressLocation.Notification,
      title: `Buflens reads ${baseName(file)}`,
      cancellable: true,
    };
    const outline = await vscode.window.withProgress(options, (_, token) => this.symbols(file, token));
    if (outline === undefined) return;
    if (outline.length === 0) throw new Error(`${baseName(file)} is no dump that Buflens reads`);
    this.outlines.set(file.path, outline);
    const uri = file.with({ scheme: SCHEME, path: `${file.path}/outline of ${baseName(file)}`, query: '' });
    this.changed.fire(uri);
    await vscode.window.showTextDocument(uri, { preview: false });
  }

  async provideTextDocumentContent(uri: vscode.Uri): Promise<string> {
    const file = fileOf(uri);
    const [, offset, length] = uri.query.split(',').map(Number);
    if (offset !== undefined && length !== undefined) return textOf(file.fsPath, { offset, length });
    // After a restart of the editor the outline is asked for again.
    const outline = this.outlines.get(file.path) ?? (await this.symbols(file)) ?? [];
    this.outlines.set(file.path, outline);
    const lines = outline.map(({ symbol, depth }) => `${'  '.repeat(depth)}${symbol.name}${symbol.detail ? `  ${symbol.detail}` : ''}`);
    return `${[`${baseName(file)}: outline with ${counted(lines.length, 'entry').replace('entrys', 'entries')}`, ...lines].join('\n')}\n`;
  }

  async provideHover(document: vscode.TextDocument, position: vscode.Position): Promise<vscode.Hover | undefined> {
    const client = await this.server.start();
    const place = this.placeOf(document, position);
    if (client === undefined || place === undefined) return undefined;
    const hover: Hover | null = await client.sendRequest('textDocument/hover', place.params);
    const converted = client.protocol2CodeConverter.asHover(hover);
    // In the outline the whole line stands for the symbol.
    return converted && new vscode.Hover(converted.contents, place.range(converted.range));
  }

  /** In an outline, each line leads to its part. */
  async provideDocumentLinks(document: vscode.TextDocument): Promise<vscode.DocumentLink[]> {
    const file = fileOf(document.uri);
    const outline = document.uri.query === '' ? this.outlines.get(file.path) : undefined;
    if (outline === undefined) return [];
    const cut = await this.cutOf(file);
    // The text may be that of an earlier outline.
    return outline.slice(0, document.lineCount - 1).map(({ symbol }, index) => {
      const { line } = symbol.selectionRange.start;
      const [uri, first] = partWith(cut, file, line) ?? [file, 0];
      const text = document.lineAt(index + 1);
      const range = new vscode.Range(index + 1, text.firstNonWhitespaceCharacterIndex, index + 1, text.text.length);
      return new vscode.DocumentLink(range, uri.with({ fragment: `L${line - first + 1}` }));
    });
  }

  private async goto(method: Goto, document: vscode.TextDocument, position: vscode.Position): Promise<vscode.Location[]> {
    const client = await this.server.start();
    const place = this.placeOf(document, position);
    if (client === undefined || place === undefined) return [];
    const result: Location | (Location | LocationLink)[] | null = await client.sendRequest(`textDocument/${method}`, place.params);
    const found = result === null ? [] : Array.isArray(result) ? result : [result];
    const locations = found.map(async (location) => {
      const [uri, range] = 'uri' in location ? [location.uri, location.range] : [location.targetUri, location.targetSelectionRange];
      return this.shown(vscode.Uri.parse(uri), client.protocol2CodeConverter.asRange(range));
    });
    return Promise.all(locations);
  }

  /** Where a place can be looked at: in a part if its file is too long. */
  async shown(file: vscode.Uri, range: vscode.Range): Promise<vscode.Location> {
    const part = (await sizeOf(file)) > LIMIT ? partWith(await this.cutOf(file), file, range.start.line) : undefined;
    if (part === undefined) return new vscode.Location(file, range);
    const [uri, first] = part;
    return new vscode.Location(uri, moved(range, -first));
  }

  /** Shows the place of a value or another entry; while it is a preview, the focus stays where it is. */
  async goTo(location: Place, preview: boolean): Promise<void> {
    if (location === null) return;
    const { line, character } = location.range.start;
    const { uri, range } = await this.shown(vscode.Uri.parse(location.uri), new vscode.Range(line, character, line, character));
    await vscode.window.showTextDocument(uri, { selection: range, preserveFocus: preview, preview: true });
  }

  /** How a file is cut into parts; kept until it changes. */
  private async cutOf(file: vscode.Uri): Promise<Cut> {
    const { mtimeMs } = await fs.promises.stat(file.fsPath);
    const known = this.cuts.get(file.path);
    if (known !== undefined && (await known).mtimeMs === mtimeMs) return known;
    const cut = (async () => ({ mtimeMs, slices: await slicesOf(file.fsPath), language: await languageOnDisk(file) }))();
    this.cuts.set(file.path, cut);
    // What has failed is tried again.
    cut.catch(() => this.cuts.delete(file.path));
    return cut;
  }

  /** What the server is asked about a position in a part or an outline, and how ranges come back. */
  private placeOf(document: vscode.TextDocument, position: vscode.Position) {
    const { uri } = document;
    const textDocument = { uri: fileOf(uri).toString() };
    if (uri.query === '') {
      const entry = this.outlines.get(fileOf(uri).path)?.[position.line - 1];
      const whole = document.lineAt(position.line).range;
      return entry && { params: { textDocument, position: entry.symbol.selectionRange.start }, range: () => whole };
    }
    const first = Number(uri.query.split(',')[0]);
    const range = (range: vscode.Range | undefined) => range && moved(range, -first);
    return { params: { textDocument, position: { line: position.line + first, character: position.character } }, range };
  }

  /** The outline that the server gives, in lines. A large file is read in the background first. */
  private async symbols(file: vscode.Uri, token?: vscode.CancellationToken): Promise<Entry[] | undefined> {
    const client = await this.server.start();
    const started = Date.now();
    while (client !== undefined && token?.isCancellationRequested !== true) {
      const params = { textDocument: { uri: file.toString() } };
      const symbols: DocumentSymbol[] | null = await client.sendRequest('textDocument/documentSymbol', params);
      if (symbols !== null) return flattened(symbols, 0);
      if (!(await isThere(file))) throw new Error(`${baseName(file)} is not there any more`);
      // It reads some hundred megabytes a second, and does not say so of what it cannot read.
      if (Date.now() - started > PATIENCE) throw new Error(`${baseName(file)} is not read; the output of Buflens may say why`);
      await new Promise((resolve) => setTimeout(resolve, 300));
    }
    return undefined;
  }
}

/** The part of a file with a line, and the part's first line. */
function partWith({ slices, language }: Cut, file: vscode.Uri, line: number): [vscode.Uri, number] | undefined {
  const slice = sliceAt(slices, line);
  if (slice === undefined) return undefined;
  const { first, lines, offset, length } = slice;
  const path = `${file.path}/lines ${first + 1}-${first + lines} of ${baseName(file)}`;
  const query = [first, offset, length, language ?? ''].join(',');
  return [file.with({ scheme: SCHEME, path, query }), first];
}

/** The file on disk of which a part or the outline is in the active editor. */
export function activePart(): vscode.Uri | undefined {
  const uri = vscode.window.activeTextEditor?.document.uri;
  return uri?.scheme === SCHEME ? fileOf(uri) : undefined;
}

/** The file in the active tab, also one that no extension sees. */
export function activeFile(): vscode.Uri | undefined {
  const input = vscode.window.tabGroups.activeTabGroup.activeTab?.input;
  return input instanceof vscode.TabInputText && input.uri.scheme === 'file' ? input.uri : undefined;
}

/** Dumps in tabs that are too long for VS Code to show them to extensions: offers to open them in parts. */
export class LargeDumps implements vscode.Disposable {
  /** By path. */
  private readonly known = new Set<string>();
  private readonly found = new vscode.EventEmitter<void>();
  /** When there is one more, or the tab of another may be active. */
  readonly onDidFind = this.found.event;
  private readonly registration: vscode.Disposable;

  constructor() {
    void this.look(vscode.window.tabGroups.all.flatMap(({ tabs }) => tabs));
    this.registration = vscode.window.tabGroups.onDidChangeTabs(({ opened, changed }) => void this.look([...opened, ...changed]));
  }

  dispose(): void {
    this.registration.dispose();
    this.found.dispose();
  }

  /** The one in the active tab. */
  get active(): vscode.Uri | undefined {
    const file = vscode.window.activeTextEditor === undefined ? activeFile() : undefined;
    return file !== undefined && this.known.has(file.path) ? file : undefined;
  }

  private async look(tabs: readonly vscode.Tab[]): Promise<void> {
    for (const { input } of tabs) {
      if (!(input instanceof vscode.TabInputText) || input.uri.scheme !== 'file') continue;
      const { uri } = input;
      if (!this.known.has(uri.path)) {
        if ((await sizeOf(uri)) <= LIMIT || (await languageOnDisk(uri)) === undefined) continue;
        this.known.add(uri.path);
        const message = `VS Code shows extensions no document over 50 MiB, such as ${baseName(uri)}. Buflens can open it in parts.`;
        void vscode.window.showInformationMessage(message, 'Open in Parts').then((choice) => choice && vscode.commands.executeCommand('buflens.openInParts', uri));
      }
      this.found.fire();
    }
  }
}

/** What kind of dump a file begins like. */
async function languageOnDisk(file: vscode.Uri): Promise<string | undefined> {
  try {
    return languageOf(await textOf(file.fsPath, { offset: 0, length: HEAD }));
  } catch {
    return undefined;
  }
}

/** Whether there is such a file; what is on no disk is. */
export async function isThere(file: vscode.Uri): Promise<boolean> {
  if (file.scheme !== 'file') return true;
  return fs.promises.access(file.fsPath).then(
    () => true,
    () => false,
  );
}

async function sizeOf(file: vscode.Uri): Promise<number> {
  try {
    return (await fs.promises.stat(file.fsPath)).size;
  } catch {
    return 0;
  }
}

/** The file on disk that a part or an outline belongs to. */
function fileOf(uri: vscode.Uri): vscode.Uri {
  return vscode.Uri.from({ scheme: 'file', authority: uri.authority, path: uri.path.slice(0, uri.path.lastIndexOf('/')) });
}

function baseName(file: vscode.Uri): string {
  return file.path.slice(file.path.lastIndexOf('/') + 1);
}

function moved({ start, end }: vscode.Range, lines: number): vscode.Range {
  return new vscode.Range(Math.max(0, start.line + lines), start.character, Math.max(0, end.line + lines), end.character);
}

function flattened(symbols: DocumentSymbol[], depth: number): Entry[] {
  return symbols.flatMap((symbol) => [{ symbol, depth }, ...flattened(symbol.children ?? [], depth + 1)]);
}
