//! Lines of the text that a compiler or a runtime prints when memory runs out.
//!
//! The text comes out of logs, so anything may stand before a line: a date, `[rank0]:`, colours;
//! and behind it the end of a colour, a border, a `\`.

use std::sync::LazyLock;

use aho_corasick::AhoCorasick;

use super::LineKind;

/// How the sentence begins that says what ran out, and what else is in it.
const MESSAGES: [(&str, &str); 11] = [
    ("Ran out of memory in memory space ", ""),
    ("Ran out of memory on ", ""),
    ("Allocation (size=", " would exceed memory "),
    ("Out of memory while trying to allocate ", ""),
    ("Out of memory allocating ", ""),
    ("Attempting to allocate ", ". That was not possible"),
    ("Attempting to reserve ", ". That was not possible"),
    ("Failed to allocate request for ", ""),
    ("Allocator (", " ran out of memory trying to allocate "),
    (
        "Aborting compilation early because it's unlikely to have enough device memory. Requires ",
        "",
    ),
    ("Can't reduce memory use below ", " by rematerialization"),
];
/// The allocator of a GPU warns like this of requests that the program can do without.
const WARNING: &str = "The caller indicates that this is not a failure";
/// Behind this, in front of a copy in another form, stands what has been said already.
const COPY: &str = "[type.googleapis.com/";
const HEADINGS: [&str; 4] = [
    "BufferAssignment OOM Debugging.",
    "BufferAssignment stats:",
    "Largest program allocations in ",
    "Peak buffers:",
];
/// What an entry says of itself. `Size` stands alone below `Buffer 1:`.
const PROPERTIES: [&str; 10] = [
    "Operator: ",
    "Shape: ",
    "Entry Parameter Subshape: ",
    "Unpadded size: ",
    "Extra memory due to padding: ",
    "XLA label: ",
    "XLA Label: ",
    "Allocation type: ",
    "Tag: ",
    "Size: ",
];
/// What memory is used for: one line each, the size in a column.
const USES: [&str; 15] = [
    "reserved",
    "program",
    "arguments",
    "global",
    "scoped",
    "overlays",
    "HLO temp",
    "parameter allocation:",
    "constant allocation:",
    "maybe_live_out allocation:",
    "preallocated temp allocation:",
    "preallocated temp fragmentation:",
    "total allocation:",
    "total fragmentation:",
    "thread_local allocation:",
];

/// Which usage, output or requirement is meant: how such an amount begins, and what else is in it.
const AMOUNTS: [(&str, &str); 3] = [
    ("Total ", USAGE),
    ("Output size", ""),
    ("Program ", " requirement"),
];
/// What stands where a size would, as the arguments are not counted when a compiler stops early.
const UNKNOWN: &str = "unknown";
const SIZE: &str = ". Size: ";
const BUFFER: &str = "Buffer ";

/// How the sum of a memory space ends, which the message stands before, if it has not been cut off.
const USAGE: &str = " usage >=";

/// One of these is in each line that [`opens`] the text.
static OPENING: LazyLock<Words> = LazyLock::new(|| {
    let messages = MESSAGES.iter().map(|(message, _)| *message);
    Words::new(messages.chain(HEADINGS).chain([USAGE]))
});
/// One of these is in each line that is a [`part`].
static OWN: LazyLock<Words> = LazyLock::new(|| {
    let firsts = MESSAGES.iter().chain(&AMOUNTS).map(|(first, _)| *first);
    let others = HEADINGS.into_iter().chain(PROPERTIES).chain(USES);
    Words::new(firsts.chain(others).chain([SIZE, BUFFER]))
});

/// Words that are looked for all at once: logs are long, and nearly all of their lines have none.
struct Words {
    words: Vec<&'static str>,
    searcher: AhoCorasick,
}

