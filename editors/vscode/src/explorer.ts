// The peak explorer: memory space > step > the values alive there, with ticks for what-if.

import * as vscode from 'vscode';

import { stemOf } from './heads';
import type { LeftOut } from './left-out';
import { bytes, counted, exactBytes } from './numbers';
import type { Moment, Peak, PeakValue, Space } from './results';
import { messageOf, type Server } from './server';
import { filtered, nameOf, ORDERS, rowsOf, sorted, summaryOf, whatIfOf, type Order } from './values';

interface SpaceNode {
  kind: 'space';
  space: Space;
  isFirst: boolean;
}
interface StepNode {
  kind: 'step';
  color: number;
  moment: Moment;
  what: 'true peak' | 'next peak' | "XLA's printed step" | 'chosen';
}
interface ValueNode {
  kind: 'value';
  color: number;
  value: PeakValue;
  /** Bytes occupied at the step. */
  occupied: number | null;
}
interface NoteNode {
  kind: 'note';
  text: string;
}
export type Node = SpaceNode | StepNode | ValueNode | NoteNode;

export class Explorer implements vscode.TreeDataProvider<Node>, vscode.Disposable {
  /** The dump that is shown, by one of its files. */
  uri: vscode.Uri | undefined;
  private readonly view: vscode.TreeView<Node>;
  private readonly changed = new vscode.EventEmitter<void>();
  readonly onDidChangeTreeData = this.changed.event;
  private readonly peaks = new Map<string, Promise<Peak | undefined>>();
  /** By memory space, the step that is shown besides the peaks, since a code lens led to it. */
  private readonly chosen = new Map<number, number>();
  /** Above the tree: the program, why it is empty, what remains without the ticked values, and which are shown at all. */
  private readonly messages = { module: '', problem: '', whatIf: '', filter: '' };
  /** How often the dump was asked for, and what remains without the ticked values: late answers are dropped. */
  private readonly asked = { peak: 0, whatIf: 0 };
  private readonly ticks: vscode.Disposable;
  private order: Order = 'bytes';
  private filter = '';

  constructor(
    private readonly server: Server,
    private readonly leftOut: LeftOut,
  ) {
    this.view = vscode.window.createTreeView<Node>('buflens.peakView', {
      treeDataProvider: this,
      showCollapseAll: true,
      manageCheckboxStateManually: true,
    });
    this.view.onDidChangeCheckboxState(({ items }) => {
      for (const [node, state] of items) {
        if (node.kind === 'value') this.tick(node.color, node.value.id, state === vscode.TreeItemCheckboxState.Checked);
      }
    });
    this.ticks = leftOut.onDidChange((uri) => {
      if (!this.isOf(uri)) return;
      void this.showWhatIf();
      // The same value may stand below several steps.
      this.changed.fire();
    });
  }

  dispose(): void {
    this.ticks.dispose();
    this.view.dispose();
    this.changed.dispose();
  }

  /** Shows the dump that `uri` is a file of. */
  show(uri: vscode.Uri): void {
    if (this.isOf(uri)) return;
    this.uri = uri;
    void vscode.commands.executeCommand('setContext', 'buflens.hasDump', true);
    this.chosen.clear();
    this.refresh();
  }

  /** Whether `uri` is a file of the dump that is shown. */
  private isOf(uri: vscode.Uri): boolean {
    return this.uri !== undefined && stemOf(this.uri.path) === stemOf(uri.path);
  }

  /** Asks the server again. */
  refresh(): void {
    this.peaks.clear();
    this.asked.peak += 1;
    this.say({ problem: '' });
    void this.showWhatIf();
    this.changed.fire();
  }

  /** Opens the view, at a memory space and a step if they are named. */
  async reveal(color?: number, step?: number): Promise<void> {
    if (color !== undefined && step !== undefined && this.chosen.get(color) !== step) {
      this.chosen.set(color, step);
      this.changed.fire();
    }
    await vscode.commands.executeCommand('buflens.peakView.focus');
    const spaces = color === undefined ? [] : await this.getChildren();
    const space = spaces.find((node) => node.kind === 'space' && node.space.color === color);
    if (space === undefined) return;
    const steps = step === undefined ? [] : await this.getChildren(space);
    const node = steps.find((node) => node.kind === 'step' && node.moment.step === step);
    await this.view.reveal(node ?? space, { expand: node === undefined ? 2 : 1, focus: true });
  }

  /** The peak of a memory space, or what is alive there at a step. Asked for once. */
  peak(color: number, step?: number): Promise<Peak | undefined> {
    const key = `${color} ${step ?? ''}`;
    const known = this.peaks.get(key);
    if (known !== undefined) return known;
    const asked =
      this.uri === undefined ? Promise.resolve(undefined) : this.server.command('buflens.peak', this.uri, { space: color, step });
    this.peaks.set(key, asked);
    // What failed may succeed the next time.
    asked.catch(() => {
      if (this.peaks.get(key) === asked) this.peaks.delete(key);
    });
    return asked;
  }

