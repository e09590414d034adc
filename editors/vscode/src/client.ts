// The language client: everything that needs the protocol's library, which is loaded when the first dump is opened.

import type * as vscode from 'vscode';
import {
  CloseAction,
  ErrorAction,
  LanguageClient,
  RevealOutputChannelOn,
  type CloseHandlerResult,
  type ErrorHandler,
  type ExecuteCommandSignature,
} from 'vscode-languageclient/node';

import { LANGUAGES } from './heads';

export type { LanguageClient };

/** What the client asks of the rest of the extension. */
export interface Hooks {
  /** Called if the server does not stay up. */
  gaveUp: () => void;
  /** A code lens or the like runs a command of the server. */
  run: (command: string, args: unknown[]) => Promise<unknown>;
}

/** After so many ends within this time (ms) the server is not started again. */
const ENDS = 3;
const WITHIN = 3 * 60 * 1000;

/** A client for the server at `program`, not yet started. */
export function newClient(program: string, log: vscode.LogOutputChannel, hooks: Hooks): LanguageClient {
  return new QuietClient(
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

/** What goes wrong is told once, by the server's owner; the library would add a message with a stack trace. */
class QuietClient extends LanguageClient {
  override error(message: string, data?: unknown): void {
    super.error(message, data, false);
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
