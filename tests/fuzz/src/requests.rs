//! Texts as the files of one dump: every question about it has an answer, with places that are in it.
//!
//! Byte 0xFE in a text is a cursor.

use std::ops::Range;
use std::path::{Path, PathBuf};

use buflens::audit::Audit;
use buflens::audit::attribution::By;
use buflens::checks::{self, Severities, Thresholds};
use buflens::ide::{
    call_hierarchy, completion, folding, hints, hover, lenses, links, navigation, references,
    selection, symbols, tokens,
};
use buflens::model::failure::failures;
use buflens::model::lines::Lines;
use buflens::model::source::Libraries;
use buflens::model::source_map::SourceMap;
use buflens::model::{Dump, File, FileId, Place};
use buflens::report::html::dump::{self as report, Wanted};
use buflens::report::page::Page;
use buflens::report::records::{
    self, Answer, FileLocation, OutOfMemory, PeakQuery, Source, Summary,
};
use buflens::report::table::Table;
use buflens::report::{
    Counts, Judged, export, html, json, markdown, pages, sarif, svg, text, text_map,
};
use buflens_syntax::Document;
use serde::Serialize;

use super::{boundary, parts};

const CURSOR: u8 = 0xFE;
/// So many cursors of a text are looked at.
const CURSORS: usize = 8;
/// As few as make a list say how many more there are.
const LIMIT: usize = 3;

/// Reads the parts as the files of a dump, and asks everything.
pub fn check(data: &[u8]) {
    let mut files = Vec::new();
    let mut cursors = Vec::new();
    for part in parts(data) {
        let (text, offsets) = text_with_cursors(part);
        cursors.extend(offsets.into_iter().map(|offset| (files.len(), offset)));
        files.push(File {
            path: PathBuf::from(format!(
                "module_{:04}.jit_f.tpu_after_optimizations.txt",
                files.len()
            )),
            document: Document::new(&text).expect("a small text"),
            lossy: false,
        });
    }
    let dump = Dump::new(files.clone());
    for file in 0..files.len() {
        ask_about(&dump, file);
    }
    for (file, offset) in cursors {
        ask_at(&dump, file, offset);
    }
    let _ = symbols::workspace_symbols(&dump, "f32", LIMIT);
    files.remove(0);
    answers(&dump, &Dump::new(files));
}

/// The text, and its cursors besides its start and end.
fn text_with_cursors(part: &[u8]) -> (String, Vec<u32>) {
    let mut text = String::new();
    let mut offsets = vec![0];
    for piece in part.split(|&byte| byte == CURSOR) {
        text.push_str(&String::from_utf8_lossy(piece));
        if offsets.len() <= CURSORS {
            offsets.push(text.len() as u32);
        }
    }
    offsets.push(text.len() as u32);
    offsets.push(boundary(&text, text.len() / 2) as u32);
    (text, offsets)
}

fn assert_inside(document: &Document, range: &Range<u32>) {
    let text = document.text();
    let range = range.start as usize..range.end as usize;
    assert!(
        text.get(range.clone()).is_some(),
        "{range:?} is not in a text of {} bytes",
        text.len()
    );
}

fn assert_place(dump: &Dump, place: &Place) {
    let file = dump.files.get(place.file).expect("a file of the dump");
    assert_inside(&file.document, &place.range);
}

fn ask_about(dump: &Dump, file: FileId) {
    let document = &dump.files[file].document;
    let all = 0..document.len();
    for limit in [LIMIT, usize::MAX] {
        for symbol in symbols::document_symbols(dump, file, limit) {
            assert_inside(document, &symbol.range);
            assert_inside(document, &symbol.selection);
        }
        let _ = folding::folds(document, limit);
    }
    for columns in [2, u32::MAX] {
        let mut end = 0;
        for token in tokens::tokens(document, all.clone(), columns) {
            assert_inside(document, &token.range);
            assert!(end <= token.range.start, "{token:?} begins before {end}");
            end = token.range.end;
        }
    }
    for (link, ()) in links::links(dump, file, usize::MAX, |_| Some(())) {
        assert_inside(document, &link.range);
    }
    let _ = hints::hints(dump, file, all, &hints::Kind::ALL);
    let _ = lenses::lenses(dump, file);
}

