// The palette commands whose results are lists: padding, donation, copies, values at an offset. Each entry goes to its line.

import * as vscode from 'vscode';

import type { Explorer } from './explorer';
import type { LeftOut } from './left-out';
import { bytes, counted, exactBytes, fixed } from './numbers';
import type { Place } from './parts';
import type { Copy, Donation, MadeValue, PaddedValue, Parameter, Value } from './results';
import type { Server } from './server';
import { nameOf, whatIfOf } from './values';

interface Entry extends vscode.QuickPickItem {
  location: Place;
}

export async function showPadding(server: Server, uri: vscode.Uri): Promise<void> {
  const result = await server.answer('buflens.padding', uri, {});
  const spaces = result.spaces
    .filter((space) => space.padding_bytes !== null && space.padding_bytes > 0)
    .map((space) => `${space.name} ${bytes(space.padding_bytes ?? 0)}${space.step === null ? '' : ` at the peak (step ${space.step})`}`);
  const title = `Padding of ${result.module}${spaces.length === 0 ? '' : `: ${spaces.join(', ')}`}`;
  await pick(title, result.values.map(paddingEntry), 'No value has padding', result.values_left_out);
}

export async function auditDonation(server: Server, uri: vscode.Uri): Promise<void> {
  const result = await server.answer('buflens.donation', uri, {});
  const empty = result.reason ?? 'This program has no parameters';
  await pick(donationTitle(result), result.parameters.map(parameterEntry), empty, result.parameters_left_out);
}

export async function auditCopies(server: Server, uri: vscode.Uri): Promise<void> {
  const result = await server.answer('buflens.copies', uri, {});
  const spaces = result.spaces.map(
    (space) =>
      `${space.name} ${known(space.copied_bytes)}${space.at_peak_bytes === null ? '' : `, ${bytes(space.at_peak_bytes)} at the peak`}`,
  );
  const title = `Copies in ${result.module}${spaces.length === 0 ? '' : `: ${spaces.join('; ')}`}`;
  const peak = await server.command('buflens.peak', uri, { limit: 0 });
  const names = new Map(peak?.spaces.map(({ color, name }) => [color, name]));
  await pick(title, result.copies.map((copy) => copyEntry(copy, names)), result.reason ?? 'There are no copies', result.copies_left_out);
}

export async function findValueAtOffset(server: Server, uri: vscode.Uri): Promise<void> {
  const allocation = await askNumber('Number of the allocation');
  if (allocation === undefined) return;
  const offset = await askNumber('Offset in bytes within the allocation');
  if (offset === undefined) return;
  const result = await server.answer('buflens.valueAtOffset', uri, { allocation, offset });
  const title = `Values over byte ${offset} of allocation ${allocation}, in the order of time`;
  await pick(title, result.values.map(valueEntry), 'No value holds this byte');
}

/** Shows what the lines of source that are selected made, in all dumps that the server knows. */
export async function showBuffersOfLine(server: Server, { document, selection }: vscode.TextEditor): Promise<void> {
  const line = selection.start.line + 1;
  // A selection of whole lines ends where the next one begins.
  const last_line = Math.max(line, selection.end.line + (selection.end.character === 0 ? 0 : 1));
  const result = await server.answer('buflens.where', undefined, { file: document.uri.toString(), line, last_line });
  if (result.dumps_read === 0) throw new Error('no dump is known: open one of the program that this file is part of');
  const lines = `${vscode.workspace.asRelativePath(document.uri)}:${line}${last_line === line ? '' : `-${last_line}`}`;
  const held = result.dumps.slice(0, 1).flatMap(({ module, spaces }) =>
    spaces.flatMap(({ name, at_peak_bytes, peak }) =>
      at_peak_bytes === null || peak === null ? [] : [`${bytes(at_peak_bytes)} of ${bytes(peak.occupied_bytes)} ${name} at the peak of ${module}`],
    ),
  );
  const near = result.nearest.flatMap(({ line }) => (line === null ? [] : [line]));
  const nearest = near.length === 0 ? 'No dump names this file' : `The nearest lines that made values are ${near.join(', ')}`;
  const title = [`Buffers of ${lines}`, ...held].join('; ');
  await pick(title, result.values.map(madeEntry), `It made none. ${nearest}`, result.values_left_out);
}

/** Asks which of the values at the peak go away, and says what remains. */
export async function whatIfWithout(server: Server, explorer: Explorer, leftOut: LeftOut, uri: vscode.Uri): Promise<void> {
  const peak = await server.answer('buflens.peak', uri, {});
  const items = peak.values.map((value) => ({ ...valueEntry(value), id: value.id }));
  const title = `Values alive at the peak of ${peak.name}, step ${peak.step ?? '?'}`;
  const placeHolder = 'Which of them go away, with the schedule and the placement as they are?';
  const chosen = await vscode.window.showQuickPick(items, { title, placeHolder, canPickMany: true, matchOnDetail: true });
  if (chosen === undefined || chosen.length === 0) return;
  const without = chosen.map(({ id }) => id);
  const result = await server.answer('buflens.whatIf', uri, { space: peak.space, without });
  explorer.show(uri);
  leftOut.setSpace(uri, peak.space, without);
  void vscode.window.showInformationMessage(whatIfOf([result]));
}

