//! All that is known of a dump as one object, made of the records that answer questions.

use std::io::{self, Write};
use std::path::Path;

use buflens_syntax::facts;
use serde::{Serialize, Serializer};

use super::{Export, file_name, location};
use crate::audit::Audit;
use crate::model::{Allocation, Dump, Part, Place};
use crate::report::json;
use crate::report::records::{
    self, Answer, Audits, FileLocation, Map, Module, Padding, Peak, PeakQuery, Source,
};

/// The object. Its parts keep the names of the commands that answer them alone.
#[derive(Serialize)]
struct Record<'f, A: Serialize, V: Serialize> {
    /// Who wrote it: `buflens 0.1.0`.
    tool: &'static str,
    files: Vec<FileRecord>,
    summary: Module,
    map: Map,
    allocations: A,
    values: V,
    peaks: Vec<Peak<FileLocation>>,
    padding: Padding<FileLocation>,
    #[serde(flatten)]
    audits: Audits<FileLocation>,
    findings: Vec<json::Record<'f>>,
}

/// A file of the dump.
#[derive(Serialize)]
struct FileRecord {
    name: String,
    /// Of its text in UTF-8.
    bytes: u32,
    /// `assignment`, `values`, `live-range`, `report` or `module`.
    part: Option<&'static str>,
}

/// What the header of an allocation says.
#[derive(Serialize)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a word of its own in the header"
)]
struct AllocationRecord {
    allocation: u64,
    space: u64,
    kind: &'static str,
    bytes: u64,
    parameter: Option<u64>,
    parameter_index: Option<String>,
    parameter_shape: Option<String>,
    output_shape: Option<String>,
    is_constant: bool,
    is_maybe_live_out: bool,
    is_preallocated_temp: bool,
    is_thread_local: bool,
    location: Option<FileLocation>,
}

/// A list whose parts are made one by one while it is written: it may be many times the dump.
struct Each<F>(F);

impl<F: Fn() -> I, I: Iterator<Item: Serialize>> Serialize for Each<F> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq((self.0)())
    }
}

/// Writes the object.
pub fn write(export: &Export, out: &mut dyn Write) -> io::Result<()> {
    let audit = export.audit;
    let dump = audit.dump;
    let findings = (export.findings)();
    let findings = findings
        .iter()
        .filter_map(|judged| json::record(dump, judged, file_name));
    let locate = |place: &Place| location(dump, place);
    let source = Source {
        audit,
        locate: &locate,
    };
    let record = Record {
        tool: concat!("buflens ", env!("CARGO_PKG_VERSION")),
        files: files(dump),
        summary: summary(audit),
        map: records::map(audit, usize::MAX),
        allocations: Each(|| dump.allocations.iter().map(|it| allocation(dump, it))),
        values: Each(|| (0..dump.values.len() as u32).filter_map(|at| records::value(&source, at))),
        peaks: peaks(&source),
        padding: records::padding(&source, None, usize::MAX),
        audits: records::audits(&source, [true; 3], usize::MAX),
        findings: findings.collect(),
    };
    serde_json::to_writer(&mut *out, &Answer::new(dump, record))?;
    writeln!(out)
}

fn files(dump: &Dump) -> Vec<FileRecord> {
    let files = dump.files.iter().map(|file| FileRecord {
        name: file_name(&file.path),
        bytes: file.document.len(),
        part: match file.document.kind().into() {
            Part::Assignment => Some("assignment"),
            Part::Values => Some("values"),
            Part::LiveRange => Some("live-range"),
            Part::Report => Some("report"),
            Part::Module => Some("module"),
            Part::None => None,
        },
    });
    files.collect()
}

fn summary(audit: &Audit) -> Module {
    let path = audit.dump.files.first().map(|file| file_name(&file.path));
    records::module(audit, Path::new(&path.unwrap_or_default()))
}

fn allocation(dump: &Dump, allocation: &Allocation) -> AllocationRecord {
    let (header, kinds) = (dump.header(allocation), allocation.kinds());
    let text = |span: fn(&facts::Allocation) -> facts::Span| {
        let header = header?;
        Some(header.text(span(&header.row)).to_owned()).filter(|text| !text.is_empty())
    };
    AllocationRecord {
        allocation: allocation.index,
        space: allocation.color,
        kind: allocation.kind().name(),
        bytes: allocation.size,
        parameter: dump.parameter_number(allocation),
        parameter_index: text(|header| header.parameter_index),
        parameter_shape: text(|header| header.parameter_shape),
        output_shape: text(|header| header.output_shape),
        is_constant: kinds.constant,
        is_maybe_live_out: kinds.maybe_live_out,
        is_preallocated_temp: kinds.preallocated_temp,
        is_thread_local: kinds.thread_local,
        location: header.and_then(|at| location(dump, &at.place(at.row.line))),
    }
}

/// What each memory space holds at its true peak: the first of them, if there are very many.
fn peaks(source: &Source<'_, '_, FileLocation>) -> Vec<Peak<FileLocation>> {
    let spaces = source.audit.dump.occupancy().spaces.iter();
    let peak = |color| {
        let query = PeakQuery::true_peak(color, usize::MAX);
        records::peak(source, &query).0
    };
    let spaces = spaces.take(records::MOST_SPACES);
    spaces.map(|space| peak(space.color)).collect()
}
