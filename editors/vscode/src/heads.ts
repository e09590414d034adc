// Which language a text is in, by its first lines. Dumps get renamed, so names are not enough; and VS Code never looks
// at the first line of a `.txt`.

/** The languages of the server. */
export const LANGUAGES = ['xla-buffer-assignment', 'xla-memory-report', 'hlo'] as const;
export type Language = (typeof LANGUAGES)[number];

/** So many lines, and characters of these, are enough to tell. */
export const HEAD_LINES = 80;
export const HEAD = 16384;

/** What the text of a failure for want of memory holds, whatever a log puts before it: see docs/format.md. */
const FAILURE = new RegExp(
  [
    'Ran out of memory (in memory space |on \\S+, the total memory required )',
    'Allocation \\(size=.* would exceed memory ',
    'Out of memory (while trying to allocate|allocating) \\d',
    'Attempting to (allocate|reserve) .*\\. That was not possible',
    'Failed to allocate request for \\d',
    "Aborting compilation early because it's unlikely to have enough device memory\\. Requires ",
    // Without its last words it may be a warning, of a request that the program can do without.
    'Allocator \\(.* ran out of memory trying to allocate \\S+ \\(rounded to ',
    "Can't reduce memory use below .* by rematerialization",
    'Largest program allocations in ',
    'BufferAssignment OOM Debugging',
  ].join('|')
);

/** The language of a document that begins with `head`, if it is part of a dump or tells of a failure for want of memory. */
export function languageOf(head: string): Language | undefined {
  const text = head.replace(/^\uFEFF/, '').replace(/^(\s*\n|\*\*\* Begin .+ \*\*\*\r?\n)+/, '');
  if (/^(BufferAssignment:|Used values:|HloLiveRange (\(max \d+\):|not available))/.test(text)) return 'xla-buffer-assignment';
  if (/^Memory Space: .* \(color=\d+\)\r?$/m.test(firstLine(text))) return 'xla-memory-report';
  if (/^HloModule [^\s,]+(,|\r?$)/.test(firstLine(text))) return 'hlo';
  if (text.startsWith('Total bytes used: ')) {
    // The same line begins the values file and the older kind of report.
    if (/^Allocations sorted by size:/m.test(text)) return 'xla-memory-report';
    if (/^Used values:/m.test(text)) return 'xla-buffer-assignment';
  }
  return FAILURE.test(text) ? 'xla-memory-report' : undefined;
}

/** Whether `id` is a language of the server. */
export function isLanguage(id: string): id is Language {
  return (LANGUAGES as readonly string[]).includes(id);
}

/** What the names of the files of one dump have in common: see docs/format.md. */
export function stemOf(path: string): string {
  return path.replace(/(-buffer-assignment(-values)?|-live-range|-memory-usage-report)?\.txt$/, '');
}

function firstLine(text: string): string {
  return text.split('\n', 1)[0] ?? '';
}
