use std::fmt::Write as _;
use std::path::PathBuf;

use buflens_syntax::Document;

use super::*;
use crate::checks::{Finding, Standing, Thresholds, check, check_next};
use crate::model::{File, Numbering};
use crate::real_dumps::fixture;

/// A program of so many computations that it has several blocks, each of which is run once.
fn long_program(computations: usize) -> String {
    let mut text = "HloModule jit_f, is_scheduled=true\n\n".to_owned();
    let mut entry =
        "ENTRY %main (x.0: f32[4]) -> f32[4] {\n  %x.0 = f32[4]{0} parameter(0)\n".to_owned();
    for at in 0..computations {
        let next = at + 1;
        let root = if next == computations { "ROOT " } else { "" };
        writeln!(
            text,
            "%f.{at}. (p.{at}: f32[4]) -> f32[4] {{\n  %p.{at} = f32[4]{{0}} parameter(0)\n  \
             ROOT %r.{at} = f32[4]{{0}} negate(%p.{at}), metadata={{op_name=\"jit(f)/neg\"}}\n}}\n"
        )
        .expect("text");
        writeln!(
            entry,
            "  {root}%x.{next} = f32[4]{{0}} fusion(%x.{at}), kind=kLoop, calls=%f.{at}."
        )
        .expect("text");
    }
    text + &entry + "}\n"
}

/// The states of a text, each checked behind the one before.
#[derive(Default)]
struct States {
    numbering: Numbering,
    standing: Standing,
}

impl States {
    /// The findings in `text`, and how many of its blocks were read for them.
    fn check(&mut self, document: &Document) -> (Vec<Finding>, usize) {
        let file = File {
            path: PathBuf::from("m.txt"),
            document: document.clone(),
            lossy: false,
        };
        let before = self.standing.seen();
        let dump = Dump::numbered(vec![file], &mut self.numbering);
        let found = check_next(&dump, &Thresholds::default(), &self.standing);
        assert_eq!(found, check(&dump));
        let is_known = |it: &&Arc<Seen>| before.iter().any(|known| Arc::ptr_eq(it, known));
        let seen = self.standing.seen();
        let known = seen.iter().filter(is_known).count();
        (found, seen.len() - known)
    }
}

/// Only what an edit touches is read again, and what hangs on that.
#[test]
fn what_an_edit_does_not_reach_is_not_read_again() {
    let text = long_program(400);
    let document = Document::new(&text).expect("a short text");
    let blocks = document.blocks().len();
    assert!(blocks > 8, "{blocks}");
    for (from, to, findings, read) in [
        (
            "negate(%p.200), metadata={op_name=\"jit",
            "negate(%p.200), metadata={op_name=\"pit",
            0,
            1..3,
        ),
        ("negate(%p.200)", "negate(%p.2)", 1, 1..3),
        // Its computation, and what runs that.
        ("r.200 = f32[4]", "r.200 = f32[5]", 1, 2..5),
        ("%r.200 = ", "%s.200 = ", 0, 2..5),
        ("ROOT %r.200", "%r.200", 0, 2..5),
        // All the rest of the program.
        ("%x.200 = ", "%y.200 = ", 1, 3..blocks / 2),
        ("%f.200. (p", "%f.x. (p", 1, blocks..blocks + 1),
    ] {
        let mut states = States::default();
        assert_eq!(states.check(&document), (Vec::new(), blocks));
        let at = text.find(from).expect("it is there") as u32;
        let edited = document.clone().edit(at..at + from.len() as u32, to);
        let edited = edited.expect("a short text");
        let (found, count) = states.check(&edited);
        assert_eq!(found.len(), findings, "{to}: {found:?}");
        assert!(
            read.contains(&count),
            "{to}: {count} of {blocks} blocks read"
        );
        // What is wrong is looked at again when it is mended. (Of the very text that was sound, nothing is.)
        let mended = edited.edit(at..at + to.len() as u32, from);
        let mended = mended.expect("a short text");
        let end = at + text[at as usize..].find('\n').expect("a line") as u32;
        let mended = mended.edit(end..end, " ");
        let (found, count) = states.check(&mended.expect("a short text"));
        assert_eq!(found, [], "{to}");
        assert!(
            read.contains(&count),
            "{to}: {count} of {blocks} blocks read"
        );
    }
}

/// Rows count for the heading before them.
#[test]
fn a_heading_that_moves_changes_what_all_blocks_hang_on() {
    let tables = "FileNames\n1 \"a.py\"\n\nFunctionNames\n1 \"f\"\n\nFileLocations\n\
                  1 {file_name_id=1 function_name_id=1 line=1 end_line=1 column=1 end_column=2}\n";
    let (heading, row) = (
        "\nStackFrames\n",
        "1 {file_location_id=1 parent_frame_id=1}\n",
    );
    let program = long_program(400).replace("/neg\"", "/neg\" stack_frame_id=2");
    let (module, program) = program.split_once("\n\n").expect("a header");
    let next_row = row.replacen('1', "2", 1);
    let text = format!("{module}\n\n{tables}{heading}{row}{next_row}\n\n{program}");
    let document = Document::new(&text).expect("a short text");
    let mut states = States::default();
    assert_eq!(states.check(&document).0, []);
    let at = text.find(heading).expect("it is there") as u32;
    let end = at + (heading.len() + row.len()) as u32;
    let moved = document.edit(at..end, &format!("{row}{heading}"));
    let (found, _) = states.check(&moved.expect("a short text"));
    assert!(found.len() > 400, "{}", found.len());
}

/// Edits at places that a fixed sequence of numbers chooses.
#[test]
fn what_is_found_behind_edits_is_what_is_found_anew() {
    let pieces = [
        "",
        "1",
        "9",
        ".",
        "x",
        "%p.7",
        "ROOT ",
        "\n",
        "f32[4]",
        ", ",
        "negate",
        "}\n",
        "calls=%f.3.",
        "{0}",
        "(",
    ];
    let mut state = 7_u64;
    let mut number = |below: usize| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (state >> 33) as usize % below
    };
    let real = fixture("module_0027.jit_mlp_sgd");
    let is_module = |path: &&PathBuf| path.to_string_lossy().ends_with("optimizations.txt");
    let real = real.iter().find(is_module).expect("an HLO text");
    let real = std::fs::read_to_string(real).expect("UTF-8");
    let mut with_findings = 0;
    for text in [long_program(150), real].iter().cycle().take(30) {
        let mut states = States::default();
        let mut document = Document::new(text).expect("a short text");
        for _ in 0..12 {
            let text = document.text();
            let start = number(text.len());
            let end = (start + number(3)).min(text.len());
            let piece = pieces[number(pieces.len())];
            let changed = document.clone().edit(start as u32..end as u32, piece);
            let changed = changed.expect("a short text");
            with_findings += usize::from(!states.check(&changed).0.is_empty());
            // Most of what is broken is mended again.
            if number(4) > 0 {
                states.check(&document);
            } else {
                document = changed;
            }
        }
    }
    assert!(with_findings > 150, "{with_findings}");
}
