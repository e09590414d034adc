//! Findings as JSON; a contract with other programs, described in `docs/cli.md`.

use std::io::{self, Write};
use std::path::Path;

use serde::Serialize;

use super::{Judged, Spot};
use crate::model::Dump;

/// A place with what is said about it.
#[derive(Serialize)]
struct Related<'f> {
    file: String,
    line: u32,
    column: u32,
    message: &'f str,
}

/// A finding. The order of the fields is the order in the output.
#[derive(Serialize)]
pub(super) struct Record<'f> {
    file: String,
    line: u32,
    column: u32,
    end_line: u32,
    end_column: u32,
    code: &'static str,
    severity: &'static str,
    message: &'f str,
    related: Vec<Related<'f>>,
}

/// Writes findings as they come, so that only one of them is held as text at a time.
pub struct Writer<W> {
    out: W,
    is_first: bool,
}

impl<W: Write> Writer<W> {
    /// Begins the output.
    pub fn new(mut out: W) -> io::Result<Self> {
        out.write_all(br#"{"schema":1,"findings":["#)?;
        Ok(Self {
            out,
            is_first: true,
        })
    }

    /// Writes the findings of a dump, each on a line.
    pub fn findings(&mut self, dump: &Dump, findings: &[Judged]) -> io::Result<()> {
        for judged in findings {
            let path = |path: &Path| path.to_string_lossy().into_owned();
            let Some(record) = record(dump, judged, path) else {
                continue;
            };
            self.out
                .write_all(if self.is_first { b"\n" } else { b",\n" })?;
            self.is_first = false;
            serde_json::to_writer(&mut self.out, &record)?;
        }
        Ok(())
    }

    /// Ends the output.
    pub fn finish(mut self) -> io::Result<()> {
        self.out
            .write_all(if self.is_first { b"]}\n" } else { b"\n]}\n" })?;
        self.out.flush()
    }
}

/// The record of a finding, with its files as `name` calls them.
pub(super) fn record<'f>(
    dump: &Dump,
    judged: &'f Judged,
    name: impl Fn(&Path) -> String,
) -> Option<Record<'f>> {
    let finding = &judged.finding;
    let spot = Spot::new(dump, &finding.place)?;
    let related = finding.related.iter().filter_map(|(place, message)| {
        let Spot {
            path, line, column, ..
        } = Spot::new(dump, place)?;
        Some(Related {
            file: name(path),
            line,
            column,
            message,
        })
    });
    Some(Record {
        file: name(spot.path),
        line: spot.line,
        column: spot.column,
        end_line: spot.end_line,
        end_column: spot.end_column,
        code: finding.code.name(),
        severity: judged.severity.name(),
        message: &finding.message,
        related: related.collect(),
    })
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;
    use crate::report::text::tests::planted;

    #[test]
    fn records_count_from_one_and_in_characters() {
        let (dump, findings) = planted();
        let mut out = Vec::new();
        let mut writer = Writer::new(&mut out).unwrap();
        writer.findings(&dump, &findings).unwrap();
        writer.findings(&dump, &findings[1..]).unwrap();
        writer.finish().unwrap();
        let text = String::from_utf8(out).unwrap();
        expect![[r#"
            {"schema":1,"findings":[
            {"file":"a dir/x.txt","line":3,"column":37,"end_line":3,"end_column":39,"code":"syntax","severity":"error","message":"the value ends at 576","related":[{"file":"a dir/x.txt","line":3,"column":21,"message":"the size"},{"file":"a dir/x.txt","line":2,"column":15,"message":"the allocation"}]},
            {"file":"a dir/x.txt","line":1,"column":1,"end_line":1,"end_column":18,"code":"syntax","severity":"hint","message":"a \u001b[31m heading","related":[]},
            {"file":"a dir/x.txt","line":1,"column":1,"end_line":1,"end_column":18,"code":"syntax","severity":"hint","message":"a \u001b[31m heading","related":[]}
            ]}
        "#]].assert_eq(&text);
        let parsed: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(parsed["findings"].as_array().unwrap().len(), 3);
    }

    #[test]
    fn nothing_found_is_valid_too() {
        let mut out = Vec::new();
        Writer::new(&mut out).unwrap().finish().unwrap();
        assert_eq!(out, b"{\"schema\":1,\"findings\":[]}\n");
    }
}