  async sort(): Promise<void> {
    const items = Object.entries(ORDERS).map(([order, label]) => ({ label, order: order as Order }));
    const choice = await vscode.window.showQuickPick(items, { placeHolder: 'Sort the values by' });
    if (choice === undefined) return;
    this.order = choice.order;
    this.changed.fire();
  }

  async askFilter(): Promise<void> {
    const filter = await vscode.window.showInputBox({
      prompt: 'Show values with these words in their name, shape, opcode, op_name or source line; empty for all',
      value: this.filter,
    });
    if (filter !== undefined) this.setFilter(filter);
  }

  setFilter(filter: string): void {
    this.filter = filter.trim();
    this.say({ filter: this.filter === '' ? '' : `Only values with "${this.filter}"` });
    this.changed.fire();
  }

  clearTicks(): void {
    if (this.uri !== undefined) this.leftOut.set(this.uri, []);
  }

  /** What is said above the tree. */
  get message(): string | undefined {
    return this.view.message;
  }

  async getParent(node: Node): Promise<Node | undefined> {
    if (node.kind !== 'step') return undefined;
    const spaces = await this.getChildren();
    return spaces.find((parent) => parent.kind === 'space' && parent.space.color === node.color);
  }

  /** What is selected. */
  get selection(): readonly Node[] {
    return this.view.selection;
  }

  async getChildren(node?: Node): Promise<Node[]> {
    const asked = this.asked.peak;
    try {
      if (node === undefined) return await this.roots();
      if (node.kind === 'space') return await this.steps(node.space);
      if (node.kind === 'step') return await this.values(node);
      return [];
    } catch (error) {
      const problem = messageOf(error);
      if (node !== undefined) return [note(problem)];
      if (asked === this.asked.peak) this.say({ problem });
      return [];
    }
  }

  getTreeItem(node: Node): vscode.TreeItem {
    return node.kind === 'value'
      ? valueItem(node, this.ticked(node.color).includes(node.value.id))
      : node.kind === 'space'
        ? spaceItem(node)
        : node.kind === 'step'
          ? stepItem(node)
          : new vscode.TreeItem(node.text);
  }

  private async roots(): Promise<Node[]> {
    if (this.uri === undefined) return [];
    const asked = this.asked.peak;
    const peak = await this.peak(0);
    if (asked !== this.asked.peak) return [];
    if (peak === undefined) return [note('The server has not read this dump yet; refresh in a moment')];
    this.say({ module: peak.module, problem: peak.spaces.length > 0 ? '' : (peak.reason ?? 'This dump has no allocations') });
    return peak.spaces.map((space, index) => ({ kind: 'space', space, isFirst: index === 0 }));
  }

  private async steps(space: Space): Promise<Node[]> {
    const peak = await this.peak(space.color);
    if (space.peak === null) {
      const values = (peak?.largest ?? []).map((value) => this.valueNode(space.color, { ...value, what_if: null }, null));
      return [note(peak?.reason ?? 'There is no peak without live ranges'), ...values];
    }
    const step = (moment: Moment, what: StepNode['what']): StepNode => ({ kind: 'step', color: space.color, moment, what });
    const steps = [step(space.peak, 'true peak'), ...(peak?.next ?? []).map((moment) => step(moment, 'next peak'))];
    const printed = peak?.xla_peak;
    if (printed && printed.occupied_bytes !== null && !steps.some(({ moment }) => moment.step === printed.step)) {
      steps.push(step(await this.momentAt(space.color, printed.step), "XLA's printed step"));
    }
    const chosen = this.chosen.get(space.color);
    if (chosen !== undefined && !steps.some(({ moment }) => moment.step === chosen)) {
      steps.push(step(await this.momentAt(space.color, chosen), 'chosen'));
    }
    return steps;
  }

  private async momentAt(color: number, step: number): Promise<Moment> {
    const at = await this.peak(color, step);
    return { step, instruction: at?.instruction ?? null, occupied_bytes: at?.occupied_bytes ?? 0 };
  }

  private valueNode(color: number, value: PeakValue, occupied: number | null): ValueNode {
    return { kind: 'value', color, value, occupied };
  }

  private async values({ color, moment }: StepNode): Promise<Node[]> {
    const peak = await this.peak(color, moment.step);
    if (peak === undefined) return [];
    const shown = filtered(peak.values, this.filter);
    const nodes: Node[] = sorted(shown, this.order).map((value) => this.valueNode(color, value, peak.occupied_bytes));
    if (shown.length < peak.values.length) nodes.push(note(`${counted(peak.values.length - shown.length, 'value')} filtered out`));
    if (peak.values_left_out > 0) nodes.push(note(`${counted(peak.values_left_out, 'smaller value')} not shown`));
    return nodes;
  }

