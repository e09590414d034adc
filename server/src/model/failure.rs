//! What a compiler or a runtime says when memory runs out: the message, the sums, the largest
//! allocations. Sizes are as printed, rounded; a log may hold several failures.

use std::ops::{Range, RangeInclusive};

use buflens_syntax::facts::{OutOfMemory, OutOfMemoryKind as Kind, Span};
use buflens_syntax::lexer::{Token, tokens};
use buflens_syntax::{Document, is_name_byte};

use super::bytes::human;
use super::source::unescaped;

/// A size as it is printed: `15.75G`, `2.00GiB`, `512B`, or exact bytes without a unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Printed<'d>(pub &'d str);

impl Printed<'_> {
    /// Bytes, as far as the digits tell; `None` if it is no size.
    pub fn bytes(self) -> Option<u64> {
        let unit = self.0.find(|char: char| char.is_ascii_alphabetic());
        let (number, unit) = self.0.split_at(unit.unwrap_or(self.0.len()));
        let (whole, decimals) = number.split_once('.').unwrap_or((number, ""));
        let digits: u128 = format!("{whole}{decimals}").parse().ok()?;
        let power = match unit.bytes().next() {
            None | Some(b'B') => 0,
            Some(letter) => 1 + b"KMGTPE".iter().position(|&it| it == letter)?,
        };
        let scale = 10_u128.checked_pow(u32::try_from(decimals.len()).ok()?)?;
        let bytes = digits.checked_mul(1 << (10 * power))? / scale;
        Some(u64::try_from(bytes).unwrap_or(u64::MAX))
    }

    /// The least and the most bytes that XLA prints so. `None` if it prints none so.
    pub fn range(self) -> Option<RangeInclusive<u64>> {
        let near = self.bytes()?;
        if self.is_of(near) && (near < 1024 || self.0.parse() == Ok(near)) {
            return Some(near..=near);
        }
        // Before its last division XLA drops what is below this unit.
        let mut unit = 1;
        while near / unit >= 1024 * 1024 {
            unit *= 1024;
        }
        // 1024.0K is a little less than it says.
        self.in_units(unit, near)
            .or_else(|| self.in_units(unit / 1024, near))
    }

    /// The bytes near `near` of which XLA prints so what is left in `unit`.
    fn in_units(self, unit: u64, near: u64) -> Option<RangeInclusive<u64>> {
        let middle = near.checked_div(unit)?;
        // The last digit printed is a tenth or a hundredth, and rounded.
        let around = middle.saturating_sub(128)..=middle.saturating_add(128);
        let mut fitting = around.filter(|rest| self.is_of(rest.saturating_mul(unit)));
        let least = fitting.next()?;
        let most = fitting.next_back().unwrap_or(least);
        Some(least * unit..=most.saturating_mul(unit).saturating_add(unit - 1))
    }

    /// Whether `bytes` are printed so.
    pub fn is_of(self, bytes: u64) -> bool {
        let bare = |text: &str| text.strip_suffix("iB").unwrap_or(text).to_owned();
        self.0.parse() == Ok(bytes) || bare(self.0) == bare(&human(bytes))
    }
}

/// What form the message has, which says what its first size is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// `Ran out of memory in memory space hbm. Used 24.00G of 15.75G hbm.`: all that was counted.
    Used,
    /// `Ran out of memory in memory space vmem while allocating on stack for %x = ... Scoped allocation with size 64.00M
    /// and limit 16.00M exceeded scoped vmem limit by 48.00M.`: what one instruction takes while it runs.
    Scoped,
    /// `Ran out of memory on HBM, the total memory required for HLO temporaries (20.00G)`: whatever
    /// it says, all allocations of the memory space.
    Total,
    /// `Allocation (size=N) would exceed memory (size=M)`: one allocation of a kernel.
    Allocation,
    /// `Out of memory while trying to allocate N bytes.`, `Attempting to allocate 2.50G. That was not
    /// possible. There are 1.20G free.`: one request at run time.
    Request,
    /// `Can't reduce memory use below 48.05GiB (51591333821 bytes) by rematerialization; only reduced to 181.00GiB
    /// (194347270464 bytes)`: what is alive at once, a warning.
    Rematerialization,
}

