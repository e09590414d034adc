//! What a line is, judged by its start and by what came before it.
//!
//! A dump is a format of lines. The [`Mode`] is all that reading has to remember from one line to
//! the next, so a document can be read from the start of any block whose mode is known.

pub(crate) mod out_of_memory;

/// Where in the document reading is: the only state carried from line to line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Mode {
    /// Nothing has been recognised yet.
    Start,
    /// In section A, below `BufferAssignment:`.
    Allocations,
    /// In section C, before a value's header or just behind it.
    Values,
    /// Below ` positions:`.
    Positions,
    /// Below ` uses:`.
    Uses,
    /// Behind ` from instruction:`, where the instruction may go on.
    Instruction,
    /// In section D, before its first part.
    LiveRange,
    /// Below `  InstructionSequence:`.
    Steps,
    /// Below `  BufferLiveRange:`.
    Ranges,
    /// Below `  Live ranges at N (peak):`.
    Peak,
    /// In the stack trace breakdown.
    Tree,
    /// Inside a label of the stack trace breakdown that holds a line break.
    TreeLabel,
    /// In a memory-usage report.
    Report,
    /// Behind a line of an HLO module's header that the next one continues.
    Header,
    /// In an HLO module, outside its computations.
    Module,
    /// In one of the tables of a module's header.
    Table,
    /// Behind the beginning of a computation's header, whose `{` is on a line to come.
    Signature,
    /// Inside a computation.
    Computation,
    /// Inside so many braces of an instruction there that stay open at the end of a line.
    Group(u8),
    /// In a string within so many of them.
    Quoted(u8),
    /// In the text of a failure for want of memory, where most lines may be something else.
    OutOfMemory,
    /// In text that is recognised, but not read.
    Foreign,
}

/// The kind of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum LineKind {
    Blank,
    AssignmentHeading,
    AllocationHeader,
    ValueLine,
    Total,
    ValuesHeading,
    ValueHeader,
    PositionsHeading,
    Position,
    UsesHeading,
    Use,
    FromInstruction,
    /// The rest of an instruction or label that spans physical lines.
    Continuation,
    LiveRangeHeading,
    LiveRangeUnavailable,
    StepsHeading,
    Step,
    RangesHeading,
    Range,
    PeakHeading,
    PeakUnknown,
    PeakLine,
    TreeHeading,
    TreeLine,
    SpaceHeading,
    SpaceTotal,
    ReportHeading,
    ReportText,
    /// `The rest N ... are not shown.`
    ReportRest,
    ReportAllocation,
    ReportRow,
    ModuleLine,
    TableHeading,
    TableRow,
    ComputationHeader,
    Instruction,
    ComputationEnd,
    Marker,
    OutOfMemoryMessage,
    OutOfMemoryHeading,
    OutOfMemoryAmount,
    OutOfMemoryEntry,
    OutOfMemoryProperty,
    Foreign,
    Unknown,
}

/// Judges `line` (without its line end) in `mode`.
pub(crate) fn classify(mode: Mode, line: &str) -> LineKind {
    match mode {
        Mode::Foreign if !is_marker(line) && !out_of_memory::opens(line) => {
            return LineKind::Foreign;
        }
        Mode::OutOfMemory => {
            return out_of_memory::part(line).map_or(LineKind::Foreign, |part| part.kind);
        }
        Mode::Computation | Mode::Group(_) | Mode::Quoted(_) | Mode::Signature => {
            return in_computation(mode, line);
        }
        Mode::Header if !restarts(line) => return LineKind::Continuation,
        Mode::Tree | Mode::TreeLabel => {
            if starts_tree_line(mode, line) {
                return LineKind::TreeLine;
            }
            if mode == Mode::TreeLabel && !restarts(line) {
                return LineKind::Continuation;
            }
        }
        Mode::Instruction => {
            let kind = anywhere(mode, line);
            return match kind {
                LineKind::Blank
                | LineKind::ValueHeader
                | LineKind::PositionsHeading
                | LineKind::UsesHeading
                | LineKind::FromInstruction
                | LineKind::LiveRangeHeading
                | LineKind::LiveRangeUnavailable
                | LineKind::AssignmentHeading
                | LineKind::Marker => kind,
                _ => LineKind::Continuation,
            };
        }
        _ => {}
    }
    match anywhere(mode, line) {
        LineKind::Unknown if out_of_memory::opens(line) => {
            out_of_memory::part(line).map_or(LineKind::Unknown, |part| part.kind)
        }
        kind => kind,
    }
}

