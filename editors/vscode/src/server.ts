// The server: found, started when the first dump is opened, asked, and what is said when it cannot be had.

import { execFile } from 'node:child_process';
import * as fs from 'node:fs';
import * as vscode from 'vscode';

import type { LanguageClient } from './client';
import { findServer, isCompatible, versionIn } from './lookup';
import type { Commands } from './results';

/** What went wrong, as a part of a sentence. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

type Run = (command: string, args: unknown[]) => Promise<unknown>;

export class Server implements vscode.Disposable {
  private client: Promise<LanguageClient | undefined> | undefined;
  private version = '';
  /** The setting that the server was started with. */
  private setting = '';
  private readonly changed = new vscode.EventEmitter<void>();
  private readonly read = new vscode.EventEmitter<void>();

  /** Fires when the server has started or given up. */
  readonly onDidChange = this.changed.event;
  /** Fires when the server has read other files of a dump, as those that a program which runs again writes. */
  readonly onDidRead = this.read.event;
  /** What is shown when somebody else runs a command of the server. */
  run: Run = () => Promise.resolve();

  constructor(
    private readonly context: vscode.ExtensionContext,
    private readonly log: vscode.LogOutputChannel,
  ) {}

  /** The running client; started if it is not. Nothing if there is no server. */
  start(): Promise<LanguageClient | undefined> {
    this.client ??= this.launch().finally(() => {
      this.changed.fire();
    });
    return this.client;
  }

  async restart(): Promise<void> {
    await this.stop();
    await this.start();
  }

  /** Starts another server if the setting names one. (An event does not mean that it does.) */
  async reconfigure(): Promise<void> {
    if (setting() !== this.setting) await this.restart();
  }

  async stop(): Promise<void> {
    const client = await this.client;
    this.client = undefined;
    // One that has given up cannot be stopped, and need not be.
    await client?.dispose().catch((error: unknown) => {
      this.log.warn(String(error));
    });
  }

  dispose(): Promise<void> {
    this.changed.dispose();
    this.read.dispose();
    return this.stop();
  }

  /** Runs a command of the server, about a dump if there is a `uri`. Nothing if the server does not know the document yet. */
  async command<Name extends keyof Commands>(
    name: Name,
    uri: vscode.Uri | undefined,
    args: Commands[Name][0],
  ): Promise<Commands[Name][1] | undefined> {
    const client = await this.start();
    if (client === undefined) throw new Error('there is no server');
    if (!client.initializeResult?.capabilities.executeCommandProvider?.commands.includes(name)) {
      throw new Error(`this server (${this.version}) has no ${name}; a newer one answers here`);
    }
    const about = uri && { uri: client.code2ProtocolConverter.asUri(uri) };
    const params = { command: name, arguments: [{ ...about, ...args }] };
    const result: Commands[Name][1] | null = await client.sendRequest('workspace/executeCommand', params);
    return result ?? undefined;
  }

  /** The same where nothing can be shown without an answer. */
  async answer<Name extends keyof Commands>(name: Name, uri: vscode.Uri | undefined, args: Commands[Name][0]): Promise<Commands[Name][1]> {
    const result = await this.command(name, uri, args);
    if (result === undefined) throw new Error('the server has not read this dump yet; try again in a moment');
    return result;
  }

  private async launch(): Promise<LanguageClient | undefined> {
    this.setting = setting();
    const { program, tried } = findServer({
      setting: this.setting,
      extension: this.context.extensionPath,
      folder: vscode.workspace.workspaceFolders?.[0]?.uri.fsPath,
      environment: process.env,
      platform: process.platform,
      isProgram,
    });
    if (program === undefined) {
      this.complain(`The Buflens server was not found. Tried: ${tried.join('; ')}.`);
      return undefined;
    }
    const answer = await ask(program);
    const version = versionIn(answer);
    if (version === undefined) {
      this.complain(`${program} is not the Buflens server: asked for its version, it answers "${answer.trim().slice(0, 200)}".`);
      return undefined;
    }
    this.version = version;
    const { version: own } = this.context.extension.packageJSON as { version: string };
    this.log.info(`server ${version} at ${program}, extension ${own}`);
    if (!isCompatible(version, own)) {
      this.complain(`The server at ${program} is Buflens ${version}, this extension is ${own}; some things may not work.`);
    }
    const { newClient } = await import('./client.js');
    const client = newClient(program, this.log, {
      gaveUp: () => {
        this.gaveUp();
      },
      refreshed: () => {
        this.read.fire();
      },
      run: (command, args) => this.run(command, args),
    });
    try {
      await client.start();
      return client;
    } catch (error) {
      this.complain(`The server at ${program} does not start: ${messageOf(error)}.`);
      return undefined;
    }
  }

  /** One message, with a way to mend it. */
  private complain(message: string): void {
    this.log.error(message);
    void vscode.window.showErrorMessage(message, 'Open Setting', 'Show Log').then((choice) => {
      if (choice === 'Open Setting') void openSetting();
      else if (choice === 'Show Log') this.log.show();
    });
  }

  private gaveUp(): void {
    this.changed.fire();
    const message = 'The Buflens server ended three times within minutes and is not started again.';
    void vscode.window.showErrorMessage(message, 'Restart Server', 'Show Log').then((choice) => {
      if (choice === 'Restart Server') void this.restart();
      else if (choice === 'Show Log') this.log.show();
    });
  }
}

function setting(): string {
  return vscode.workspace.getConfiguration('buflens').get('server.path', '');
}

/** Opens the setting where it has been set. What belongs to a machine is not among the user's settings on another. */
async function openSetting(): Promise<void> {
  const inWorkspace = vscode.workspace.getConfiguration('buflens').inspect('server.path')?.workspaceValue !== undefined;
  const open = inWorkspace ? 'openWorkspaceSettings' : vscode.env.remoteName === undefined ? 'openSettings' : 'openRemoteSettings';
  await vscode.commands.executeCommand(`workbench.action.${open}`, { query: 'buflens.server.path' });
}

function isProgram(path: string): boolean {
  try {
    fs.accessSync(path, fs.constants.X_OK);
    return fs.statSync(path).isFile();
  } catch {
    return false;
  }
}

/** What a program prints when it is asked for its version, or why it does not. */
function ask(program: string): Promise<string> {
  return new Promise((resolve) => {
    execFile(program, ['--version'], { timeout: 10_000, windowsHide: true }, (error, stdout) => {
      resolve(error === null ? stdout : `${stdout}${error.message}`);
    });
  });
}
