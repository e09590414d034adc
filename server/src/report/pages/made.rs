//! What lines of source made.

use std::path::Path;

use super::{STATIC, counted, live, percent, range, short_source, summary};
use crate::model::bytes::rounded;
use crate::report::page::Page;
use crate::report::records::{FileLocation, Made, MadeDump, MadeLine, MadeSpace, MadeValue};
use crate::report::table::{Cell, Column, Place, Table};

/// The whole answer; at most `limit` lines and dumps.
pub fn page(made: &Made<FileLocation>, limit: usize) -> Page {
    let mut page = Page::default();
    page.verdict(verdict(made));
    if let [dump] = &made.dumps[..] {
        let others = dump.spaces.iter().filter(|it| Some(*it) != fullest(dump));
        for space in others {
            page.text(format!("And {}.", held(space)));
        }
        if let Some(reason) = dump.reason {
            page.text(format!("No peak is known: {reason}."));
        }
    }
    if let [_, _, ..] = &made.files[..] {
        page.text(format!(
            "It may be any of {}: {}. More of its path says which.",
            counted(made.files.len(), "file"),
            made.files.join(", ")
        ));
    } else if let [file] = &made.files[..]
        && *file != made.file
    {
        page.text(format!("Dumps name it {file}."));
    }
    if made.dumps.is_empty() {
        nothing(&mut page, made);
        return page;
    }
    let stems = made
        .dumps
        .iter()
        .map(|it| (it.stem.as_str(), it.module.as_str()));
    let (below, files) = summary::files(stems);
    page.text(match made.dumps[..] {
        [_] => STATIC.to_owned(),
        _ => format!("Static, each of one module only.{below}"),
    });
    // A line alone has been told of.
    if made.lines.is_none_or(|[first, last]| first != last) {
        page.heading("By line, with all that it calls");
        page.table(lines(&made.by_line, limit, made.files.len() > 1));
        let left_out = made.by_line.len().saturating_sub(limit);
        rest(&mut page, left_out, "more line");
    }
    if made.dumps.len() > 1 {
        page.heading("By dump");
        page.table(dumps(&made.dumps, files, limit));
        let left_out = made.dumps.len().saturating_sub(limit);
        rest(&mut page, left_out, "more dump");
    }
    page.heading("Values, the largest first");
    if let Some(file) = only_file(made) {
        page.text(format!("Lines are of the dump's `*{file}`."));
    }
    page.table(values(made));
    rest(&mut page, made.values_left_out, "more value");
    page
}

/// How many rows a table has left out.
fn rest(page: &mut Page, left_out: usize, what: &str) {
    if left_out > 0 {
        page.text(format!("... and {}.", counted(left_out, what)));
    }
}

/// `model.py:10-20`
fn asked<L>(made: &Made<L>) -> String {
    match made.lines {
        Some([first, last]) => {
            let lines = range((u64::from(first), u64::from(last)));
            format!("{}:{lines}", made.file)
        }
        None => made.file.clone(),
    }
}

fn verdict<L>(made: &Made<L>) -> String {
    let asked = asked(made);
    let values: usize = made.dumps.iter().map(|dump| dump.values).sum();
    match &made.dumps[..] {
        [] => {
            let space = made.space.as_deref();
            format!(
                "{asked} made no value {}in {}",
                space
                    .map(|it| format!("in {} ", of_space(it)))
                    .unwrap_or_default(),
                counted(made.dumps_read, "dump")
            )
        }
        [dump] => {
            let of = match fullest(dump) {
                Some(space) => format!(": {}", held(space)),
                None => String::new(),
            };
            let module = &dump.module;
            format!("{asked} made {} of {module}{of}", counted(values, "value"))
        }
        [first, ..] => {
            let most = match fullest(first).filter(|space| space.at_peak_bytes > Some(0)) {
                Some(space) => format!("; most in {}: {}", first.module, held(space)),
                None => String::new(),
            };
            format!(
                "{asked} made {} in {} of {}{most}",
                counted(values, "value"),
                made.dumps.len(),
                counted(made.dumps_read, "dump")
            )
        }
    }
}

/// `memory space 2` of `2` or `@2`; a name as it is.
fn of_space(text: &str) -> String {
    let number = text.trim().trim_start_matches('@').parse();
    number.map_or_else(
        |_| text.to_owned(),
        |number: u64| format!("memory space {number}"),
    )
}