fn ask_at(dump: &Dump, file: FileId, offset: u32) {
    let document = &dump.files[file].document;
    let libraries = Libraries::default();
    if let Some(hover) = hover::hover(dump, file, offset, &hover::Sources::from(&libraries)) {
        assert_inside(document, &hover.range);
    }
    for request in [
        navigation::definition,
        navigation::declaration,
        navigation::type_definition,
        navigation::implementation,
    ] {
        for target in request(dump, file, offset)
            .into_iter()
            .flat_map(|found| found.targets)
        {
            assert_place(dump, &target.place);
        }
    }
    for declaration in [false, true] {
        for place in references::references(dump, file, offset, declaration, usize::MAX) {
            assert_place(dump, &place);
        }
    }
    for range in references::highlights(dump, file, offset, usize::MAX) {
        assert_inside(document, &range);
    }
    for range in selection::selection(document, offset) {
        assert_inside(document, &range);
    }
    let _ = completion::completion(dump, file, offset, LIMIT);
    if let Some(item) = call_hierarchy::prepare(dump, file, offset) {
        let _ = call_hierarchy::incoming(dump, item.node);
        let _ = call_hierarchy::outgoing(dump, item.node, item.place.file);
    }
}

/// All that is found and reported of a dump, and what changed since another.
fn answers(dump: &Dump, other: &Dump) {
    let found = checks::check(dump);
    for finding in &found {
        assert_place(dump, &finding.place);
        for (place, _) in &finding.related {
            assert_place(dump, place);
        }
        if let Some(fix) = &finding.fix {
            assert_place(dump, &fix.place);
        }
    }
    let severities = Severities::default();
    let judged: Vec<Judged> = found
        .into_iter()
        .filter_map(|finding| {
            Some(Judged {
                severity: severities.of(finding.code)?,
                finding,
            })
        })
        .collect();
    write_findings(dump, &judged);

    let audit = Audit::new(dump, Libraries::default());
    let locate = |place: &Place| FileLocation::new(dump, place);
    let source = Source {
        audit: &audit,
        locate: &locate,
    };
    let title = buflens::workspace::program_name(dump);
    for limit in [LIMIT, usize::MAX] {
        write_memory(&source, limit);
        let map = records::map(&audit, limit);
        text_map::text(&map, &title, &text_map::Options::default());
        svg::svg(&map, &title, &svg::Options::default());
        write_json(&map);
    }
    report::report(
        &source,
        &Wanted {
            limit: LIMIT,
            device: None,
            thresholds: Thresholds::default(),
            severities: Severities::default(),
        },
    );
    let export = export::Export {
        audit: &audit,
        findings: &|| judged.clone(),
    };
    for format in export::Format::ALL {
        if export.problem(format).is_none() {
            export
                .write(format, &mut Vec::new())
                .expect("memory takes it all");
        }
    }
    write_failures(&source);

    let same = Answer::new(dump, records::diff([&source, &source], LIMIT));
    assert!(same.content.nothing_changed, "a dump is not as itself");
    let audit = Audit::new(other, Libraries::default());
    let locate = |place: &Place| FileLocation::new(other, place);
    let before = Source {
        audit: &audit,
        locate: &locate,
    };
    let diff = Answer::new(dump, records::diff([&before, &source], LIMIT));
    write(
        &diff,
        &pages::diff::page(&diff),
        &pages::diff::table([&diff]),
    );
}