/// The sentence that says what ran out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Message<'d> {
    /// Its form.
    pub form: Form,
    /// The sentence, without what the log puts before it.
    pub text: &'d str,
    /// The memory space's name, where it has one.
    pub space: Option<&'d str>,
    /// What was wanted.
    pub wanted: Option<Printed<'d>>,
    /// What there is; at run time, what of it is free; of a warning, what the compiler allows.
    pub available: Option<Printed<'d>>,
    /// By how much more is wanted than there is.
    pub exceeded: Option<Printed<'d>>,
    /// The program, which newer compilers name.
    pub module: Option<&'d str>,
    /// The kernel's instruction, which an allocation's message ends with.
    pub kernel: Option<&'d str>,
}

impl<'d> Message<'d> {
    /// The value whose allocation failed, by name and index, as the tag of an allocation's message tells it:
    /// `tag = 'output of fusion.2@{1}'`.
    pub fn tagged(&self) -> Option<(&'d str, &'d str)> {
        let (_, behind) = self.text.split_once("tag = 'output of ")?;
        let (tag, _) = behind.split_once('\'')?;
        Some(tag.split_once('@').unwrap_or((tag, "{}")))
    }
}

/// Whether a message names the memory of arguments and results so, not that of kernels.
pub fn is_main_memory(name: &str) -> bool {
    name.eq_ignore_ascii_case("hbm")
}

/// Whether a message names a memory of values so, that of the host included, not one that kernels have for themselves.
pub fn holds_values(name: &str) -> bool {
    is_main_memory(name) || name.eq_ignore_ascii_case("host")
}

/// Whether a message names the memory of semaphores so, as kernels wait for.
pub fn is_semaphores(name: &str) -> bool {
    name.eq_ignore_ascii_case("sflag")
}

/// A line of the sums: `arguments        20.00G`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Amount<'d> {
    /// What it is the sum of.
    pub label: &'d str,
    /// The line's sizes in order; the first is the sum. None where it is not known.
    pub sizes: Vec<Printed<'d>>,
    /// Whether the sum is the least that it can be.
    pub is_at_least: bool,
}

/// One of the largest allocations.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Entry<'d> {
    /// Its lines, in bytes from the start of the document.
    pub range: Range<u32>,
    /// The end of its first line.
    pub head: u32,
    /// Its number in the list.
    pub number: u64,
    /// Bytes that it takes.
    pub size: Option<Printed<'d>>,
    /// The shape, on TPUs with its layout.
    pub shape: Option<&'d str>,
    /// The trace path.
    pub op_name: Option<String>,
    /// The line of source, `model.py:12`.
    pub source: Option<String>,
    /// The row of the HLO text's table of stack frames that tells the source, in newer texts.
    pub stack_frame: Option<u64>,
    /// Bytes without padding.
    pub unpadded: Option<Printed<'d>>,
    /// Bytes of padding.
    pub padding: Option<Printed<'d>>,
    /// What XLA calls it: the instruction, its opcode, or words.
    pub label: Option<&'d str>,
    /// The instruction's name, where the label has it.
    pub name: Option<&'d str>,
    /// `HLO temp`, `global` and the like.
    pub kind: Option<&'d str>,
    /// What a kernel has it for.
    pub tag: Option<&'d str>,
    /// Whether it is a parameter of the program, as the list of a GPU tells.
    pub is_parameter: bool,
    /// So many of [`IN_ORDER`] come no more.
    told: usize,
    /// Where the last line ends that may be of it, in bytes from the start of the document.
    read: u32,
    /// Whether somebody has left lines out behind it, and says so.
    is_cut: bool,
}

