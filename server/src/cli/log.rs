//! Texts out of logs, which write a message of many lines as one, with escapes of JSON or Python.

use std::borrow::Cow;

use buflens_syntax::{Document, DocumentKind, TooLarge};
use rustc_hash::FxHashMap;
use serde_json::{Map, Value};

use crate::model::failure::{Form, failures};
use crate::model::source::unescaped;

/// A record may hold another one, so deep at most.
const MOST_NESTED: u32 = 4;
/// A sentence is broken into so many lines at most.
const MOST_LINES: usize = 8;
/// The columns of most terminals.
const TERMINAL: usize = 80;
/// How lines of the message begin that stand at its left edge, where a log has left the blank ones before them out.
const AT_EDGE: [&str; 4] = ["Output size ", "Program ", "Total ", "Largest program "];
/// What loggers call the text of a record.
const TEXTS: [&str; 4] = ["log", "message", "msg", "textPayload"];
/// What the first line of a broken sentence has, unless it is broken in there.
const BEGINNINGS: [&str; 6] = [
    "RESOURCE_EXHAUSTED",
    "Allocation (size=",
    "Ran out of",
    "Out of memory",
    "Attempting to allocate",
    "Can't reduce memory use",
];

/// A text in which every message has its lines again.
#[derive(Debug)]
pub struct Log {
    /// The text.
    pub document: Document,
    /// The line of the log that each of its lines comes from.
    lines: Vec<u32>,
}

impl Log {
    /// Reads `text`.
    ///
    /// # Errors
    /// If it is longer than a document can be.
    pub fn new(text: &str) -> Result<Self, TooLarge> {
        let (mut plain, mut lines) = (String::with_capacity(text.len()), Vec::new());
        let recorded: Vec<Cow<str>> = text.split_inclusive('\n').map(of_record).collect();
        let order = untangled(&recorded);
        let all: Vec<&str> = order.iter().map(|&at| &*recorded[at]).collect();
        let mut at = 0;
        while let Some(line) = all.get(at) {
            let before = plain.len();
            let broken = sentence(&all[at..]).or_else(|| entry(&all[at..]));
            let (line, count) = match &broken {
                Some((whole, count)) => (whole.as_str(), *count),
                None => (*line, 1),
            };
            push(&mut plain, line, MOST_NESTED);
            let own = plain[before..].split_inclusive('\n');
            lines.extend(own.map(|_| order[at] as u32));
            at += count;
        }
        Ok(Self {
            document: Document::new(&plain)?,
            lines,
        })
    }

    /// The line of the log, from 0, that the document has at `offset`.
    pub fn line_at(&self, offset: u32) -> u32 {
        let line = self.document.line_at(offset);
        self.lines.get(line as usize).copied().unwrap_or(line)
    }
}

/// The numbers of the lines in the order in which they are read: what several processes have said line by line is read one
/// process after the other.
fn untangled(lines: &[Cow<str>]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..lines.len()).collect();
    let names: Vec<Option<&str>> = lines.iter().map(|line| process(line)).collect();
    for run in order.chunk_by_mut(|&one, &next| names[one].is_some() == names[next].is_some()) {
        let mut turns: FxHashMap<&str, usize> = FxHashMap::default();
        for name in run.iter().filter_map(|&at| names[at]) {
            let turn = turns.len();
            turns.entry(name).or_insert(turn);
        }
        if turns.len() > 1 {
            run.sort_by_key(|&at| names[at].and_then(|name| turns.get(name)));
        }
    }
    order
}

/// Who says a line, by what stands before it: `[rank3]: `, `[1,0]<stderr>:`, `0: `, `trainer-1  | `,
/// `(RayTrainWorker pid=4, ip=10.0.0.2) `.
fn process(line: &str) -> Option<&str> {
    /// No name is longer.
    const MOST: usize = 80;
    let own = line.strip_prefix("\u{1b}[36m").unwrap_or(line);
    let is_digit = |char: char| char.is_ascii_digit();
    let end = match own.as_bytes().first()? {
        b'[' => {
            let (name, _) = own[1..].split_once(']')?;
            let words = name.trim_end_matches(|char: char| is_digit(char) || char == ',');
            let is_name =
                words.len() < name.len() && words.bytes().all(|byte| byte.is_ascii_alphabetic());
            is_name.then_some(name.len() + 1)?
        }
        b'(' => own.find(')').filter(|&end| own[..end].contains("pid="))?,
        _ => {
            let end = own.find([':', '|'])?;
            let name = own[..end].trim_end();
            let number = name
                .rfind(|char| !is_digit(char))
                .map_or(0, |last| last + 1);
            let is_name = match own.as_bytes()[end] {
                b':' => number == 0 && own[end + 1..].starts_with(' '),
                _ => name[..number].ends_with('-') && !name.contains(' '),
            };
            (is_name && number < name.len()).then_some(end)?
        }
    };
    own.get(..end).filter(|_| end <= MOST)
}