/// The memory space that they hold the most of at its peak.
fn fullest(dump: &MadeDump) -> Option<&MadeSpace> {
    let spaces = dump.spaces.iter().rev();
    spaces.max_by_key(|space| space.at_peak_bytes)
}

/// `325.0 MiB of the 965.7 MiB of HBM at its true peak, step 13 (33.7 %)`
fn held(space: &MadeSpace) -> String {
    match (space.at_peak_bytes, &space.peak) {
        (Some(0), Some(peak)) => format!(
            "nothing of the {} of {} at its true peak, step {}",
            rounded(peak.occupied_bytes),
            space.name,
            peak.step
        ),
        (Some(bytes), Some(peak)) => format!(
            "{} of the {} of {} at its true peak, step {} ({:.1} %)",
            rounded(bytes),
            rounded(peak.occupied_bytes),
            space.name,
            peak.step,
            percent(bytes, peak.occupied_bytes)
        ),
        _ => format!("in {}", space.name),
    }
}

/// Why there is nothing, as far as it is known.
fn nothing<L>(page: &mut Page, made: &Made<L>) {
    if made.dumps_read == 0 {
    } else if made.dumps_with_source == 0 {
        page.text(format!(
            "{} which lines made its values: either no instruction names any, or what does is missing, \
             which is the used values, and in newer dumps tables of the HLO text beside them.",
            match made.dumps_read {
                1 => "It does not tell",
                _ => "None of them tells",
            }
        ));
    } else if made.nearest.is_empty() && made.other_files.is_empty() {
        page.text("What it made lies in other memory spaces.");
    } else if made.nearest.is_empty() {
        page.text(format!(
            "No value comes from a file of this name. Files that made values: {}.",
            made.other_files.join(", ")
        ));
    } else {
        page.heading("The nearest lines of it that made values");
        page.table(lines(&made.nearest, usize::MAX, made.files.len() > 1));
    }
}

fn lines(lines: &[MadeLine], limit: usize, with_file: bool) -> Table {
    let mut table = Table::new(&[
        Column::new("line", "", Place::Row),
        Column::new("at peak", "", Place::Row),
        Column::new("space", "", Place::Row),
        Column::new("largest", "", Place::Row),
        Column::new("values", "", Place::Row),
        Column::new("dumps", "", Place::Row),
        Column::new("function", "", Place::Cut),
        Column::new("file", "", Place::Below),
    ]);
    let are_mixed = are_mixed(lines.iter().filter_map(|line| line.space_name.as_deref()));
    let row = |line: &MadeLine| {
        vec![
            line.line
                .map_or(Cell::text("?"), |line| Cell::text(line.to_string())),
            line.at_peak_bytes.map_or(Cell::Empty, Cell::Bytes),
            line.space_name.clone().filter(|_| are_mixed).into(),
            Cell::bytes(line.largest_bytes),
            Cell::Number(line.values as u64),
            Cell::Number(line.dumps as u64),
            line.function.clone().into(),
            with_file.then(|| line.file.clone()).into(),
        ]
    };
    table.rows = lines.iter().take(limit).map(row).collect();
    table
}

fn dumps(dumps: &[MadeDump], files: Vec<String>, limit: usize) -> Table {
    let mut table = Table::new(&[
        Column::new("at peak", "", Place::Row),
        Column::new("of", "", Place::Row),
        Column::new("space", "", Place::Row),
        Column::new("values", "", Place::Row),
        Column::new("module", "", Place::Cut),
        Column::new("files", "", Place::Whole),
    ]);
    let row = |(dump, files): (&MadeDump, String)| {
        let space = fullest(dump);
        let of = space.and_then(|space| space.peak.as_ref());
        vec![
            space
                .and_then(|space| space.at_peak_bytes)
                .map_or(Cell::Empty, Cell::Bytes),
            of.map_or(Cell::Empty, |peak| Cell::Bytes(peak.occupied_bytes)),
            space.map(|space| space.name.clone()).into(),
            Cell::Number(dump.values as u64),
            Cell::text(&dump.module),
            Cell::text(files),
        ]
    };
    table.rows = dumps.iter().zip(files).take(limit).map(row).collect();
    table
}

/// Whether names of memory spaces are not all the same.
fn are_mixed<'n>(mut names: impl Iterator<Item = &'n str>) -> bool {
    let first = names.next();
    names.any(|name| Some(name) != first)
}