/// What an entry tells of itself, in this order, and what else anywhere.
const IN_ORDER: [&[&str]; 8] = [
    &["Size"],
    &["Operator"],
    &["XLA Label"],
    &["Shape", "Entry Parameter Subshape"],
    &["Unpadded size"],
    &["Extra memory due to padding"],
    &["XLA label"],
    &["Allocation type"],
];

impl Entry<'_> {
    /// Whether a line about `label` can be of this entry, which has told it then. Else it is of another entry, whose beginning
    /// has been cut off, or a line of the log that looks so.
    fn tells(&mut self, label: &str) -> bool {
        let place = IN_ORDER.iter().position(|labels| labels.contains(&label));
        let Some(place) = place else {
            return self.tag.is_none();
        };
        let is_next = place >= self.told;
        self.told = self.told.max(place + 1);
        is_next
    }
}

/// One failure.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Failure<'d> {
    /// The first line, in bytes from the start of the document.
    pub line: Range<u32>,
    /// The message, if it is there: lists stand alone at times.
    pub message: Option<Message<'d>>,
    /// The sums.
    pub amounts: Vec<Amount<'d>>,
    /// The largest allocations, as listed.
    pub entries: Vec<Entry<'d>>,
}

impl<'d> Failure<'d> {
    /// The entry that `offset` is in, in bytes from the start of the document.
    pub fn entry_at(&self, offset: u32) -> Option<&Entry<'d>> {
        let mut entries = self.entries.iter();
        entries.find(|entry| entry.range.contains(&offset))
    }
}

/// The failures that a text tells of.
pub fn failures(document: &Document) -> Vec<Failure<'_>> {
    let mut failures = Vec::new();
    for (start, block) in document.blocks() {
        for row in block.out_of_memory() {
            add(&mut failures, (start, block.text(), row), document.len());
        }
    }
    failures
}

/// The failure that the line at `offset` is about, with no other entry than the one that it is in: a log can
/// list very many.
pub fn failure_at(document: &Document, offset: u32) -> Option<Failure<'_>> {
    let last = document.block_at(offset)?;
    let mut rows = Vec::new();
    let mut has_entry = false;
    'before: for number in (0..=last).rev() {
        let (start, block) = document.block(number)?;
        let before = block.out_of_memory().iter().rev();
        for row in before.filter(|row| start + row.line.start <= offset) {
            let is_message = row.kind == Kind::Message;
            if is_message || !has_entry {
                rows.push((start, block.text(), row));
            }
            has_entry |= row.kind == Kind::Entry;
            if is_message {
                break 'before;
            }
        }
    }
    rows.reverse();
    'behind: for number in last.. {
        let Some((start, block)) = document.block(number) else {
            break;
        };
        let behind = block.out_of_memory().iter();
        for row in behind.filter(|row| start + row.line.start > offset) {
            if row.kind != Kind::Property {
                break 'behind;
            }
            rows.push((start, block.text(), row));
        }
    }
    let mut failures = Vec::new();
    for row in rows {
        add(&mut failures, row, document.len());
    }
    failures.pop()
}