/// The line that a record of JSON holds, as containers write one for each line of their output; else the line as it is,
/// also where another part of the record may hold a message.
fn of_record(line: &str) -> Cow<'_, str> {
    let record = Some(line.trim()).filter(|it| it.starts_with('{') && it.ends_with('}'));
    let record = record.and_then(|it| serde_json::from_str::<Map<String, Value>>(it).ok());
    let text = record.and_then(|mut record| {
        let key = TEXTS.iter().find(|&&key| record.contains_key(key))?;
        let Value::String(text) = record.remove(*key)? else {
            return None;
        };
        let text = text.trim_end_matches(['\r', '\n']);
        let mut others = record.values().filter_map(Value::as_str);
        let is_other = |text: &str| text.contains('\n') || has_beginning(text);
        (!text.contains('\n') && !others.any(is_other)).then(|| format!("{text}\n"))
    });
    text.map_or(Cow::Borrowed(line), Cow::Owned)
}

fn has_beginning(text: &str) -> bool {
    BEGINNINGS.iter().any(|beginning| text.contains(beginning))
}

/// The sentence that says what ran out, of which `lines` begin with a part, as one line; and how many it
/// was broken into. `None` if the first line does not begin one, or has all of it.
fn sentence(lines: &[&str]) -> Option<(String, usize)> {
    let (first, others) = lines.split_first()?;
    if !has_beginning(first) || is_whole(first) {
        return None;
    }
    let content = |line: &&'_ str| line.trim_end_matches(['\r', '\n']).to_owned();
    let others = others.iter().take(MOST_LINES - 1).map(content);
    let others = others.take_while(|line| !line.trim().is_empty() && !is_whole(line));
    let parts: Vec<String> = std::iter::once(content(first)).chain(others).collect();
    let joined = |count: usize| {
        let (first, others) = parts[..count].split_first()?;
        // A terminal breaks lines where it ends, in the middle of words; people break them between words.
        let width = first.chars().count();
        let before = first[..log_prefix(first, &others[0])].chars().count();
        let is_hard = (count > 2 || [width, width - before].contains(&TERMINAL))
            && others[..others.len() - 1]
                .iter()
                .all(|part| part.chars().count() == width);
        let mut sentence = first.clone();
        for part in others {
            let part = &part[log_prefix(first, part)..];
            if is_hard {
                sentence.push_str(part);
            } else {
                sentence.push(' ');
                sentence.push_str(part.trim());
            }
        }
        is_whole(&sentence).then(|| (sentence + "\n", count))
    };
    let mut whole = (2..=parts.len()).filter_map(joined);
    let shortest = whole.next()?;
    // The name of the program may stand behind the sizes.
    let is_end = |(sentence, _): &(String, usize)| sentence.ends_with(".\n");
    std::iter::once(shortest.clone())
        .chain(whole)
        .find(is_end)
        .or(Some(shortest))
}

/// The line of the list of allocations, or of the sums above it, that `lines` begin with and that a terminal
/// has broken: what goes on stands at its left edge, where no line of the message does without a blank one before.
fn entry(lines: &[&str]) -> Option<(String, usize)> {
    let content = |line: &&'_ str| line.trim_end_matches(['\r', '\n']).to_owned();
    let (first, others) = lines.split_first()?;
    let mut whole = content(first);
    if !whole.starts_with("    ") || whole.trim().is_empty() {
        return None;
    }
    let mut width = whole.chars().count();
    let mut count = 1;
    for part in others.iter().take(MOST_LINES - 1).map(content) {
        let is_broken = whole.ends_with(' ') || width == TERMINAL;
        let is_own = part.starts_with("  ") || AT_EDGE.iter().any(|it| part.starts_with(it));
        if !is_broken || part.trim().is_empty() || is_own {
            break;
        }
        width = part.chars().count();
        whole.push_str(&part);
        count += 1;
    }
    (count > 1).then(|| (whole + "\n", count))
}

