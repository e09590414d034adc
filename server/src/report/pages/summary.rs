//! What dumps reserve and occupy.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::{STATIC, counted, missing};
use crate::model::bytes::{display, rounded};
use crate::report::page::Page;
use crate::report::records::{Module, Space, Summary};
use crate::report::table::{Cell, Column, Place, Table};

/// One dump with all its memory spaces, or many dumps with one; at most `limit` of these.
pub fn page(summary: &Summary, color: u64, limit: usize) -> Page {
    match &summary.modules[..] {
        [module] => one(module),
        modules => many(modules, color, limit),
    }
}

fn one(module: &Module) -> Page {
    let mut page = Page::default();
    let steps = module.steps.map(|steps| {
        let steps = usize::try_from(steps).unwrap_or(usize::MAX);
        counted(steps, "step")
    });
    let total = module.total_bytes;
    let total = total.map_or_else(
        || "the bytes are not known".to_owned(),
        |bytes| match module.missing_bytes {
            Some(missing) if missing > 0 => {
                let printed = rounded(bytes.saturating_add(missing));
                format!("{} of {printed} in all", display(bytes))
            }
            _ => format!("{} in all", display(bytes)),
        },
    );
    // What is not there is not counted.
    let what: Vec<String> = [
        module.allocations.map(|count| counted(count, "allocation")),
        module.values.map(|count| counted(count, "value")),
        steps,
    ]
    .into_iter()
    .flatten()
    .collect();
    page.verdict(format!(
        "{}: {}",
        module.module,
        if what.is_empty() {
            total
        } else {
            format!("{total}; {}", what.join(", "))
        }
    ));
    page.text(STATIC);
    let mut table = Table::new(&[
        Column::new("occupied", "", Place::Row),
        Column::new("at step", "", Place::Row),
        Column::new("reserved", "", Place::Row),
        Column::new("padding", "", Place::Row),
        Column::new("thread-local", "", Place::Row),
        Column::new("memory space", "", Place::Cut),
        Column::new("instruction", "", Place::Whole),
    ]);
    table.rows = module.spaces.iter().map(space_row).collect();
    page.table(table);
    for sentence in missing(module.missing_live_ranges, module.missing_bytes) {
        page.text(sentence);
    }
    if let Some(reason) = module.reason {
        page.text(format!("No peak is known: {reason}."));
    }
    if let Some(printed) = &module.xla_peak {
        page.text(format!("XLA prints step {} as its peak.", printed.step));
    }
    page
}

fn space_row(space: &Space) -> Vec<Cell> {
    let peak = space.peak.as_ref();
    // No instruction is to blame for a peak of nothing.
    let full = peak.filter(|peak| peak.occupied_bytes > 0);
    vec![
        Cell::bytes(peak.map(|peak| peak.occupied_bytes)),
        full.map_or(Cell::Empty, |peak| Cell::Number(peak.step)),
        Cell::Bytes(space.reserved_bytes),
        Cell::bytes(space.padding_bytes),
        match space.thread_local_bytes {
            0 => Cell::Empty,
            bytes => Cell::Bytes(bytes),
        },
        Cell::text(&space.name),
        match full {
            Some(full) => full.instruction.clone().into(),
            None => peak.map(|_| "nothing").into(),
        },
    ]
}

