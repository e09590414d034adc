// The results of the server's commands, as docs/lsp-extensions.md describes them.

import type { Location } from 'vscode-languageclient';

export interface Moment {
  step: number;
  instruction: string | null;
  occupied_bytes: number;
}

export interface Value {
  id: number;
  name: string;
  index: string;
  kind: string | null;
  allocation: number | null;
  /** `null` where no assignment tells it, as `bytes`. */
  offset: number | null;
  bytes: number | null;
  /** `null` for an element type that the server does not know. */
  logical_bytes: number | null;
  live: [number, number] | null;
  shape: string | null;
  opcode: string | null;
  op_name: string | null;
  source: string | null;
  location: Location | null;
}

/** One that lies in an allocation. */
export interface PlacedValue extends Value {
  offset: number;
  bytes: number;
}

export interface PeakValue extends PlacedValue {
  what_if: Moment | null;
}

export interface Space {
  color: number;
  name: string;
  reserved_bytes: number;
  thread_local_bytes: number;
  padding_bytes: number | null;
  peak: Moment | null;
}

export interface Peak {
  module: string;
  platform: string;
  space: number;
  name: string;
  reason: string | null;
  step: number | null;
  instruction: string | null;
  occupied_bytes: number | null;
  /** `null` where no allocation is known. */
  reserved_bytes: number | null;
  near: [number, number][] | null;
  next: Moment[] | null;
  xla_peak: { step: number; listed_bytes: number; occupied_bytes: number | null } | null;
  spaces: Space[];
  /** Values that should have a live range and have none, or no readable place in an allocation: the true peak may be higher. `null` where no peak is known. */
  missing_live_ranges: number | null;
  /** How many bytes the allocations lack of the total that the compiler prints, as where a file is cut. `null` where either is not known. */
  missing_bytes: number | null;
  values: PeakValue[];
  values_left_out: number;
  /** Where there is no peak, the largest values of the memory space. */
  largest: PlacedValue[];
}

export interface WhatIf {
  module: string;
  space: number;
  name: string;
  without: number[];
  unknown: number[];
  reason: string | null;
  before: Moment | null;
  after: Moment | null;
  saved_bytes: number | null;
  note: string;
}

export interface ValueAtOffset {
  allocation: number;
  offset: number;
  values: Value[];
}

export interface PaddedValue extends Value {
  padding_bytes: number;
  space: number | null;
  ratio: number;
  /** `number` is `null` for a scalar. */
  dimension: { number: number | null; from: number; to: number; tile: number | null } | null;
  order: { minor_to_major: number[]; bytes: number } | null;
}

export interface Padding {
  module: string;
  spaces: { color: number; name: string; padding_bytes: number | null; occupied_bytes: number | null; step: number | null }[];
  allocations: { allocation: number; space: number; bytes: number; padding_bytes: number }[];
  values: PaddedValue[];
  values_left_out: number;
}

export interface Parameter {
  parameter: number;
  index: string;
  name: string | null;
  allocation: number;
  space: number;
  bytes: number;
  verdict: string;
  last_read: { step: number; instruction: string } | null;
  alive_at_peak: boolean | null;
  outputs: number[];
  location: Location | null;
}

export interface Donation {
  module: string;
  reason: string | null;
  parameters: Parameter[];
  parameters_left_out: number;
  donated_bytes: number | null;
  not_usable_bytes: number | null;
  could_match_bytes: number | null;
  dead_bytes: number | null;
}

export interface Copy {
  name: string;
  kind: string;
  operand: string | null;
  /** `null` where no allocation holds what it writes. */
  bytes: number | null;
  from: { space: number | null; layout: string | null };
  to: { space: number | null; layout: string | null };
  window: [number, number] | null;
  alive_at_peak: boolean | null;
  round_trip: string | null;
  op_name: string | null;
  source: string | null;
  location: Location | null;
}

export interface Copies {
  module: string;
  reason: string | null;
  copies: Copy[];
  copies_left_out: number;
  spaces: { color: number; name: string; copied_bytes: number | null; at_peak_bytes: number | null }[];
}

/** What changed between two dumps; only what is used here. */
export interface Diff {
  module: string;
  nothing_changed: boolean;
  /** The whole answer for people. */
  markdown: string;
}

export interface Export {
  module: string;
  text: string;
  /** How the name of a file with it ends, without the first dot. */
  extension: string;
}

/** A value that a line of source made. */
export interface MadeValue extends Value {
  module: string;
  line: number | null;
  is_direct: boolean;
  /** The number of its memory space. */
  space: number | null;
  at_peak: boolean | null;
}

export interface MadeLine {
  file: string;
  line: number | null;
  values: number;
}

/** What lines of source made. */
export interface Made {
  dumps_read: number;
  dumps: { module: string; spaces: { name: string; at_peak_bytes: number | null; peak: Moment | null }[] }[];
  values: MadeValue[];
  values_left_out: number;
  nearest: MadeLine[];
}

/** Only what the extension itself reads; the rest is for the page, see server/src/report/html/map-model.js. */
export interface MemoryMap {
  module: string;
}

/** The commands of the server: arguments besides the `uri` of a dump that most of them have, and results. */
export interface Commands {
  'buflens.peak': [{ space?: number; step?: number; without?: number[]; limit?: number }, Peak];
  'buflens.whatIf': [{ space?: number; without: number[] }, WhatIf];
  'buflens.valueAtOffset': [{ allocation: number; offset: number; step?: number }, ValueAtOffset];
  'buflens.padding': [{ space?: number; limit?: number }, Padding];
  'buflens.donation': [Record<string, never>, Donation];
  'buflens.copies': [{ limit?: number }, Copies];
  'buflens.diff': [{ other: string; limit?: number }, Diff];
  'buflens.export': [{ format: string }, Export];
  'buflens.where': [{ file: string; line?: number; last_line?: number; limit?: number }, Made];
  'buflens.map': [{ limit?: number }, MemoryMap];
}