/// The mode behind a line of `kind` read in `mode`.
pub(crate) fn mode_after(mode: Mode, kind: LineKind, line: &str) -> Mode {
    match kind {
        LineKind::AssignmentHeading | LineKind::AllocationHeader | LineKind::ValueLine => {
            Mode::Allocations
        }
        LineKind::Total if mode == Mode::Report => Mode::Report,
        LineKind::Total | LineKind::ValuesHeading | LineKind::ValueHeader => Mode::Values,
        LineKind::PositionsHeading | LineKind::Position => Mode::Positions,
        LineKind::UsesHeading | LineKind::Use => Mode::Uses,
        LineKind::FromInstruction => Mode::Instruction,
        LineKind::LiveRangeHeading | LineKind::LiveRangeUnavailable => Mode::LiveRange,
        LineKind::StepsHeading | LineKind::Step => Mode::Steps,
        LineKind::RangesHeading | LineKind::Range => Mode::Ranges,
        LineKind::PeakHeading | LineKind::PeakUnknown | LineKind::PeakLine => Mode::Peak,
        LineKind::TreeHeading => Mode::Tree,
        LineKind::TreeLine => tree_mode(line),
        LineKind::Continuation if mode == Mode::TreeLabel => tree_mode(line),
        LineKind::SpaceHeading
        | LineKind::SpaceTotal
        | LineKind::ReportHeading
        | LineKind::ReportText
        | LineKind::ReportRest
        | LineKind::ReportAllocation
        | LineKind::ReportRow => Mode::Report,
        LineKind::ModuleLine => behind_module_line(line),
        LineKind::Continuation if mode == Mode::Header => behind_module_line(line),
        LineKind::ComputationEnd => Mode::Module,
        LineKind::TableHeading | LineKind::TableRow => Mode::Table,
        LineKind::ComputationHeader => behind_signature(line),
        LineKind::Continuation if mode == Mode::Signature => behind_signature(line),
        // Any other has closed what it opens, or goes on with more that it opens.
        LineKind::Instruction if line.ends_with('{') => group(0, false, line),
        LineKind::Instruction => Mode::Computation,
        LineKind::OutOfMemoryMessage
        | LineKind::OutOfMemoryHeading
        | LineKind::OutOfMemoryAmount
        | LineKind::OutOfMemoryEntry
        | LineKind::OutOfMemoryProperty => Mode::OutOfMemory,
        LineKind::Foreign if mode == Mode::OutOfMemory => mode,
        LineKind::Foreign => Mode::Foreign,
        LineKind::Marker => mode_behind_marker(line),
        LineKind::Blank => match mode {
            Mode::Positions | Mode::Uses | Mode::Instruction => Mode::Values,
            Mode::Table if !is_comment(line) => Mode::Module,
            Mode::Signature => Mode::Module,
            _ => mode,
        },
        LineKind::Continuation => match mode {
            Mode::Computation => group(0, false, line),
            Mode::Group(open) => group(open, false, line),
            Mode::Quoted(open) => group(open, true, line),
            _ => mode,
        },
        LineKind::Unknown => mode,
    }
}

/// Behind a line of an instruction in `open` braces, of which it opens and closes some, but not in strings nor behind `//`.
fn group(mut open: u8, mut in_string: bool, line: &str) -> Mode {
    let mut is_escaped = false;
    let mut bytes = line.bytes().peekable();
    while let Some(byte) = bytes.next() {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' => is_escaped = in_string,
            b'"' => in_string = !in_string,
            b'{' if !in_string => open = open.saturating_add(1),
            b'}' if !in_string => open = open.saturating_sub(1),
            b'/' if !in_string && bytes.peek() == Some(&b'/') => break,
            _ => {}
        }
    }
    match open {
        open if in_string => Mode::Quoted(open),
        0 => Mode::Computation,
        open => Mode::Group(open),
    }
}