impl Words {
    fn new(words: impl Iterator<Item = &'static str>) -> Self {
        let words: Vec<_> = words.collect();
        let searcher = AhoCorasick::new(&words).expect("a few short words");
        Self { words, searcher }
    }

    fn are_in(&self, line: &str) -> bool {
        self.searcher.is_match(line)
    }

    fn places(&self, line: &str) -> Places {
        let mut places = Places(Vec::new());
        for found in self.searcher.find_overlapping_iter(line) {
            let word = self.words[found.pattern()];
            if places.first(word).is_none() {
                places.0.push((word, found.start()));
            }
        }
        places
    }
}

/// The words of a line, with their first places.
struct Places(Vec<(&'static str, usize)>);

impl Places {
    fn first(&self, word: &str) -> Option<usize> {
        let mut places = self.0.iter();
        places
            .find(|(known, _)| *known == word)
            .map(|&(_, start)| start)
    }
}

/// What logs put directly before a line of the text: `[default0]:`, `[1,0]<stderr>:`, a border.
const BEFORE: [char; 7] = [']', ':', '>', '|', '│', '┃', '║'];
/// What they put behind one, besides blanks and colours.
const BEHIND: [char; 5] = ['\\', '|', '│', '┃', '║'];

/// A line, taken apart as far as its kind needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Part {
    pub(crate) kind: LineKind,
    /// Where the line's own text begins, behind what the log put before it.
    pub(crate) start: usize,
    /// The length of the words that say what the line is about.
    pub(crate) label: usize,
}

/// Whether `line` opens the text of a failure, wherever it stands.
pub(super) fn opens(line: &str) -> bool {
    OPENING.are_in(line)
        && part(line).is_some_and(|part| match part.kind {
            LineKind::OutOfMemoryMessage => true,
            LineKind::OutOfMemoryHeading => {
                let own = &line[..end(line)];
                !own.ends_with("stats:") && !own.ends_with("buffers:")
            }
            LineKind::OutOfMemoryAmount => line[part.start..][..part.label].ends_with(USAGE),
            _ => false,
        })
}

/// What `line` is in the text of a failure; `None` for a line of something else.
pub(crate) fn part(line: &str) -> Option<Part> {
    if !OWN.are_in(line) {
        return None;
    }
    let line = &line[..end(line)];
    let places = OWN.places(line);
    let found = |kind, start, label| Some(Part { kind, start, label });
    for (message, further) in MESSAGES {
        if let Some(start) = places.first(message)
            && line[start..].contains(further)
            && !line.contains(WARNING)
            && !line[..start].contains(COPY)
        {
            return found(
                LineKind::OutOfMemoryMessage,
                start,
                message.trim_end().len(),
            );
        }
    }
    if let Some((heading, start)) = first_word(line, &places, &HEADINGS) {
        return found(
            LineKind::OutOfMemoryHeading,
            start,
            heading.trim_end().len(),
        );
    }
    if let Some(start) = numbered(line, &places) {
        return found(LineKind::OutOfMemoryEntry, start, 0);
    }
    if let Some((property, start)) = first_word(line, &places, &PROPERTIES) {
        return found(LineKind::OutOfMemoryProperty, start, property.len() - 2);
    }
    amount(line, &places)
}

/// Where the text of `line` itself ends, before what the log put behind it.
pub(crate) fn end(line: &str) -> usize {
    let mut own = line;
    loop {
        let shorter = own.trim_end_matches(|char| is_blank(char) || BEHIND.contains(&char));
        let shorter = without_colour(shorter).unwrap_or(shorter);
        if shorter.len() == own.len() {
            return own.len();
        }
        own = shorter;
    }
}

fn is_blank(char: char) -> bool {
    matches!(char, ' ' | '\t' | '\r' | '\u{a0}')
}

/// `text` without the terminal's code that it ends in, if it does: `ESC[1;31m`.
fn without_colour(text: &str) -> Option<&str> {
    let code = text.strip_suffix(|last: char| last.is_ascii_alphabetic())?;
    code.trim_end_matches(|char: char| char.is_ascii_digit() || char == ';')
        .strip_suffix("\u{1b}[")
}

/// The word that stands first in `line`, at its start or behind a blank.
fn first_word<'w>(line: &str, places: &Places, words: &[&'w str]) -> Option<(&'w str, usize)> {
    let at = |word: &&'w str| {
        let start = places.first(word)?;
        is_free(&line[..start]).then_some((*word, start))
    };
    words.iter().filter_map(at).min_by_key(|&(_, start)| start)
}