/// Whether a message about one allocation has all that stands behind its sizes, if anything does:
/// `:: #allocation2 [shape = 'u8[64]{0}', space=vmem, tag = 'a'] :: kernel`.
fn is_described(message: &str) -> bool {
    let Some((_, behind)) = message.split_once(" ::") else {
        return true;
    };
    let count = |char| behind.matches(char).count();
    count('[') > 0 && count('[') == count(']')
}

/// Whether a line has a sentence that says what ran out, with all of its sizes.
fn is_whole(line: &str) -> bool {
    Document::new(line).is_ok_and(|document| {
        let failures = failures(&document);
        let message = failures
            .first()
            .and_then(|failure| failure.message.as_ref());
        message.is_some_and(|message| {
            if message.form == Form::Allocation && !is_described(message.text) {
                return false;
            }
            if message.exceeded.is_none() && message.text.contains("Exceeded") {
                return false;
            }
            let is_alone = message.form == Form::Request && !message.text.starts_with("Attempting");
            message.wanted.is_some() && (is_alone || message.available.is_some())
        })
    })
}

/// The length of what a log puts before both lines, in the second. Times differ in it.
fn log_prefix(line: &str, other: &str) -> usize {
    let is_alike =
        |(one, other): &(u8, u8)| one == other || one.is_ascii_digit() && other.is_ascii_digit();
    let same = line.bytes().zip(other.bytes()).take_while(is_alike);
    let mut end = same.count();
    while !other.is_char_boundary(end) {
        end -= 1;
    }
    let last = other[..end].rfind([' ', '\t', ':', ']', '>', '|']);
    last.map_or(0, |last| last + 1)
}