/// Adds what a row says, in a block that starts at `start` and has this text, to the last failure, or begins one.
fn add<'d>(
    failures: &mut Vec<Failure<'d>>,
    (start, text, row): (u32, &'d str, &OutOfMemory),
    length: u32,
) {
    let of = |span: Span| span.text(text);
    let line = start + row.line.start..start + row.line.end;
    let message = (row.kind == Kind::Message).then(|| message(row, text));
    let is_shortened =
        |message: Message| message.wanted.is_none() && message.text.trim_end().ends_with("...");
    if !failures.is_empty() && message.is_some_and(is_shortened) {
        // A summary has the beginning of what was said above.
        return;
    }
    if row.kind == Kind::Message || failures.is_empty() {
        failures.push(Failure {
            line: line.clone(),
            ..Failure::default()
        });
    }
    let Some(failure) = failures.last_mut() else {
        return;
    };
    let mut sizes = row.sizes.iter().filter(|span| !span.is_empty());
    let mut size = || sizes.next().map(|&span| Printed(of(span)));
    match row.kind {
        Kind::Message => failure.message = message,
        Kind::Heading => {}
        Kind::Amount => failure.amounts.push(Amount {
            label: of(row.label).trim_end_matches([':', '>', '=', ' ']),
            is_at_least: of(row.label).ends_with(">="),
            sizes: std::iter::from_fn(&mut size).collect(),
        }),
        Kind::Entry => failure.entries.push(Entry {
            head: line.end,
            read: line.end,
            range: line,
            number: row.number.value,
            size: size(),
            ..Entry::default()
        }),
        Kind::Property => {
            let label = row.label.text(text);
            if let Some(entry) = failure.entries.last_mut() {
                let from = entry.read.checked_sub(start).map(|from| from as usize);
                let between = from.and_then(|from| text.get(from..row.line.start as usize));
                entry.is_cut |= between.is_some_and(|it| it.contains("..."));
                entry.read = line.end;
                if entry.is_cut || !entry.tells(label) {
                    return;
                }
                entry.range.end = line.end;
                property(entry, row, text, line.end == length);
            }
        }
    }
}

fn message<'d>(row: &OutOfMemory, text: &'d str) -> Message<'d> {
    let own = &text[row.label.start as usize..row.content.end as usize];
    let form = match row.label.text(text) {
        "Ran out of memory in memory space" if own.contains("exceeded scoped ") => Form::Scoped,
        "Ran out of memory in memory space"
        | "Aborting compilation early because it's unlikely to have enough device memory. Requires" => {
            Form::Used
        }
        "Ran out of memory on" => Form::Total,
        "Allocation (size=" => Form::Allocation,
        "Can't reduce memory use below" => Form::Rematerialization,
        _ => Form::Request,
    };
    let size = |at: usize| Some(row.sizes[at]).filter(|span| !span.is_empty());
    let printed = |at| size(at).map(|span| Printed(span.text(text)));
    // A log may put more behind the name.
    let name_behind = |words: &str| {
        let (_, rest) = own.rsplit_once(words)?;
        let end = rest.bytes().take_while(|&byte| is_name_byte(byte)).count();
        Some(rest[..end].trim_end_matches('.')).filter(|name| !name.is_empty())
    };
    let (wanted, available) = match form {
        // Each size is repeated in bytes.
        Form::Rematerialization => (printed(3), printed(1)),
        // It rounds first, then tells what it takes: `12.21GiB (rounded to 13107200000)`.
        Form::Request if own.contains(" (rounded to ") => (printed(1).or(printed(0)), None),
        Form::Request if !row.label.text(text).starts_with("Attempting") => (printed(0), None),
        _ => (printed(0), printed(1)),
    };
    Message {
        form,
        text: own,
        space: Some(row.space.text(text)).filter(|space| !space.is_empty()),
        wanted,
        available,
        exceeded: printed(2).filter(|_| matches!(form, Form::Used | Form::Scoped)),
        module: name_behind("HLO module: "),
        kernel: name_behind("] :: ").filter(|_| form == Form::Allocation),
    }
}

/// Puts a line about `entry` into it; `is_last` if the text ends with it, maybe too early.
fn property<'d>(entry: &mut Entry<'d>, row: &OutOfMemory, text: &'d str, is_last: bool) {
    let content = row.content.text(text);
    let size = Some(row.sizes[0]).filter(|span| !span.is_empty());
    let size = size.map(|span| Printed(span.text(text)));
    match row.label.text(text) {
        "Size" => entry.size = size,
        "Unpadded size" => entry.unpadded = size,
        "Extra memory due to padding" => entry.padding = size,
        "Shape" => entry.shape = Some(content),
        "Entry Parameter Subshape" => {
            entry.shape = Some(content);
            entry.is_parameter = true;
        }
        "Allocation type" => entry.kind = Some(content),
        "Tag" => entry.tag = Some(content),
        "XLA label" | "XLA Label" => {
            entry.label = Some(content);
            entry.name = Some(row.name.text(text)).filter(|name| !name.is_empty());
        }
        _ => operator(entry, content, is_last),
    }
}