fn many(modules: &[Module], color: u64, limit: usize) -> Page {
    let mut page = Page::default();
    let mut names: Vec<&str> = modules
        .iter()
        .filter_map(|module| Some(module.space(color)?.name.as_str()))
        .collect();
    names.sort_unstable();
    names.dedup();
    let space = match names[..] {
        [name] => name.to_owned(),
        _ => format!("memory space {color}"),
    };
    page.verdict(format!(
        "{}, by the bytes of {space} occupied at the true peak",
        counted(modules.len(), "dump")
    ));
    let (below, files) = files(
        modules
            .iter()
            .map(|it| (it.stem.as_str(), it.module.as_str())),
    );
    page.text(format!("Static, each of one module only.{below}"));
    let mut table = Table::new(&[
        Column::new("occupied", "", Place::Row),
        Column::new("at step", "", Place::Row),
        Column::new("reserved", "", Place::Row),
        Column::new("padding", "", Place::Row),
        Column::new("module", "", Place::Cut),
        Column::new("files", "", Place::Whole),
    ]);
    table.rows = modules
        .iter()
        .zip(files)
        .take(limit)
        .map(|(module, files)| {
            let space = module.space(color);
            let peak = space.and_then(|space| space.peak.as_ref());
            let full = peak.filter(|peak| peak.occupied_bytes > 0);
            vec![
                Cell::bytes(peak.map(|peak| peak.occupied_bytes)),
                full.map_or(Cell::Empty, |peak| Cell::Number(peak.step)),
                Cell::bytes(space.map(|space| space.reserved_bytes)),
                Cell::bytes(space.and_then(|space| space.padding_bytes)),
                Cell::text(&module.module),
                Cell::text(files),
            ]
        })
        .collect();
    page.table(table);
    if modules.len() > limit {
        page.text(format!(
            "... and {}, none larger.",
            counted(modules.len() - limit, "more dump")
        ));
    }
    let mut reasons: BTreeMap<&str, usize> = BTreeMap::new();
    for reason in modules.iter().filter_map(|module| module.reason) {
        *reasons.entry(reason).or_default() += 1;
    }
    for (reason, count) in reasons {
        let of = counted(count, "dump");
        page.text(format!("Of {of} no peak is known: {reason}."));
    }
    let cut = modules
        .iter()
        .filter(|module| module.missing_bytes.is_some_and(|bytes| bytes > 0))
        .count();
    if cut > 0 {
        let of = counted(cut, "dump");
        page.text(format!(
            "In {of} allocations that the compiler counts are not there, as where a file is cut: the numbers here are too small."
        ));
    }
    let unsure = modules
        .iter()
        .filter(|module| module.missing_live_ranges.is_some_and(|values| values > 0))
        .count();
    if unsure > 0 {
        let of = counted(unsure, "dump");
        page.text(format!(
            "In {of} values lack a live range or a place in an allocation: the true peak may be higher."
        ));
    }
    page
}

/// Of dumps with these stems and names of programs, a sentence on the folder that all of them are
/// below, and from there the files of each, as a shell understands it.
pub(super) fn files<'m>(
    dumps: impl Iterator<Item = (&'m str, &'m str)> + Clone,
) -> (String, Vec<String>) {
    let stems: Vec<&str> = dumps.clone().map(|(stem, _)| stem).collect();
    let (folder, sentence) = folder(&stems);
    let stems: Vec<String> = stems.iter().map(|stem| below(stem, &folder)).collect();
    let mut sorted: Vec<&str> = stems.iter().map(String::as_str).collect();
    sorted.sort_unstable();
    let modules = dumps.map(|(_, module)| module);
    let files = stems.iter().zip(modules);
    let files = files.map(|(stem, module)| pattern(stem, module, &sorted));
    (sentence, files.collect())
}

/// The files of a dump, as a shell understands it, and no files of the others, whose stems are
/// `sorted`: what stands behind the name of the program is the same for most of them.
/// `run/module_0001*`
fn pattern(stem: &str, module: &str, sorted: &[&str]) -> String {
    let short = stem.rsplit_once(&format!(".{module}."));
    let short = short.filter(|(_, tail)| !tail.contains(['/', '\\']));
    let starts = short.into_iter().flat_map(|(head, _)| {
        let end = head.len();
        [end, end + module.len() + 2]
    });
    for start in starts.chain([stem.len()]).map(|end| &stem[..end]) {
        let from = sorted.partition_point(|other| *other < start);
        let same = sorted[from..].iter().take_while(|it| it.starts_with(start));
        if same.take(2).count() == 1 {
            return format!("{}*", quoted(start));
        }
    }
    // Another stem is longer; the suffixes of the files tell them apart.
    format!("{}*", quoted(&format!("{stem}-")))
}