fn anywhere(mode: Mode, line: &str) -> LineKind {
    let Some(first) = line.bytes().next() else {
        return LineKind::Blank;
    };
    if matches!(mode, Mode::Start | Mode::Module | Mode::Table) && is_comment(line) {
        return LineKind::Blank;
    }
    match first {
        b' ' | b'\t' => indented(mode, line),
        b'<' if starts_value_header(line) => LineKind::ValueHeader,
        b'a' if line.starts_with("allocation ") => {
            if mode == Mode::Report {
                LineKind::ReportAllocation
            } else {
                LineKind::AllocationHeader
            }
        }
        b'B' if is_heading(line, "BufferAssignment:") => LineKind::AssignmentHeading,
        b'T' if line.starts_with("Total bytes used: ") => LineKind::Total,
        b'T' if line.starts_with("Total bytes: ") => LineKind::SpaceTotal,
        b'T' if line.starts_with("The rest ") => LineKind::ReportRest,
        b'U' if is_heading(line, "Used values:") => LineKind::ValuesHeading,
        b'H' if line.starts_with("HloLiveRange (max ") => LineKind::LiveRangeHeading,
        b'H' if line.starts_with("HloLiveRange not available") => LineKind::LiveRangeUnavailable,
        b'H' if line.starts_with("HloModule ") => LineKind::ModuleLine,
        b'M' if line.starts_with("Memory Space: ") => LineKind::SpaceHeading,
        b'A' if line.starts_with("Allocations sorted by size") => LineKind::ReportHeading,
        b'c' if line.starts_with("cumulative_size;") => LineKind::ReportText,
        b'-' if line.bytes().all(|byte| byte == b'-') && line.len() > 3 => LineKind::ReportText,
        b'*' if is_marker(line) => LineKind::Marker,
        b'm' if line.starts_with("memory_space_allocation_entries {") => LineKind::Foreign,
        b'g' if mode == Mode::Start && line.starts_with("goo.gle/debug") => LineKind::Foreign,
        _ => in_module(mode, line),
    }
}

fn in_module(mode: Mode, line: &str) -> LineKind {
    match mode {
        Mode::Module | Mode::Table => {
            if matches!(
                line,
                "FileNames" | "FunctionNames" | "FileLocations" | "StackFrames"
            ) {
                LineKind::TableHeading
            } else if mode == Mode::Table && line.starts_with(|first: char| first.is_ascii_digit())
            {
                LineKind::TableRow
            } else if opens_computation(line) || starts_signature(line) {
                LineKind::ComputationHeader
            } else {
                LineKind::Unknown
            }
        }
        _ => LineKind::Unknown,
    }
}

/// People break a module's header behind commas.
fn behind_module_line(line: &str) -> Mode {
    if line.trim_end().ends_with([',', '{']) {
        Mode::Header
    } else {
        Mode::Module
    }
}

fn behind_signature(line: &str) -> Mode {
    if opens_computation(line) {
        Mode::Computation
    } else {
        Mode::Signature
    }
}

fn opens_computation(line: &str) -> bool {
    before_comment(line).ends_with('{')
}

/// `ENTRY %main (a: f32[2])` and no `{`: people begin the next line with what is missing.
fn starts_signature(line: &str) -> bool {
    let behind = line
        .strip_prefix("ENTRY")
        .filter(|text| text.is_empty() || text.starts_with([' ', '\t']));
    let text = behind.unwrap_or(line).trim_start();
    let text = text.strip_prefix('%').unwrap_or(text);
    let name = text.bytes().take_while(|&byte| is_name_byte(byte)).count();
    let parameters = text[name..].trim_start();
    match behind {
        Some(_) => parameters.is_empty() || parameters.starts_with('('),
        None if name == 0 => false,
        None => parameters.is_empty() || parameters.starts_with('(') && parameters.contains(": "),
    }
}