/// Gives `plain` the lines of `line`, which it may have as escapes, `nested` times at most.
fn push(plain: &mut String, line: &str, nested: u32) {
    // A Windows path has the same characters; no line with a message in it has one.
    let is_escaped = nested > 0
        && line.contains("\\n")
        && Document::new(line).is_ok_and(|it| it.kind() == DocumentKind::OutOfMemory);
    if is_escaped {
        for line in unescaped(line).split_inclusive('\n') {
            push(plain, line, nested - 1);
        }
    } else {
        plain.push_str(line);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "E: Ran out of memory in memory space hbm. Used 2.0K of 1.0K hbm.\n\n\
                        Largest program allocations in hbm:\n  1. Size: 512B\n     \
                        Operator: op_name=\"jit(f)/\\\"a\\\"\" source_file=\"C:\\\\new\\\\it.py\" source_line=3";

    #[track_caller]
    fn check(line: &str, expected: &str) {
        let log = Log::new(&format!("start\n{line}\nend\n")).expect("a small text");
        assert_eq!(
            log.document.text(),
            format!("start\n{expected}\nend\n"),
            "{line}"
        );
        let at = |words: &str| {
            let offset = log.document.text().find(words).expect("the words");
            log.line_at(offset as u32)
        };
        assert_eq!((at("Ran out"), at("source_line")), (1, 1));
        assert_eq!(at("end\n"), 2);
    }

    #[test]
    fn a_message_has_its_lines_again() {
        let json = |text: &str| serde_json::to_string(text).expect("JSON");
        let record = |text: &str| format!("{{\"level\":\"error\",\"message\":{}}}", json(text));
        let once = record(TEXT);
        check(
            &once,
            &format!("{{\"level\":\"error\",\"message\":\"{TEXT}\"}}"),
        );
        let log = Log::new(&record(&once)).expect("a small text");
        assert!(log.document.text().contains(TEXT), "a record in a record");
        let python = TEXT.replace('\\', "\\\\").replace('\n', "\\n");
        check(
            &format!("raise XlaRuntimeError('{python}')"),
            &format!("raise XlaRuntimeError('{TEXT}')"),
        );
    }

    #[test]
    fn records_of_one_line_each_are_lines() {
        let record = |line: &str| {
            let record = serde_json::json!({ "log": line, "stream": "stderr", "time": "2026-11-28T11:35:00Z" });
            format!("{record}\n")
        };
        let records: String = TEXT.split_inclusive('\n').map(record).collect();
        let log = Log::new(&format!("{{}}\n{{\"a\":1}}\n{records}")).expect("a small text");
        let text = log.document.text();
        assert_eq!(text, format!("{{}}\n{{\"a\":1}}\n{TEXT}\n"));
        let at = text.find("source_line").expect("the words");
        assert_eq!(log.line_at(at as u32), 6);
        // A message may stand in another part of the record.
        let record =
            serde_json::json!({ "message": "the step failed", "exc_info": TEXT }).to_string();
        let log = Log::new(&record).expect("a small text");
        assert!(
            log.document.text().contains(TEXT),
            "{}",
            log.document.text()
        );
    }

    #[test]
    fn how_much_is_too_much_may_stand_on_the_next_line() {
        let broken = "E: RESOURCE_EXHAUSTED: Ran out of memory in memory space hbm. Used 84.05G of 15.75G hbm. Exceeded hbm\n\
                      capacity by 68.30G.\n\nTotal hbm usage >= 84.55G:\n";
        let log = Log::new(broken).expect("a small text");
        let failures = failures(&log.document);
        let message = failures[0].message.expect("a message");
        assert!(message.exceeded.is_some(), "{}", message.text);
    }

    #[test]
    fn a_message_about_one_allocation_is_one_again() {
        let whole = "E: RESOURCE_EXHAUSTED: Allocation (size=153600000000) would exceed memory (size=17179869184) :: \
                     #allocation10 [shape = 'f32[300000000,3]{1,0:T(8,128)}', space=hbm, tag = 'output of reshape.1@{}'] :: \
                     <no-hlo-instruction>";
        for width in [60, 72, 80, 100] {
            let lines: Vec<&str> = (0..whole.len())
                .step_by(width)
                .map(|at| &whole[at..whole.len().min(at + width)])
                .collect();
            let log = Log::new(&format!("start\n{}\nSee the end.\n", lines.join("\n")));
            let text = log.expect("a small text").document.text();
            assert!(
                text.contains("tag = 'output of reshape.1@{}']"),
                "{width}: {text}"
            );
        }
    }

    #[test]
    fn a_sentence_that_is_broken_into_lines_is_one_again() {
        let whole = "E: RESOURCE_EXHAUSTED: E1000: Ran out of memory on HBM, the total memory required for \
                     HLO temporaries (80.63G) exceeds available HBM (15.75G). HLO module: jit_long_name.";
        let check = |prefix: &str, lines: &[&str], expected: &str| {
            let broken: Vec<String> = lines
                .iter()
                .map(|line| format!("{prefix}{line}\n"))
                .collect();
            let log = Log::new(&format!("start\n{}See the end.\n", broken.concat()));
            let log = log.expect("a small text");
            let text = log.document.text();
            assert_eq!(text, format!("start\n{prefix}{expected}\nSee the end.\n"));
            let at =
                |words: &str| log.line_at(text.find(words).expect("the words") as u32) as usize;
            assert_eq!((at(&expected[..7]), at("See the")), (1, 1 + lines.len()));
        };
        for width in [40, 55, 60, 70, 80, 100, 120] {
            let mut words: Vec<String> = Vec::new();
            for word in whole.split(' ') {
                match words
                    .last_mut()
                    .filter(|line| line.len() + word.len() < width)
                {
                    Some(line) => {
                        line.push(' ');
                        line.push_str(word);
                    }
                    None => words.push(word.to_owned()),
                }
            }
            let words: Vec<&str> = words.iter().map(String::as_str).collect();
            for prefix in [
                "",
                "> ",
                "[rank0]: ",
                "I1123 05:41:12.345 3 train.py:3] ",
                "[1,3]<stderr>:",
                "trainer-1  | ",
                "2025-11-28 11:35:00,123 - train - ERROR - ",
                "2025-11-28T11:35:00.123Z stderr F ",
            ] {
                check(prefix, &words, whole);
            }
        }
        for width in [40, 60, 72, 80] {
            let letters: Vec<&[u8]> = whole.as_bytes().chunks(width).collect();
            let letters = letters
                .into_iter()
                .map(|line| str::from_utf8(line).expect("ASCII"));
            check("", &letters.collect::<Vec<_>>(), whole);
        }
        let request = "Attempting to allocate 2.50G. That was not possible. There are 1.20G free.";
        let (first, other) = request.split_at(request.find("There").expect("the words"));
        check("", &[first.trim_end(), other], request);
        // Of two messages each has its own line, and what is no message has them all.
        check(
            "",
            &["RESOURCE_EXHAUSTED: a quota,", whole],
            &format!("RESOURCE_EXHAUSTED: a quota,\n{whole}"),
        );
        check(
            "",
            &["Ran out of", "disk (2.0G)."],
            "Ran out of\ndisk (2.0G).",
        );
    }

    #[test]
    fn lines_of_the_list_that_a_terminal_broke_are_whole_again() {
        let path = format!("op_name=\"jit(f)/{}\"", "a".repeat(64));
        let (start, end) = path.split_at(TERMINAL);
        let broken = format!(
            "  1. Size: 512B\n     Operator: \n{start}\n{end} source_file=\"a.py\" \nsource_line=3\n     \
             Shape: (f32[8]{{0}}, \nf32[8]{{0}})\n     ==========\n\n  2. Size: 4B \nend\n"
        );
        let whole = format!(
            "  1. Size: 512B\n     Operator: {path} source_file=\"a.py\" source_line=3\n     \
             Shape: (f32[8]{{0}}, f32[8]{{0}})\n     ==========\n\n  2. Size: 4B \nend\n"
        );
        let log = Log::new(&broken).expect("a small text");
        assert_eq!(log.document.text(), whole);
        let at = |words: &str| log.line_at(whole.find(words).expect("the words") as u32);
        assert_eq!((at("source_line"), at("Shape"), at("end")), (1, 5, 10));
        let log = Log::new(&whole).expect("a small text");
        assert_eq!(log.document.text(), whole);
    }

    #[test]
    fn what_several_processes_say_line_by_line_is_read_one_after_the_other() {
        for (one, other) in [
            ("[rank0]: ", "[rank1]: "),
            ("0: ", "1: "),
            ("[1,0]<stderr>:", "[1,1]<stderr>:"),
            ("trainer-1  | ", "trainer-2  | "),
            ("(W pid=4, ip=10.0.0.2) ", "(W pid=5, ip=10.0.0.3) "),
            ("(pid=4) ", "(pid=5) "),
            (
                "\u{1b}[36m(W pid=4)\u{1b}[0m ",
                "\u{1b}[36m(W pid=5)\u{1b}[0m ",
            ),
        ] {
            let lines = [
                "Ran out of memory in memory space hbm. Used 24.00G of 15.75G hbm. Exceeded hbm capacity by 8.25G.",
                "  1. Size: 4B",
                "     Shape: f32[1]",
            ];
            let both = lines
                .map(|line| format!("{one}{line}\n{other}{line}\n"))
                .concat();
            let log = Log::new(&format!("start\n{both}end\n")).expect("a small text");
            let of = |before: &str| lines.map(|line| format!("{before}{line}\n")).concat();
            let text = log.document.text();
            assert_eq!(text, format!("start\n{}{}end\n", of(one), of(other)));
            let at = text.find(&format!("{other}  1.")).expect("the words");
            assert_eq!(log.line_at(at as u32), 4);
        }
        for line in [
            "[2026-11-28 11:00]: a",
            "a: b",
            "12:00: a",
            "a | b",
            "(a) b",
            "",
            "[x] a",
        ] {
            assert_eq!(process(line), None, "{line}");
        }
    }

    #[test]
    fn escapes_of_escapes_have_an_end() {
        let escapes = "134".repeat(100_000);
        let line = format!("Ran out of memory on HBM, the total \\{escapes}n");
        assert!(Log::new(&line).is_ok_and(|log| log.document.len() > 200_000));
        let line = format!("Ran out of memory on HBM, the total \\n\\{escapes}n");
        assert!(Log::new(&line).is_ok_and(|log| log.document.len() > 200_000));
    }

    #[test]
    fn other_lines_stay() {
        for text in [
            TEXT,
            "loaded C:\\new\n",
            "{\"message\":\"a\\nb\"}",
            "",
            "no end",
            "    arguments            0B \nOutput size 0B; shares 0B with arguments.\n",
            "C:\\new Ran out of disk",
        ] {
            let log = Log::new(text).expect("a small text");
            assert_eq!(log.document.text(), text);
        }
    }
}