fn write_findings(dump: &Dump, judged: &[Judged]) {
    let mut out = Vec::new();
    let written = json::Writer::new(&mut out).and_then(|mut writer| {
        writer.findings(dump, judged)?;
        writer.finish()
    });
    written.expect("memory takes it all");
    serde_json::from_slice::<serde_json::Value>(&out).expect("the findings are JSON");
    let mut writer = sarif::Writer::new(PathBuf::from("/folder"));
    writer.findings(dump, judged);
    writer
        .finish(&mut out, &[], true)
        .expect("memory takes it all");
    let mut writer = markdown::Writer::default();
    writer.findings(dump, judged);
    writer
        .finish(&mut out, &Counts::default(), &[])
        .expect("memory takes it all");
    let mut writer = text::Writer::new(&mut out, 80);
    writer.findings(dump, judged).expect("memory takes it all");
}

/// The answers about memory, as commands give them.
fn write_memory(source: &Source<'_, '_, FileLocation>, limit: usize) {
    let dump = source.audit.dump;
    let spaces: Vec<u64> = dump
        .occupancy()
        .spaces
        .iter()
        .map(|space| space.color)
        .collect();
    for color in spaces.into_iter().chain([0]) {
        for without in [&[][..], &[0][..]] {
            let without = if dump.values.is_empty() { &[] } else { without };
            let query = PeakQuery {
                color,
                step: None,
                without,
                limit,
            };
            let (peak, held) = records::peak(source, &query);
            let answer = Answer::new(dump, peak);
            let by = [By::OpName, By::Source, By::Opcode, By::Shape];
            let attributed: Vec<_> = by
                .map(|by| (by, records::attribution(source.audit, &held, by)))
                .into();
            write(
                &answer,
                &pages::peak::page(&answer, &attributed, limit),
                &pages::peak::values(&answer.content),
            );
        }
    }
    for allocation in &dump.allocations {
        if let Some(values) = records::allocation(source, allocation.index, None, limit) {
            let answer = Answer::new(dump, values);
            write(
                &answer,
                &pages::allocation::page(&answer),
                &pages::allocation::values(&answer.content),
            );
        }
        let _ = records::values_at_offset(source, allocation.index, 0, None);
    }
    let _ = records::what_if(
        source.audit,
        0,
        dump.values.iter().map(|value| value.id).collect(),
    );
    let padding = Answer::new(dump, records::padding(source, None, limit));
    write(
        &padding,
        &pages::padding::page(&padding, false),
        &pages::padding::values(&padding.content),
    );
    let audits = Answer::new(dump, records::audits(source, [true; 3], limit));
    write(&audits, &pages::audit::page(&audits), &Table::new(&[]));
    let module = records::module(source.audit, Path::new("dump.txt"));
    let summary = Summary::new(vec![module], 0);
    write(
        &summary,
        &pages::summary::page(&summary, 0, limit),
        &pages::summary::table(&summary),
    );
    let lines = Lines {
        file: "model.py".to_owned(),
        range: Some(1..=20),
    };
    let made = records::made(
        source,
        Path::new("dump.txt"),
        &lines,
        None,
        &SourceMap::EMPTY,
        limit,
    );
    drop(made);
}

/// What failed compiles printed.
fn write_failures(source: &Source<'_, '_, FileLocation>) {
    for file in &source.audit.dump.files {
        for source in [None, Some(source)] {
            let failures = failures(&file.document);
            let failures = failures.iter().map(|failure| (1, failure));
            let text = records::FailedText {
                file: "dump.txt".to_owned(),
                reason: None,
                failures: records::failed(failures, source, LIMIT),
            };
            let answer = OutOfMemory::new(vec![text]);
            write(
                &answer,
                &pages::oom::page(&answer),
                &pages::oom::entries(&answer),
            );
        }
    }
}

fn write(record: &impl Serialize, page: &Page, table: &Table) {
    write_json(record);
    let mut out = Vec::new();
    page.write_text(&mut out, 80).expect("memory takes it all");
    page.write_markdown(&mut out).expect("memory takes it all");
    table.write_csv(&mut out).expect("memory takes it all");
    html::document(page);
}

fn write_json(record: &impl Serialize) {
    serde_json::to_vec(record).expect("a record can be JSON");
}
