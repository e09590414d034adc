// A file on disk cut into pieces of whole lines, small enough for VS Code to show.

import * as fs from 'node:fs';

/** A run of whole lines. */
export interface Slice {
  /** Its first line, from 0. */
  first: number;
  lines: number;
  /** Where it begins, in bytes. */
  offset: number;
  /** Bytes. */
  length: number;
}

/** A slice ends with the line that makes it as long as this in one of the two. */
const LINES = 10_000;
const BYTES = 4 * 1024 * 1024;

/** Cuts the file at `path`. Its last slice may end without a line end. */
export async function slicesOf(path: string, lines = LINES, bytes = BYTES): Promise<Slice[]> {
  const slices: Slice[] = [];
  let slice: Slice = { first: 0, lines: 0, offset: 0, length: 0 };
  // The place of the chunk in the file.
  let start = 0;
  let behindLine = 0;
  const close = (end: number) => {
    slice.length = end - slice.offset;
    slices.push(slice);
    slice = { first: slice.first + slice.lines, lines: 0, offset: end, length: 0 };
  };
  for await (const chunk of fs.createReadStream(path, { highWaterMark: 1024 * 1024 }) as AsyncIterable<Buffer>) {
    for (let at = chunk.indexOf(10); at >= 0; at = chunk.indexOf(10, at + 1)) {
      slice.lines += 1;
      behindLine = start + at + 1;
      if (slice.lines >= lines || behindLine - slice.offset >= bytes) close(behindLine);
    }
    start += chunk.length;
  }
  if (start > slice.offset) {
    if (start > behindLine) slice.lines += 1;
    close(start);
  }
  return slices;
}

/** The slice with a line, from 0. */
export function sliceAt(slices: readonly Slice[], line: number): Slice | undefined {
  return slices.find(({ first, lines }) => line >= first && line < first + lines);
}

/** The text of a slice, or as much of it as there still is. */
export async function textOf(path: string, { offset, length }: Pick<Slice, 'offset' | 'length'>): Promise<string> {
  const file = await fs.promises.open(path);
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(length), 0, length, offset);
    return buffer.toString('utf8', 0, bytesRead);
  } finally {
    await file.close();
  }
}