  private tick(color: number, id: number, isTicked: boolean): void {
    const others = this.ticked(color).filter((other) => other !== id);
    if (this.uri !== undefined) this.leftOut.setSpace(this.uri, color, isTicked ? [...others, id] : others);
  }

  /** The values of a memory space that are left out. */
  private ticked(color: number): readonly number[] {
    return (this.uri && this.leftOut.of(this.uri).get(color)) ?? [];
  }

  private async showWhatIf(): Promise<void> {
    this.asked.whatIf += 1;
    const asked = this.asked.whatIf;
    const uri = this.uri;
    if (uri === undefined) return;
    const without = [...this.leftOut.of(uri)];
    // For the button that unticks all.
    void vscode.commands.executeCommand('setContext', 'buflens.hasTicks', without.length > 0);
    let whatIf: string;
    try {
      const answers = without.map(([space, ids]) => this.server.command('buflens.whatIf', uri, { space, without: [...ids] }));
      whatIf = whatIfOf((await Promise.all(answers)).filter((answer) => answer !== undefined));
    } catch (error) {
      whatIf = messageOf(error);
    }
    if (asked === this.asked.whatIf) this.say({ whatIf });
  }

  private say(messages: Partial<Explorer['messages']>): void {
    Object.assign(this.messages, messages);
    const { module, problem, whatIf, filter } = this.messages;
    this.view.message = [module, problem, whatIf, filter].filter(Boolean).join('. ') || undefined;
  }
}

function note(text: string): NoteNode {
  return { kind: 'note', text };
}

function spaceItem({ space, isFirst }: SpaceNode): vscode.TreeItem {
  const { Collapsed, Expanded } = vscode.TreeItemCollapsibleState;
  const item = new vscode.TreeItem(`${space.name} (@${space.color})`, isFirst ? Expanded : Collapsed);
  item.id = `space ${space.color}`;
  item.iconPath = new vscode.ThemeIcon('server');
  const reserved = bytes(space.reserved_bytes);
  item.description = space.peak === null ? `${reserved} reserved` : `${bytes(space.peak.occupied_bytes)} of ${reserved}`;
  const peak = space.peak === null ? '' : `; at most ${exactBytes(space.peak.occupied_bytes)} occupied, at step ${space.peak.step}`;
  item.tooltip = `${space.name}: ${exactBytes(space.reserved_bytes)} reserved${peak}. Static, of this module only.`;
  return item;
}

function stepItem({ color, moment, what }: StepNode): vscode.TreeItem {
  const { Collapsed, Expanded } = vscode.TreeItemCollapsibleState;
  const state = what === 'true peak' ? Expanded : Collapsed;
  // Bytes first: names are longer than the view is wide.
  const item = new vscode.TreeItem(`${bytes(moment.occupied_bytes)} at step ${moment.step}`, state);
  item.id = `step ${color} ${moment.step}`;
  item.iconPath = new vscode.ThemeIcon(what === 'true peak' ? 'flame' : 'debug-stackframe-dot');
  item.description = [what, moment.instruction].filter(Boolean).join(', ');
  item.tooltip = `Step ${moment.step}${moment.instruction === null ? '' : `, ${moment.instruction}`}: ${exactBytes(moment.occupied_bytes)} occupied, ${what}`;
  return item;
}

function valueItem({ value, occupied }: ValueNode, isTicked: boolean): vscode.TreeItem {
  const item = new vscode.TreeItem(`${bytes(value.bytes)}  ${nameOf(value)}`);
  const { Checked, Unchecked } = vscode.TreeItemCheckboxState;
  item.checkboxState = { state: isTicked ? Checked : Unchecked, tooltip: isTicked ? 'Left out' : 'Tick to see what would be without it' };
  item.description = summaryOf(value, occupied);
  item.tooltip = tooltip(value, occupied);
  if (value.location === null) return item;
  item.command = { title: 'Go to Value', command: 'buflens.goTo', arguments: [value.location] };
  return item;
}

/** A table as text: what is in it comes from the dump and must not be read as Markdown. */
function tooltip(value: PeakValue, occupied: number | null): vscode.MarkdownString {
  const rows = rowsOf(value, occupied);
  const width = Math.max(...rows.map(([name]) => name.length));
  const text = rows.map(([name, content]) => `${name.padEnd(width)}  ${content}`).join('\n');
  return new vscode.MarkdownString().appendText(nameOf(value)).appendCodeblock(text, 'text');
}
