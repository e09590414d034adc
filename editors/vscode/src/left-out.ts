// Which values are left out, to see what would be without them: the peak explorer and the map of a dump show the same.

import * as vscode from 'vscode';

import { stemOf } from './heads';

/** By memory space, the ids of the values. */
export type Without = ReadonlyMap<number, readonly number[]>;

export class LeftOut implements vscode.Disposable {
  /** By what the names of a dump's files have in common. */
  private readonly dumps = new Map<string, Without>();
  private readonly changed = new vscode.EventEmitter<vscode.Uri>();
  /** By one of the files of the dump. */
  readonly onDidChange = this.changed.event;

  dispose(): void {
    this.changed.dispose();
  }

  /** What is left out of the dump that `uri` is a file of. */
  of(uri: vscode.Uri): Without {
    return this.dumps.get(stemOf(uri.path)) ?? new Map();
  }

  /** Leaves out these values, and no others. */
  set(uri: vscode.Uri, without: Iterable<readonly [number, readonly number[]]>): void {
    const next = new Map([...without].filter(([, ids]) => ids.length > 0));
    if (textOf(next) === textOf(this.of(uri))) return;
    this.dumps.set(stemOf(uri.path), next);
    this.changed.fire(uri);
  }

  /** Leaves out these values of a memory space, and no others of it. */
  setSpace(uri: vscode.Uri, space: number, ids: readonly number[]): void {
    this.set(uri, new Map([...this.of(uri), [space, ids]]));
  }
}

/** The same for the same values in whatever order. */
function textOf(without: Without): string {
  const spaces = [...without].sort(([a], [b]) => a - b);
  return JSON.stringify(spaces.map(([space, ids]) => [space, ids.toSorted((a, b) => a - b)]));
}