/// Whether a line of the text may begin behind `before`.
fn is_free(before: &str) -> bool {
    before.is_empty()
        || before.ends_with(|char| is_blank(char) || BEFORE.contains(&char))
        || without_colour(before).is_some()
}

/// How wide the blanks are that are the first of `text`, of tabs at least so much.
fn width(text: impl Iterator<Item = char>) -> usize {
    text.take_while(|&char| is_blank(char))
        .map(|char| if char == '\t' { 2 } else { 1 })
        .sum()
}

/// Where `1. Size: ` or `Buffer 1:` begins.
fn numbered(line: &str, places: &Places) -> Option<usize> {
    if let Some(behind) = places.first(SIZE) {
        let digits = line[..behind].bytes().rev().take_while(u8::is_ascii_digit);
        let start = behind - digits.count();
        return (start < behind && is_free(&line[..start])).then_some(start);
    }
    let start = places
        .first(BUFFER)
        .filter(|&start| is_free(&line[..start]))?;
    let number = line[start + BUFFER.len()..].strip_suffix(':')?;
    let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then_some(start)
}

/// `    reserved        258.00M`, `Total hbm usage >= 20.25G:`, `Output size 512B; ...`
fn amount(line: &str, places: &Places) -> Option<Part> {
    let found = |start, label| {
        Some(Part {
            kind: LineKind::OutOfMemoryAmount,
            start,
            label,
        })
    };
    for (first, last) in AMOUNTS {
        if let Some(start) = places.first(first).filter(|&start| is_free(&line[..start]))
            && let Some(end) = line[start + first.len()..].find(last)
            && !line[start + first.len()..][..end].contains(' ')
        {
            let label = first.len() + end + last.len();
            let size = line[start + label..].trim_start();
            return found(start, label).filter(|_| is_size(size));
        }
    }
    let is_row = |word: &str, start: usize| {
        let (before, rest) = (&line[..start], &line[start + word.len()..]);
        let size = rest.trim_start_matches(is_blank);
        let gap = if word.ends_with(':') { 1 } else { 2 };
        // No sentence has two blanks.
        let is_column = match width(before.chars().rev()) {
            0 => is_free(before),
            indent => indent > 1,
        };
        is_column && is_size(size) && width(rest.chars()) >= gap
    };
    USES.iter().find_map(|word| {
        let first = places.first(word)?;
        let mut starts = line[first..]
            .match_indices(word)
            .map(|(start, _)| first + start);
        let start = starts.find(|&start| is_row(word, start))?;
        found(start, word.len())
    })
}