fn indented(mode: Mode, line: &str) -> LineKind {
    if line.starts_with(" value:") {
        return LineKind::ValueLine;
    }
    if mode == Mode::Report {
        let text = line.trim_start();
        return if text.is_empty() {
            LineKind::Blank
        } else if text.starts_with("The rest ") {
            LineKind::ReportRest
        } else if text.starts_with("cumulative_size;") || text.bytes().all(|byte| byte == b'-') {
            LineKind::ReportText
        } else if text.contains("%);") {
            LineKind::ReportRow
        } else {
            LineKind::Unknown
        };
    }
    match line.as_bytes().get(1) {
        Some(b'p') if is_heading(line, " positions:") => return LineKind::PositionsHeading,
        Some(b'u') if line.starts_with(" uses") => return LineKind::UsesHeading,
        Some(b'f') if line.starts_with(" from instruction:") => return LineKind::FromInstruction,
        _ => {}
    }
    let in_live_range = matches!(
        mode,
        Mode::Start
            | Mode::LiveRange
            | Mode::Steps
            | Mode::Ranges
            | Mode::Peak
            | Mode::Tree
            | Mode::TreeLabel
    );
    match mode {
        Mode::Steps | Mode::Ranges | Mode::Peak if line.starts_with("    ") => {
            return of_live_range(mode, line);
        }
        Mode::Positions if line.starts_with("  ") => {
            let comma = memchr::memchr(b',', line.as_bytes());
            let is_use = comma.is_some_and(|comma| line[comma..].starts_with(", operand "));
            return if is_use {
                LineKind::Use
            } else {
                LineKind::Position
            };
        }
        Mode::Uses if line.starts_with("  ") => return LineKind::Use,
        _ => {}
    }
    if in_live_range && let Some(text) = line.strip_prefix("  ") {
        if is_heading(text, "InstructionSequence:") {
            return LineKind::StepsHeading;
        } else if is_heading(text, "BufferLiveRange:") {
            return LineKind::RangesHeading;
        } else if text.starts_with("Live ranges at ") {
            return LineKind::PeakHeading;
        } else if text.starts_with("Peak memory could not") {
            return LineKind::PeakUnknown;
        } else if text.starts_with("Stack trace breakdown") {
            return LineKind::TreeHeading;
        }
    }
    let text = line.trim_start_matches([' ', '\t']);
    match mode {
        _ if text.is_empty() => LineKind::Blank,
        // People indent a module as a whole.
        Mode::Start | Mode::Module | Mode::Table if text.starts_with("HloModule ") => {
            LineKind::ModuleLine
        }
        _ => in_module(mode, text),
    }
}

/// A line of section D indented by four blanks. It is mostly what the mode says; where the heading before it is
/// damaged, it tells by itself.
fn of_live_range(mode: Mode, line: &str) -> LineKind {
    let ends_in_digit = line.ends_with(|last: char| last.is_ascii_digit());
    let text = &line[4..];
    match mode {
        Mode::Steps if text.starts_with(|first: char| first.is_ascii_digit()) => LineKind::Step,
        Mode::Ranges if ends_in_digit => LineKind::Range,
        Mode::Steps if ends_in_digit && text.contains("}:") => LineKind::Range,
        Mode::Steps | Mode::Ranges if text.contains(": ") && text.contains(" bytes") => {
            LineKind::PeakLine
        }
        Mode::Steps => LineKind::Step,
        Mode::Ranges => LineKind::Range,
        _ if text.contains(", remaining: ") => LineKind::TreeLine,
        _ => LineKind::PeakLine,
    }
}

/// A line below a computation's header, by people with any indentation.
fn in_computation(mode: Mode, line: &str) -> LineKind {
    let text = line.trim_start_matches([' ', '\t']);
    if let Some(rest) = text.strip_prefix('}')
        && !matches!(mode, Mode::Group(_) | Mode::Quoted(_))
        && (before_comment(rest).is_empty() || rest.starts_with(", execution_thread"))
    {
        return LineKind::ComputationEnd;
    }
    if starts_instruction(text) {
        return LineKind::Instruction;
    }
    if is_comment(text) || mode == Mode::Signature && text.is_empty() {
        return LineKind::Blank;
    }
    if restarts(line) {
        anywhere(Mode::Module, line)
    } else {
        LineKind::Continuation
    }
}

/// What stands before a comment, and the blanks before that.
pub(crate) fn before_comment(line: &str) -> &str {
    line.split("//").next().unwrap_or_default().trim_end()
}

