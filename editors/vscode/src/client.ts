// The language client: everything that needs the protocol's library, which is loaded when the first dump is opened.

import type * as vscode from 'vscode';
import {
  CloseAction,
  CodeLensRefreshRequest,
  ErrorAction,
  LanguageClient,
  RevealOutputChannelOn,
  type CloseHandlerResult,
  type ErrorHandler,
  type ExecuteCommandSignature,
  type GenericRequestHandler,
  type LanguageClientOptions,
  type ServerOptions,
} from 'vscode-languageclient/node';

import { LANGUAGES } from './heads';

export type { LanguageClient };

/** What the client asks of the rest of the extension. */
export interface Hooks {
  /** Called if the server does not stay up. */
  gaveUp: () => void;
  /** Called when the server has read other files of a dump, whose lenses are to be asked for again. */
  refreshed: () => void;
  /** A code lens or the like runs a command of the server. */
  run: (command: string, args: unknown[]) => Promise<unknown>;
}

/** After so many ends within this time (ms) the server is not started again. */
const ENDS = 3;
const WITHIN = 3 * 60 * 1000;

/** A client for the server at `program`, not yet started. */
export function newClient(program: string, log: vscode.LogOutputChannel, hooks: Hooks): LanguageClient {
  return new Client(
    hooks,
    'buflens',
    'Buflens',
    { command: program, args: ['lsp', '--stdio'] },
    {
      documentSelector: LANGUAGES.flatMap((language) => [
        { scheme: 'file', language },
        { scheme: 'untitled', language },
      ]),
      outputChannel: log,
      revealOutputChannelOn: RevealOutputChannelOn.Never,
      errorHandler: new Endings(hooks.gaveUp),
      initializationFailedHandler: () => false,
      middleware: {
        executeCommand: (command: string, args: unknown[], next: ExecuteCommandSignature) =>
          SHOWN.has(command) ? hooks.run(command, args) : (next(command, args) as unknown),
      },
    },
  );
}

/** The commands of the server whose results this extension shows in its own way. */
const SHOWN = new Set([
  'buflens.peak',
  'buflens.whatIf',
  'buflens.valueAtOffset',
  'buflens.padding',
  'buflens.donation',
  'buflens.copies',
]);

class Client extends LanguageClient {
  constructor(
    private readonly hooks: Hooks,
    ...rest: [id: string, name: string, server: ServerOptions, client: LanguageClientOptions]
  ) {
    super(...rest);
  }

  /** What goes wrong is told once, by the server's owner; the library would add a message with a stack trace. */
  override error(message: string, data?: unknown): void {
    super.error(message, data, false);
  }

  /** The library itself answers that lenses are to be asked for again. */
  override onRequest(type: string | { method: string }, handler: GenericRequestHandler<unknown, unknown>): vscode.Disposable {
    const method = typeof type === 'string' ? type : type.method;
    if (method !== CodeLensRefreshRequest.method) return super.onRequest(type as string, handler);
    return super.onRequest(method, (...parameters: unknown[]) => {
      this.hooks.refreshed();
      return handler(...parameters);
    });
  }
}

/** Starts the server again when it ends, but not for ever, and says nothing itself. */
class Endings implements ErrorHandler {
  private readonly ends: number[] = [];

  constructor(private readonly gaveUp: () => void) {}

  error(): { action: ErrorAction; handled: boolean } {
    return { action: ErrorAction.Continue, handled: true };
  }

  closed(): CloseHandlerResult {
    const now = Date.now();
    this.ends.push(now);
    const recent = this.ends.filter((end) => now - end < WITHIN);
    if (recent.length < ENDS) return { action: CloseAction.Restart, handled: true };
    this.gaveUp();
    return { action: CloseAction.DoNotRestart, handled: true };
  }
}
