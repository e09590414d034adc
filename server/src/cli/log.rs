//! Texts out of logs, which write a message of many lines as one, with escapes of JSON or Python.

mod record;

use std::borrow::Cow;
use std::cmp::Ordering;

use anstream::adapter::strip_str;
use buflens_syntax::{Document, DocumentKind, TooLarge};
use record::of_record;
use rustc_hash::FxHashMap;

use crate::model::failure::{Form, Printed, failures};
use crate::model::source::unescaped;

/// A record may hold another one, so deep at most.
const MOST_NESTED: u32 = 4;
/// A sentence is broken into so many lines at most.
const MOST_LINES: usize = 8;
/// The columns of most terminals ...
const TERMINAL: usize = 80;
/// ... and of the narrowest.
const NARROWEST: usize = 40;
/// How lines of the message begin that stand at its left edge, where a log has left the blank ones before them out.
const AT_EDGE: [&str; 4] = ["Output size ", "Program ", "Total ", "Largest program "];
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
        let recorded: Vec<Cow<str>> = text.split_inclusive('\n').map(said).collect();
        let order = untangled(&recorded);
        let all: Vec<&str> = order.iter().map(|&at| &*recorded[at]).collect();
        let terminal = terminal(&all);
        let mut at = 0;
        while let Some(line) = all.get(at) {
            let before = plain.len();
            let broken = sentence(&all[at..], terminal);
            let broken = broken.or_else(|| entry(&all[at..], terminal));
            let (line, count) = match &broken {
                Some((whole, count)) => (whole.as_str(), *count),
                None => (*line, 1),
            };
            for line in line.split_inclusive('\n') {
                push(&mut plain, line, MOST_NESTED);
            }
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

/// The columns of the terminal that may have broken `lines`: several are as long as that, and none is longer. As most
/// terminals have where there are no such.
fn terminal(lines: &[&str]) -> usize {
    let (mut most, mut count) = (0, 0);
    for line in lines {
        let width = line.trim_end_matches(['\r', '\n']).chars().count();
        match width.cmp(&most) {
            Ordering::Greater => (most, count) = (width, 1),
            Ordering::Equal => count += 1,
            Ordering::Less => {}
        }
    }
    if count > 1 && most >= NARROWEST {
        most
    } else {
        TERMINAL
    }
}

/// What a line of a log says: without what terminals and collectors of logs put into and behind it, and out of its record.
fn said(line: &str) -> Cow<'_, str> {
    let plain = if line.contains('\u{1b}') {
        let content = line.trim_end_matches(['\r', '\n']);
        // Of colours, and of what makes a part of a line a link.
        Cow::Owned(strip_str(content).to_string() + &line[content.len()..])
    } else {
        Cow::Borrowed(line)
    };
    let once = plain.trim_end().strip_suffix(" across cluster]");
    let once = once.and_then(|it| Some(it.rsplit_once(" [repeated ")?.0.to_owned() + "\n"));
    match once {
        Some(once) => Cow::Owned(once),
        None => match plain {
            Cow::Borrowed(line) => of_record(line),
            Cow::Owned(line) => Cow::Owned(of_record(&line).into_owned()),
        },
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

/// Who says a line, by what stands before it, behind the time of day: `[rank3]: `, `[1,0]<stderr>:`, `[pod/trainer-1/main] `,
/// `0: `, `trainer-1  | `, `(RayTrainWorker pid=4, ip=10.0.0.2) `.
fn process(line: &str) -> Option<&str> {
    /// No name is longer.
    const MOST: usize = 80;
    let own = behind_time(line);
    let is_digit = |char: char| char.is_ascii_digit();
    let end = match own.as_bytes().first()? {
        b'[' => {
            let (name, _) = own[1..].split_once(']')?;
            let words = name.trim_end_matches(|char: char| is_digit(char) || char == ',');
            let is_rank =
                words.len() < name.len() && words.bytes().all(|byte| byte.is_ascii_alphabetic());
            (is_rank || name.starts_with("pod/")).then_some(name.len() + 1)?
        }
        b'(' => own.find(')').filter(|&end| own[..end].contains("pid="))?,
        _ => {
            let end = own.find([':', '|'])?;
            let name = own[..end].trim_end();
            let words = name.trim_end_matches(is_digit);
            let is_name = match own.as_bytes()[end] {
                b':' => words.is_empty() && own[end + 1..].starts_with(' '),
                _ => words.ends_with('-') && !name.contains(' '),
            };
            (is_name && words.len() < name.len()).then_some(end)?
        }
    };
    own.get(..end).filter(|_| end <= MOST)
}

/// A line without the date and the time that it begins with.
fn behind_time(mut line: &str) -> &str {
    let is_of_time = |char: char| char.is_ascii_digit() || "-/:.,TZ+".contains(char);
    while let Some((word, behind)) = line.split_once(' ') {
        let count = |char| word.matches(char).count();
        let is_time =
            word.chars().all(is_of_time) && ['-', '/', ':'].into_iter().any(|it| count(it) == 2);
        if !is_time {
            break;
        }
        line = behind;
    }
    line
}

/// Whether a line begins with a date or a time, or as glog has them: `I0501 12:00:00.1 9 a.cc:2] `.
fn is_record(line: &str) -> bool {
    let is_glog = |word: &str| {
        word.len() == 5
            && word.starts_with(['I', 'W', 'E', 'F'])
            && word[1..].bytes().all(|byte| byte.is_ascii_digit())
    };
    behind_time(line).len() < line.len() || line.split_once(' ').is_some_and(|(it, _)| is_glog(it))
}

/// Whether a sentence is broken within a number, or between it and its unit: no two numbers stand side by side in one.
fn is_in_number(before: &str, behind: &str) -> bool {
    let bytes = before.as_bytes();
    let is_digit = |at: usize| {
        bytes
            .len()
            .checked_sub(at)
            .is_some_and(|at| bytes[at].is_ascii_digit())
    };
    let is_unit = || {
        let end = behind.find(|char: char| !char.is_ascii_alphabetic());
        let unit = &behind[..end.unwrap_or(behind.len())];
        let rest = unit.trim_start_matches(['K', 'M', 'G', 'T', 'P', 'E']);
        !unit.is_empty() && matches!(rest, "" | "B" | "iB") && is_digit(1)
    };
    match behind.bytes().next() {
        Some(b'0'..=b'9') => is_digit(1) || before.ends_with('.') && is_digit(2),
        Some(b'.') => is_digit(1) && behind[1..].starts_with(|next: char| next.is_ascii_digit()),
        _ => is_unit(),
    }
}

fn has_beginning(text: &str) -> bool {
    BEGINNINGS.iter().any(|beginning| text.contains(beginning))
}

/// The sentence that says what ran out, of which `lines` begin with a part, as one line; and how many it
/// was broken into. `None` if the first line does not begin one, or has all of it.
fn sentence(lines: &[&str], terminal: usize) -> Option<(String, usize)> {
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
        let is_even = others[..others.len() - 1]
            .iter()
            .all(|part| part.chars().count() == width);
        let is_of_terminal = |it: usize| it == TERMINAL || it == terminal;
        let is_hard =
            is_even && (count > 2 || is_of_terminal(width) || is_of_terminal(width - before));
        let whole = |is_hard: bool| {
            let mut sentence = first.clone();
            for part in others {
                let part = &part[log_prefix(first, part)..];
                if is_hard || is_in_number(&sentence, part) {
                    sentence.push_str(part);
                } else {
                    sentence.truncate(sentence.trim_end().len());
                    sentence.push(' ');
                    sentence.push_str(part.trim());
                }
            }
            is_whole(&sentence).then(|| (sentence + "\n", count))
        };
        // Of any width, if it does not make sense else.
        let is_any = is_even && !is_hard;
        whole(is_hard).or_else(|| is_any.then(|| whole(true))?)
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
fn entry(lines: &[&str], terminal: usize) -> Option<(String, usize)> {
    let content = |line: &&'_ str| line.trim_end_matches(['\r', '\n']).to_owned();
    let (first, others) = lines.split_first()?;
    let mut whole = content(first);
    if !whole.starts_with("    ") || whole.trim().is_empty() {
        return None;
    }
    let mut width = whole.chars().count();
    let mut count = 1;
    for part in others.iter().take(MOST_LINES - 1).map(content) {
        // A sum has a blank behind it, broken or not.
        let last = whole.split_ascii_whitespace().next_back();
        let is_sum = last.is_some_and(|last| Printed(last).bytes().is_some());
        let is_wide = width == TERMINAL || width == terminal;
        let is_broken = whole.ends_with(' ') && !is_sum || is_wide;
        let is_own = part.starts_with("  ") || AT_EDGE.iter().any(|it| part.starts_with(it));
        let is_own = is_own || is_record(&part);
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
            let is_told = message.text.contains("Exceeded");
            let has_excess = message.form == Form::Used && message.text.starts_with("Ran out of");
            if has_excess && !is_told || is_told && message.exceeded.is_none() {
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
mod tests;
