//! Texts out of logs, which write a message of many lines as one, with escapes of JSON or Python.

use buflens_syntax::{Document, DocumentKind, TooLarge};

use crate::model::source::unescaped;

/// A record may hold another one, so deep at most.
const MOST_NESTED: u32 = 4;

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
        for (number, line) in (0..).zip(text.split_inclusive('\n')) {
            let before = plain.len();
            push(&mut plain, line, MOST_NESTED);
            let own = plain[before..].split_inclusive('\n');
            lines.extend(own.map(|_| number));
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
            "C:\\new Ran out of disk",
        ] {
            let log = Log::new(text).expect("a small text");
            assert_eq!(log.document.text(), text);
        }
    }
}