/// A line that people write between instructions; no compiler does.
pub(crate) fn is_comment(line: &str) -> bool {
    let text = line.trim_start();
    text.starts_with("//") || text.starts_with("/*") && text.trim_end().ends_with("*/")
}

/// `[ROOT ][%]NAME = `, where people leave out one of the blanks; a broken line may go on with `key=value`.
fn starts_instruction(text: &str) -> bool {
    let root = text.strip_prefix("ROOT");
    let text = root
        .filter(|it| it.starts_with([' ', '\t']))
        .unwrap_or(text);
    let text = text.trim_start_matches([' ', '\t']);
    let (text, has_percent) = match text.strip_prefix('%') {
        Some(text) => (text, true),
        None => (text, false),
    };
    let name = text.bytes().take_while(|&byte| is_name_byte(byte)).count();
    let behind = text[name..].trim_start_matches([' ', '\t']);
    name > 0 && (has_percent || behind.len() < text.len() - name) && behind.starts_with('=')
}

fn starts_value_header(line: &str) -> bool {
    let digits = line.bytes().skip(1).take_while(u8::is_ascii_digit).count();
    digits > 0 && line.as_bytes().get(1 + digits) == Some(&b' ')
}

/// Whether `line` is `heading`, with blanks behind it or none.
pub(crate) fn is_heading(line: &str, heading: &str) -> bool {
    let behind = line.strip_prefix(heading);
    behind.is_some_and(|behind| behind.trim_end().is_empty())
}

/// Lines that begin something new whatever was before: no label or raw JSON text is taken for them.
fn restarts(line: &str) -> bool {
    is_heading(line, "BufferAssignment:") || line.starts_with("HloModule ") || is_marker(line)
}

fn is_marker(line: &str) -> bool {
    (line.starts_with("*** Begin ") || line.starts_with("*** End ")) && line.ends_with(" ***")
}

/// A compiler writes all files of all programs to its standard output, and between them is what the
/// program prints. Together the sections A, C and D are as good as the combined form; the report, which has
/// headings of theirs, and the HLO texts are files of their own.
fn mode_behind_marker(line: &str) -> Mode {
    const READ: [&str; 3] = [
        "-buffer-assignment.txt",
        "-buffer-assignment-values.txt",
        "-live-range.txt",
    ];
    let name = line.strip_prefix("*** Begin ");
    let name = name.and_then(|name| name.strip_suffix(" ***"));
    let is_read = name.is_some_and(|name| READ.iter().any(|suffix| name.ends_with(suffix)));
    if is_read { Mode::Start } else { Mode::Foreign }
}

fn starts_tree_line(mode: Mode, line: &str) -> bool {
    let Some(text) = line.strip_prefix("    ") else {
        return false;
    };
    if !text.starts_with(' ') {
        // The root. A label's continuation may be indented like it, so it only counts where a
        // line is expected.
        return mode == Mode::Tree && !text.is_empty();
    }
    let Some(mut text) = text.strip_prefix("  ") else {
        return false;
    };
    while let Some(rest) = text
        .strip_prefix("│   ")
        .or_else(|| text.strip_prefix("    "))
    {
        text = rest;
    }
    text.starts_with("├── ") || text.starts_with("└── ")
}

/// Labels are printed raw, so a line of the tree is complete only with its fixed tail.
fn tree_mode(line: &str) -> Mode {
    if line.ends_with(" bytes)") {
        Mode::Tree
    } else {
        Mode::TreeLabel
    }
}

/// Whether names of instructions and computations have such bytes.
pub fn is_name_byte(byte: u8) -> bool {
    const IN_NAMES: [bool; 256] = {
        let mut table = [false; 256];
        let mut byte = 0;
        while byte < 128 {
            let char = byte as u8;
            table[byte] = char.is_ascii_alphanumeric() || matches!(char, b'_' | b'.' | b'-');
            byte += 1;
        }
        table
    };
    IN_NAMES[byte as usize]
}

/// Where a value's header begins that stands run-on at the end of an instruction's last line, as
/// jaxlib 0.4.24 - 0.4.35 print it. To be asked only where the next line is ` positions:`.
pub(crate) fn run_on_header(line: &str) -> Option<usize> {
    let start = line.strip_suffix('>')?.rfind('<')?;
    starts_value_header(&line[start..]).then_some(start)
}
