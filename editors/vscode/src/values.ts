// The values in the peak explorer: their order, which of them are shown, and what is said of each.

import { bytes, exactBytes, grouped, percent } from './numbers';
import type { Moment, PeakValue, WhatIf } from './results';

/** What values are sorted by, as it is offered to the user. */
export const ORDERS = { bytes: 'Bytes, the largest first', name: 'Name', live: 'Live range, the earliest first', op_name: 'op_name' };
export type Order = keyof typeof ORDERS;

/** The values sorted, without changing the array. */
export function sorted(values: readonly PeakValue[], order: Order): PeakValue[] {
  const byText = (key: (value: PeakValue) => string) => (a: PeakValue, b: PeakValue) =>
    key(a).localeCompare(key(b), 'en', { numeric: true });
  const compare = {
    bytes: (a: PeakValue, b: PeakValue) => b.bytes - a.bytes,
    name: byText(nameOf),
    live: (a: PeakValue, b: PeakValue) => (a.live?.[0] ?? 0) - (b.live?.[0] ?? 0) || (a.live?.[1] ?? 0) - (b.live?.[1] ?? 0),
    // What has none comes last.
    op_name: byText((value) => value.op_name ?? '\uFFFF'),
  }[order];
  return values.toSorted(compare);
}

/** The values that have every word of `filter` in their name, shape, opcode, op_name or source. */
export function filtered(values: readonly PeakValue[], filter: string): PeakValue[] {
  const words = filter.toLowerCase().split(/\s+/).filter(Boolean);
  return values.filter((value) => {
    const text = [nameOf(value), value.shape, value.kind, value.opcode, value.op_name, value.source].join(' ').toLowerCase();
    return words.every((word) => text.includes(word));
  });
}

/** `copy-start{0}`; the index `{}` is left out. */
export function nameOf({ name, index }: { name: string; index: string }): string {
  return index === '{}' ? name : name + index;
}

/** What stands behind a value's bytes and name. */
export function summaryOf(value: PeakValue, occupied: number | null): string {
  const share = occupied === null ? [] : [percent(value.bytes, occupied)];
  const live = value.live === null ? [] : [`steps ${value.live.join('-')}`];
  return [...share, ...(value.kind === null ? [] : [value.kind]), ...live].join(', ');
}

/** All that is known of a value, by row. */
export function rowsOf(value: PeakValue, occupied: number | null): [string, string][] {
  const rows: [string, string | null][] = [
    ['shape', value.shape],
    ['bytes', exactBytes(value.bytes)],
    ['without padding', value.logical_bytes === null || value.logical_bytes === value.bytes ? null : exactBytes(value.logical_bytes)],
    ['share', occupied === null ? null : percent(value.bytes, occupied)],
    ['place', value.allocation === null ? null : `allocation ${value.allocation}, offset ${grouped(value.offset)}`],
    ['alive', value.live && `steps ${value.live.join('-')}`],
    ['opcode', value.opcode],
    ['op_name', value.op_name],
    ['source', value.source],
    ['if it went away', value.what_if && `the peak is ${momentOf(value.what_if)}`],
  ];
  return rows.filter((row): row is [string, string] => row[1] !== null);
}

/** `960.9 MiB at step 16, copy.4`. */
export function momentOf({ step, instruction, occupied_bytes }: Moment): string {
  return `${bytes(occupied_bytes)} at ${['step ' + step.toString(), instruction].filter(Boolean).join(', ')}`;
}

/** What remains without some values of each memory space, and what is taken for granted. */
export function whatIfOf(results: readonly WhatIf[]): string {
  const note = results.find(({ after }) => after !== null)?.note;
  return [results.map(remaining).join('. '), note].filter(Boolean).join(', ');
}

function remaining({ name, without, after, saved_bytes, reason }: WhatIf): string {
  const values = `${without.length === 1 ? '1 value' : `${without.length} values`} in ${name}`;
  if (after === null) return `Without ${values}: ${reason ?? 'nothing is left'}`;
  const change = saved_bytes === null || saved_bytes === 0 ? 'no change' : bytes(-saved_bytes);
  return `Without ${values}: ${bytes(after.occupied_bytes)} at step ${after.step} (${change})`;
}
