// The status item: module, memory spaces and their peaks; a click shows the log.

import * as vscode from 'vscode';

import { stemOf } from './heads';
import { bytes, exactBytes } from './numbers';
import type { Peak } from './results';
import { messageOf, type Server } from './server';

export class Status implements vscode.Disposable {
  private readonly item = vscode.window.createStatusBarItem('buflens.status', vscode.StatusBarAlignment.Right, 100);
  /** The dump that is shown, and how often there was something to ask: late answers are dropped. */
  private shown = '';
  private asked = 0;

  constructor(private readonly server: Server) {
    this.item.name = 'Buflens';
    this.item.command = 'buflens.showLog';
  }

  dispose(): void {
    this.item.dispose();
  }

  /** Shows what there is to say of the dump that `uri` is a file of. */
  async update(uri: vscode.Uri | undefined): Promise<void> {
    this.asked += 1;
    const { asked } = this;
    if (uri === undefined) {
      this.item.hide();
      return;
    }
    // After an edit the old numbers stay until the new ones are there.
    if (this.shown !== stemOf(uri.path)) this.set('$(loading~spin) Buflens', 'Reading the dump');
    this.shown = stemOf(uri.path);
    this.item.show();
    let text: [string, vscode.MarkdownString | string];
    try {
      const peak = (await this.server.start()) && (await this.server.command('buflens.peak', uri, { limit: 0 }));
      text = peak === undefined ? ['$(warning) Buflens', 'No answer from the server; click for the log'] : peakText(peak);
    } catch (error) {
      text = ['Buflens', `${messageOf(error)}. Click for the log.`];
    }
    // Another tab may have become active meanwhile.
    if (asked === this.asked) this.set(...text);
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