/// `op_name="jit(f)/add" source_file="model.py" source_line=3`, or `stack_frame_id=5` instead of the
/// file and its line
fn operator(entry: &mut Entry, content: &str, is_last: bool) {
    // A number that the text ends with may have been longer.
    let is_cut = |number: &str| is_last && content.ends_with(number);
    let (mut key, mut file, mut line) = ("", None, None);
    for (token, text) in tokens(content) {
        match token {
            Token::Word => key = text,
            Token::String if key == "op_name" => entry.op_name = Some(unescaped(text)),
            Token::String if key == "source_file" => file = Some(unescaped(text)),
            Token::Int if key == "source_line" && !is_cut(text) => line = Some(text),
            Token::Int if key == "stack_frame_id" && !is_cut(text) => {
                entry.stack_frame = text.parse().ok();
            }
            _ => {}
        }
    }
    entry.source = file.map(|file| match line {
        Some(line) => format!("{file}:{line}"),
        None => file,
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn printed_sizes_are_read_and_compared() {
        for (text, bytes) in [
            ("512B", 512),
            ("16.0K", 16384),
            ("15.75G", 16_911_433_728),
            ("6.00MiB", 6 << 20),
            ("1048576", 1 << 20),
        ] {
            assert_eq!(Printed(text).bytes(), Some(bytes), "{text}");
            assert!(Printed(text).is_of(bytes), "{text}");
        }
        assert!(
            Printed("36.62G").is_of(39_325_843_968),
            "the last division alone is rounded"
        );
        assert!(!Printed("36.62G").is_of(39_336_842_880));
        for (text, least, most) in [
            ("512B", 512, 512),
            ("1048576", 1 << 20, 1 << 20),
            ("16.0K", 16_333, 16_435),
            ("1024.0K", (1 << 20) - 51, (1 << 20) - 1),
            ("1024.00M", 1_048_571 << 10, (1 << 30) - 1),
            ("13.42G", 13_737 << 20, (13_748 << 20) - 1),
        ] {
            assert_eq!(Printed(text).range(), Some(least..=most), "{text}");
            assert!(Printed(text).is_of(least) && Printed(text).is_of(most));
            let is_exact = least == most;
            assert!(is_exact || !Printed(text).is_of(least - 1) && !Printed(text).is_of(most + 1));
        }
        assert_eq!(Printed("13.425G").range(), None);
        assert_eq!(Printed("99999999999999999999E").bytes(), Some(u64::MAX));
        assert_eq!(Printed("x").bytes(), None);
        assert_eq!(Printed("1.2.3K").bytes(), None);
    }

    #[test]
    fn a_log_may_hold_several_failures() {
        let text = "x\nRan out of memory in memory space hbm. Used 2.0K of 1.0K hbm.\n    arguments  1.0K\n\
                    Largest program allocations in hbm:\n  1. Size: 512B\n     Operator: op_name=\"jit(f)/a\\\"b\" source_file=\"m.py\" source_line=3\n     Shape: f32[1]\n\
                    other text\nAllocation (size=9) would exceed memory (size=8) :: [space=smem]\n";
        let document = Document::new(text).expect("a small text");
        let failures = failures(&document);
        let [first, second] = &failures[..] else {
            panic!("{failures:?}");
        };
        let message = first.message.expect("a message");
        assert_eq!((message.form, message.space), (Form::Used, Some("hbm")));
        assert_eq!(message.available, Some(Printed("1.0K")));
        assert_eq!(first.amounts[0].label, "arguments");
        let entry = &first.entries[0];
        assert_eq!(entry.op_name.as_deref(), Some("jit(f)/a\"b"));
        assert_eq!(entry.source.as_deref(), Some("m.py:3"));
        assert_eq!(entry.shape, Some("f32[1]"));
        let message = second.message.expect("a message");
        assert_eq!(
            (message.form, message.space),
            (Form::Allocation, Some("smem"))
        );
        assert_eq!(message.wanted, Some(Printed("9")));
    }

    #[test]
    fn what_another_entry_tells_is_not_this_one() {
        let head = "Ran out of memory in memory space hbm. Used 20.0G of 1.0G hbm.\n  1. Size: 10.00G\n     \
                    Shape: f32[8]\n     XLA label: copy.1 = copy(a)\n     Allocation type: HLO temp\n";
        let others = "... 60 lines ...\n     Extra memory due to padding: 508B\n     \
                      XLA label: copy.9 = copy(b)\n     Allocation type: global\n     ======\n\n  10. Size: 512B\n";
        let early = head
            .split_once("     XLA label")
            .map_or(head, |(early, _)| early);
        let noise = "W0501 12:00:00.1 9 queue.cc:2] Size: 3.00G\n";
        for head in [head.to_owned(), format!("{head}{noise}"), early.to_owned()] {
            let document = Document::new(&format!("{head}{others}"));
            let document = document.expect("a small text");
            let failures = failures(&document);
            let [first, last] = &failures[0].entries[..] else {
                panic!("{failures:?}");
            };
            let is_whole = head.contains("copy.1");
            assert_eq!(first.name, is_whole.then_some("copy.1"));
            assert_eq!(first.padding, None);
            assert_eq!(first.size, Some(Printed("10.00G")));
            assert_eq!(first.kind, is_whole.then_some("HLO temp"));
            assert_eq!((last.number, last.label), (10, None));
        }
    }

    #[test]
    fn a_copy_of_a_message_is_no_other_failure() {
        let text = "Aborting compilation early because it's unlikely to have enough device memory. Requires 167.00G, \
                    has 14.96G available. If more is wanted, set --x=-1\n  1. Size: 512B\n     \
                    Tag: output window. It is f32[1].\n\n [type.googleapis.com/t.Result='\\x08Ran out of memory in \
                    memory space vmem. Used 2.0K of 1.0K vmem.']\n";
        let document = Document::new(text).expect("a small text");
        let failures = failures(&document);
        let [failure] = &failures[..] else {
            panic!("{failures:?}");
        };
        let message = failure.message.expect("a message");
        assert_eq!((message.form, message.space), (Form::Used, None));
        assert_eq!(message.wanted, Some(Printed("167.00G")));
        assert_eq!(message.available, Some(Printed("14.96G")));
        assert_eq!(failure.entries[0].tag, Some("output window. It is f32[1]."));
    }

    #[test]
    fn the_failure_at_a_place_has_the_entry_that_is_there() {
        let entry = |number: u32| {
            format!(
                "  {number}. Size: {number}B\n     Shape: f32[{number}]\n     Allocation type: HLO temp\n"
            )
        };
        let entries: String = (1..200).map(entry).collect();
        let text = format!(
            "Ran out of memory in memory space hbm. Used 2.0K of 1.0K hbm.\n    arguments  1.0K\n  Largest \
             program allocations in hbm:\n{entries}noise\nRan out of memory in memory space vmem. Used 3.0K of \
             1.0K vmem.\n{entries}"
        );
        for text in [&text, &text[text.find("arguments").unwrap() - 4..]] {
            let document = Document::new(text).expect("a small text");
            assert!(document.blocks().len() > 1);
            let all = failures(&document);
            for offset in (0..document.len()).step_by(7) {
                let found = failure_at(&document, offset);
                let whole = all.iter().rev().find(|it| it.line.start <= offset);
                let (Some(found), Some(whole)) = (&found, whole) else {
                    assert!(found.is_none() && whole.is_none(), "{offset}");
                    continue;
                };
                assert_eq!(found.message, whole.message);
                let entry = |failure: &Failure| failure.entry_at(offset).map(|it| it.number);
                assert_eq!(entry(found), entry(whole), "{offset}");
                assert!(found.entries.len() < 2);
            }
        }
    }
}