/// The values, exact enough for programs.
pub fn values(made: &Made<FileLocation>) -> Table {
    let names = made.values.iter();
    let are_mixed = are_mixed(names.filter_map(|value| value.space_name.as_deref()));
    let mut table = Table::new(&[
        Column::new("bytes", "bytes", Place::Row),
        Column::new("space", "", Place::Row),
        Column::new("at peak", "at_peak", Place::Row),
        Column::new("alive", "", Place::Row),
        Column::new("kind", "kind", Place::Row),
        Column::new("opcode", "opcode", Place::Loose),
        Column::new("value", "value", Place::Cut),
        Column::new("shape", "shape", Place::Own),
        Column::new("made in", "", Place::Below),
        Column::new("place", "", Place::Below),
        Column::new("op_name", "op_name", Place::Spare),
        Column::new("", "source", Place::Exact),
        Column::new("", "source_line", Place::Exact),
        Column::new("", "is_direct", Place::Exact),
        Column::new("", "module", Place::Exact),
        Column::new("", "id", Place::Exact),
        Column::new("", "allocation", Place::Exact),
        Column::new("", "space", Place::Exact),
        Column::new("", "space_name", Place::Exact),
        Column::new("", "offset", Place::Exact),
        Column::new("", "logical_bytes", Place::Exact),
        Column::new("", "first_step", Place::Exact),
        Column::new("", "last_step", Place::Exact),
        Column::new("", "file", Place::Exact),
        Column::new("", "line", Place::Exact),
    ]);
    let stems: Vec<&str> = made.dumps.iter().map(|dump| dump.stem.as_str()).collect();
    // Of one dump the name of the file is enough.
    let folder = (stems.len() > 1).then(|| summary::folder(&stems).0);
    let with_file = only_file(made).is_none();
    let rows = made.values.iter();
    table.rows = rows
        .map(|value| row(value, are_mixed, with_file, folder.as_deref()))
        .collect();
    table
}

/// How the name of the file ends in which all of the values are, where they are of one dump: `-buffer-assignment.txt`.
fn only_file(made: &Made<FileLocation>) -> Option<&str> {
    let [dump] = &made.dumps[..] else {
        return None;
    };
    let mut files = made.values.iter().map(|value| {
        let location = value.value.location.as_ref();
        location.map(|at| at.file.as_str())
    });
    let first = files.next()??;
    let suffix = first.strip_prefix(&dump.stem)?;
    files.all(|file| file == Some(first)).then_some(suffix)
}

fn row(
    made: &MadeValue<FileLocation>,
    with_space: bool,
    with_file: bool,
    folder: Option<&Path>,
) -> Vec<Cell> {
    let yes = |is: bool| Cell::text(if is { "yes" } else { "no" });
    let value = &made.value;
    let location = value.location.as_ref();
    let place = location.map(|at| {
        if !with_file {
            return format!("line {}", at.line);
        }
        let own = Path::new(&at.file).parent();
        let folder = folder.or(own).unwrap_or(Path::new(""));
        format!("{}:{}", summary::below(&at.file, folder), at.line)
    });
    let through = value.source.as_deref().filter(|_| !made.is_direct);
    vec![
        Cell::bytes(value.bytes),
        made.space_name.clone().filter(|_| with_space).into(),
        made.at_peak.map_or(Cell::Empty, yes),
        live(value).into(),
        value.kind.into(),
        value.opcode.clone().into(),
        Cell::text(value.label()),
        value.shape.clone().into(),
        short_source(through)
            .map(|line| format!("in {line}"))
            .into(),
        place.into(),
        value.op_name.clone().into(),
        value.source.clone().into(),
        Cell::number(made.line.map(u64::from)),
        yes(made.is_direct),
        Cell::text(&made.module),
        Cell::Number(value.id),
        Cell::number(value.allocation),
        Cell::number(made.space),
        made.space_name.clone().into(),
        Cell::number(value.offset),
        Cell::number(value.logical_bytes),
        Cell::number(value.live.map(|[start, _]| start)),
        Cell::number(value.live.map(|[_, end]| end)),
        location.map(|at| at.file.clone()).into(),
        location.map_or(Cell::Empty, |at| Cell::Number(u64::from(at.line))),
    ]
}