/** Shows a list; moving through it shows each place, leaving it goes back to where the user was. */
async function pick(title: string, entries: Entry[], empty: string, leftOut = 0): Promise<void> {
  if (entries.length === 0) {
    void vscode.window.showInformationMessage(`${title}. ${empty}.`);
    return;
  }
  const before = vscode.window.activeTextEditor;
  const place = before && { uri: before.document.uri, selection: before.selection, viewColumn: before.viewColumn };
  const placeHolder = leftOut === 0 ? 'Go to' : `Go to (${counted(leftOut, 'smaller one')} not shown)`;
  let moves = 0;
  const chosen = await vscode.window.showQuickPick(entries, {
    title,
    placeHolder,
    matchOnDescription: true,
    matchOnDetail: true,
    onDidSelectItem: (entry: Entry) => {
      // The first is selected as soon as the list is shown.
      moves += 1;
      if (moves > 1) void vscode.commands.executeCommand('buflens.goTo', entry.location, true);
    },
  });
  if (chosen !== undefined) await vscode.commands.executeCommand('buflens.goTo', chosen.location);
  else if (place !== undefined && moves > 1) await vscode.window.showTextDocument(place.uri, { selection: place.selection, viewColumn: place.viewColumn });
}

function paddingEntry(value: PaddedValue): Entry {
  const { dimension, order } = value;
  const what = dimension?.number == null ? 'elements' : `dimension ${dimension.number}`;
  const blame = dimension && `${what}: ${dimension.from} -> ${dimension.to}${dimension.tile === null ? '' : ` (tile ${dimension.tile})`}`;
  const better = order && `order {${order.minor_to_major.join(',')}} would take ${bytes(order.bytes)}`;
  return {
    label: nameOf(value),
    description: `+${bytes(value.padding_bytes)}, ${fixed(value.ratio, 2)}x, ${value.shape ?? ''}`,
    detail: [blame, better, value.op_name].filter(Boolean).join('; '),
    location: value.location,
  };
}

const VERDICTS: Record<string, string> = {
  donated: '$(check) donated',
  'not-usable': '$(warning) donated, but no output is written over it',
  'could-match': '$(lightbulb) not donated, as large as an output',
  dead: '$(lightbulb) not donated, dead before the peak',
  kept: 'kept',
};

function known(count: number | null): string {
  return count === null ? 'bytes not known' : bytes(count);
}

function donationTitle(donation: Donation): string {
  const { module, donated_bytes, not_usable_bytes, could_match_bytes, dead_bytes } = donation;
  const parts: [number | null, string][] = [
    [donated_bytes, 'donated'],
    // Hardly ever there, and a mistake where it is.
    [not_usable_bytes || null, 'donated in vain'],
    [could_match_bytes, 'could match an output'],
    [dead_bytes, 'dead before the peak'],
  ];
  const known = parts.flatMap(([count, what]) => (count === null ? [] : [`${bytes(count)} ${what}`]));
  return `Donation in ${module}${known.length === 0 ? '' : `: ${known.join(', ')}`}`;
}

function parameterEntry(parameter: Parameter): Entry {
  const { last_read, outputs, allocation } = parameter;
  const verdict = VERDICTS[parameter.verdict] ?? parameter.verdict;
  const details = [
    outputs.length > 0 ? `${verdict} (allocation ${outputs.join(', ')})` : verdict,
    last_read && `last read at step ${last_read.step} by ${last_read.instruction}`,
  ];
  return {
    label: `parameter ${parameter.parameter}${parameter.index === '{}' ? '' : parameter.index}${parameter.name === null ? '' : `: ${parameter.name}`}`,
    description: `${bytes(parameter.bytes)}, allocation ${allocation}${parameter.alive_at_peak === true ? ', alive at the peak' : ''}`,
    detail: details.filter(Boolean).join('; '),
    location: parameter.location,
  };
}

function copyEntry(copy: Copy, names: Map<number, string>): Entry {
  const { from, to, window, round_trip } = copy;
  const details = [
    from.space === to.space ? `${from.layout ?? '?'} -> ${to.layout ?? '?'}` : [from.space, to.space].map((space) => (space === null ? '?' : (names.get(space) ?? `@${space}`))).join(' -> '),
    window && `steps ${window.join('-')}`,
    round_trip && `takes back ${round_trip}`,
    copy.source ?? copy.op_name,
  ];
  return {
    label: copy.name,
    description: `${copy.kind}${copy.operand === null ? '' : ` of ${copy.operand}`}, ${known(copy.bytes)}${copy.alive_at_peak === true ? ', at the peak' : ''}`,
    detail: details.filter(Boolean).join('; '),
    location: copy.location,
  };
}

function valueEntry(value: Value): Entry {
  return {
    label: nameOf(value),
    description: [value.bytes !== null && exactBytes(value.bytes), value.kind, value.live && `steps ${value.live.join('-')}`].filter(Boolean).join(', '),
    detail: [value.shape, value.op_name].filter(Boolean).join('  '),
    location: value.location,
  };
}

function madeEntry(value: MadeValue): Entry {
  const { label, description, detail, location } = valueEntry(value);
  const peak = value.at_peak === true ? ', at the peak' : '';
  const through = value.is_direct || value.source === null ? [] : [`in ${value.source.replace(/^.*[/\\]/, '')}`];
  return { label, description: `${description ?? ''}${peak}`, detail: [value.module, ...through, detail].filter(Boolean).join('  '), location };
}

async function askNumber(prompt: string): Promise<number | undefined> {
  const validateInput = (text: string) => (/^[\d,_ ]*\d[\d,_ ]*$/.test(text) ? undefined : 'A number from 0');
  const text = await vscode.window.showInputBox({ prompt, validateInput });
  return text === undefined ? undefined : Number(text.replace(/[,_ ]/g, ''));
}