/// Whether `text` begins with a size, or says that it is not known.
fn is_size(text: &str) -> bool {
    text.starts_with(|next: char| next.is_ascii_digit()) || text.starts_with(UNKNOWN)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(line: &str, kind: LineKind, label: &str) {
        let part = part(line).unwrap_or_else(|| panic!("no part: {line}"));
        assert_eq!(part.kind, kind, "{line}");
        assert_eq!(&line[part.start..part.start + part.label], label, "{line}");
    }

    #[test]
    fn whatever_a_log_puts_before_a_line_is_passed_over() {
        use LineKind::{
            OutOfMemoryAmount as Amount, OutOfMemoryEntry as Entry, OutOfMemoryHeading as Heading,
            OutOfMemoryMessage as Message, OutOfMemoryProperty as Property,
        };
        for before in [
            "",
            "[rank0]: ",
            "\u{1b}[36m(W pid=4)\u{1b}[0m ",
            "I0101 x.cc:9] ",
            "[default0]:",
            "[1,0]<stderr>:",
            "2026-01-01T00:00:00.0Z ##[error]",
            "\u{1b}[1m\u{1b}[31m",
            "│",
            "\t",
            "\u{a0}\u{a0}",
        ] {
            let check = |line: &str, kind, label| {
                for behind in [
                    "",
                    " ",
                    "\r",
                    " \\",
                    " │",
                    "\u{1b}[0m",
                    " \u{1b}[0m\u{1b}[K\t",
                ] {
                    let whole = format!("{before}{line}{behind}");
                    check(&whole, kind, label);
                    assert_eq!(end(&whole), before.len() + line.len(), "{whole}");
                }
            };
            check(
                "E: RESOURCE_EXHAUSTED: Ran out of memory on HBM, the",
                Message,
                "Ran out of memory on",
            );
            check(
                "Allocation (size=4) would exceed memory (size=2)",
                Message,
                "Allocation (size=",
            );
            check(
                "  Largest program allocations in hbm:",
                Heading,
                "Largest program allocations in",
            );
            check("  12. Size: 4B", Entry, "");
            check("\tBuffer 3:", Entry, "");
            check("     Shape: f32[1]", Property, "Shape");
            check(
                "\t\tEntry Parameter Subshape: f32[1]",
                Property,
                "Entry Parameter Subshape",
            );
            check("     Unpadded size: 4B", Property, "Unpadded size");
            check("Total hbm usage >= 20.25G:", Amount, "Total hbm usage >=");
            check(
                "Program hbm requirement 16.0K:",
                Amount,
                "Program hbm requirement",
            );
            check("    HLO temp         24.00G (1%", Amount, "HLO temp");
            check("\tprogram\t33.54G", Amount, "program");
            check("\u{a0}\u{a0}reserved \u{a0} 258.00M", Amount, "reserved");
            check("Output size 0B; shares 0B with", Amount, "Output size");
            check(
                "Attempting to reserve 9.17G at the bottom of memory. That was not possible. There are",
                Message,
                "Attempting to reserve",
            );
            check(
                "Allocator (GPU_0_bfc) ran out of memory trying to allocate 2.00GiB (rounded to 2147483648)requested",
                Message,
                "Allocator (",
            );
            check(
                "  total allocation:  301.25MiB",
                Amount,
                "total allocation:",
            );
        }
    }

    #[test]
    fn sentences_of_a_log_are_none_of_it() {
        for line in [
            "",
            "Traceback (most recent call last):",
            "Allocation (size=4) succeeded",
            "Attempting to allocate 4 workers",
            "Allocator (GPU_0_bfc) ran out of memory trying to allocate 3.37GiB with freed_by_count=0. The \
             caller indicates that this is not a failure, but this may mean that there could be",
            "the program 12 times",
            "x=Shape: 3",
            "Buffer x:",
            "Total time usage: much",
        ] {
            assert_eq!(part(line), None, "{line}");
        }
        assert!(opens("Ran out of memory on HBM, the total"));
        // What the editors know such a text by.
        let first_lines = include_str!("../../../tests/fixtures/failures.txt");
        let known: Vec<&str> = MESSAGES
            .iter()
            .map(|(message, _)| *message)
            .chain(HEADINGS)
            .filter(|word| first_lines.contains(word))
            .collect();
        assert_eq!(known.len(), MESSAGES.len() + 2, "{known:?}");
        for line in first_lines.lines() {
            assert!(opens(line), "{line}");
        }
        assert!(!opens("Peak buffers:"));
        assert!(opens("Total hbm usage >= 20.25G:"));
        assert!(!opens("    arguments        20.00G "));
        assert!(!opens("     Shape: f32[1]"));
    }
}