/// A path as a shell takes it to the letter. None has a NUL, which alone cannot be quoted.
fn quoted(path: &str) -> Cow<'_, str> {
    shlex::try_quote(path).unwrap_or(Cow::Borrowed(path))
}

/// The folder that all dumps are below, and a sentence that says so.
pub(super) fn folder(stems: &[&str]) -> (PathBuf, String) {
    let mut folders = stems.iter().filter_map(|stem| Path::new(stem).parent());
    let first = folders.next().map(Path::to_owned).unwrap_or_default();
    let common = folders.fold(first, |common, folder| {
        let same = common.components().zip(folder.components());
        same.take_while(|(left, right)| left == right)
            .map(|(part, _)| part)
            .collect()
    });
    if common.as_os_str().is_empty() {
        return (common, String::new());
    }
    // `..` says nothing to who reads this elsewhere.
    let whole = common.canonicalize();
    let sentence = format!(
        " Files are below {}.",
        whole.as_ref().unwrap_or(&common).display()
    );
    (common, sentence)
}

/// The rest of a path below `folder`.
pub(super) fn below(stem: &str, folder: &Path) -> String {
    let stem = Path::new(stem);
    let below = stem.strip_prefix(folder).unwrap_or(stem);
    below.to_string_lossy().into_owned()
}

/// Every memory space of every dump, for programs.
pub fn table(summary: &Summary) -> Table {
    let exact = |key| Column::new("", key, Place::Exact);
    let keys = [
        "module",
        "stem",
        "platform",
        "total_bytes",
        "allocations",
        "values",
        "steps",
        "space",
        "space_name",
        "reserved_bytes",
        "thread_local_bytes",
        "padding_bytes",
        "peak_step",
        "peak_instruction",
        "peak_bytes",
        "xla_peak_step",
        "xla_listed_bytes",
    ];
    let mut table = Table::new(&keys.map(exact));
    for module in &summary.modules {
        let printed = module.xla_peak.as_ref();
        let spaces = module.spaces.iter().map(Some);
        // A dump without allocations has its line too.
        let none = module.spaces.is_empty().then_some(None);
        table.rows.extend(spaces.chain(none).map(|space| {
            let peak = space.and_then(|space| space.peak.as_ref());
            vec![
                Cell::text(&module.module),
                Cell::text(&module.stem),
                Cell::text(module.platform),
                Cell::number(module.total_bytes),
                Cell::number(module.allocations.map(|count| count as u64)),
                Cell::number(module.values.map(|count| count as u64)),
                Cell::number(module.steps),
                Cell::number(space.map(|space| space.color)),
                space.map(|space| space.name.as_str()).into(),
                Cell::number(space.map(|space| space.reserved_bytes)),
                Cell::number(space.map(|space| space.thread_local_bytes)),
                Cell::number(space.and_then(|space| space.padding_bytes)),
                Cell::number(peak.map(|peak| peak.step)),
                peak.and_then(|peak| peak.instruction.as_deref()).into(),
                Cell::number(peak.map(|peak| peak.occupied_bytes)),
                Cell::number(printed.map(|printed| printed.step)),
                Cell::number(printed.map(|printed| printed.listed_bytes)),
            ]
        }));
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_is_of_one_dump() {
        let stems = [
            "a/module_0000.jit_f.cl_1.after",
            "a/module_0000.jit_f_1.cl_1.after",
            "a/module_0001.jit_f.cl_1.after",
            "of $(me)/it's",
            "other",
            "other2",
        ];
        let patterns = stems.map(|stem| {
            let module = if stem.contains("jit_f_1") {
                "jit_f_1"
            } else {
                "jit_f"
            };
            pattern(stem, module, &stems)
        });
        assert_eq!(
            patterns,
            [
                "a/module_0000.jit_f.*",
                "a/module_0000.jit_f_1.*",
                "a/module_0001*",
                "'of $(me)/it'\"'s\"*",
                "other-*",
                "other2*",
            ]
        );
    }
}
