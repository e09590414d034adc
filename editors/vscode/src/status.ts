// The status item: module, memory spaces and their peaks; a click shows the log.

import * as vscode from 'vscode';

import { activeDump } from './detect';
import { bytes, exactBytes } from './numbers';
import type { Peak } from './results';
import type { Server } from './server';

export class Status implements vscode.Disposable {
  private readonly item = vscode.window.createStatusBarItem('buflens.status', vscode.StatusBarAlignment.Right, 100);
  private shown = '';

  constructor(private readonly server: Server) {
    this.item.name = 'Buflens';
    this.item.command = 'buflens.showLog';
  }

  dispose(): void {
    this.item.dispose();
  }

  /** Shows what there is to say of the dump in the active editor. */
  async update(): Promise<void> {
    const document = activeDump();
    if (document === undefined) {
      this.item.hide();
      return;
    }
    const asked = `${document.uri.toString()} ${document.version}`;
    // After an edit the old numbers stay until the new ones are there.
    if (!this.shown.startsWith(`${document.uri.toString()} `)) this.set('$(loading~spin) Buflens', 'Reading the dump');
    this.shown = asked;
    this.item.show();
    let text: [string, vscode.MarkdownString | string];
    try {
      const peak = (await this.server.start()) && (await this.server.command('buflens.peak', document.uri, { limit: 0 }));
      text = peak === undefined ? ['$(warning) Buflens', 'No answer from the server; click for the log'] : peakText(peak);
    } catch (error) {
      text = ['Buflens', `${error instanceof Error ? error.message : String(error)}. Click for the log.`];
    }
    // Another editor may have become active meanwhile.
    if (this.shown === asked) this.set(...text);
  }

  private set(text: string, tooltip: vscode.MarkdownString | string): void {
    this.item.text = text;
    this.item.tooltip = tooltip;
  }
}

function peakText(peak: Peak): [string, vscode.MarkdownString] {
  const most = Math.max(...peak.spaces.map((space) => space.reserved_bytes));
  const peaks = peak.spaces.flatMap((space) =>
    // The few bytes of flags and the like are in the tooltip.
    space.peak === null || space.reserved_bytes < most / 1000 ? [] : [`${space.name} ${bytes(space.peak.occupied_bytes)}`],
  );
  const tooltip = new vscode.MarkdownString().appendText(peak.module);
  const rows = peak.spaces.map(({ name, color, reserved_bytes, peak }) => {
    const occupied = peak === null ? '' : `, at most ${exactBytes(peak.occupied_bytes)} occupied, at step ${peak.step}`;
    return `${name} (@${color}): ${bytes(reserved_bytes)} reserved${occupied}`;
  });
  tooltip.appendCodeblock(rows.join('\n'), 'text').appendText('Static, of this module only. Click for the log.');
  return [`$(layers) ${[peak.module, ...peaks.slice(0, 3)].join('  ')}`, tooltip];
}
