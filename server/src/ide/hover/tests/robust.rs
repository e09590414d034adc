//! Hostile and broken text, and every real dump at hand.

use std::path::{Path, PathBuf};

use buflens_syntax::Shape;

use super::*;

/// Hovers at every place of a hostile text hold nothing that a reader of Markdown acts on.
#[test]
fn text_from_the_file_stays_text() {
    let evil = r#"[x](command:evil) <img src=x> `|` **b** http://evil.example"#;
    let tree =
        format!("    {evil} (100.0%, total: 8 bytes, current: 8 bytes, remaining: 0 bytes)\n");
    let text = DUMP.replace("jit(f)/caf", &format!("jit(f)/{evil} caf"))
        + "  Stack trace breakdown for peak usage: 8 bytes\n"
        + &tree;
    let dump = dump(&[(TPU, &text)]);
    for at in (0..text.len() as u32).step_by(3) {
        let Some(hover) = hover(&dump, 0, at) else {
            continue;
        };
        // What is left when code spans are taken out.
        let outside: String = hover.markdown.split('`').step_by(2).collect();
        for mark in ["](", "<img", "<b>", "http:", "**b**", "command:"] {
            assert!(
                !outside.contains(mark),
                "{mark} at {at}:\n{}",
                hover.markdown
            );
        }
    }
}

fn dumps_below(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            dumps_below(&path, files);
        } else if path.to_string_lossy().ends_with("buffer-assignment.txt") {
            files.push(path);
        }
    }
    files.sort();
}

/// On a value's line a hover always tells its bytes, where they end, its unpadded bytes where they
/// differ, and its live range.
#[test]
fn values_of_real_dumps_are_told_in_full() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut files = Vec::new();
    dumps_below(&root.join("tests/fixtures/dumps"), &mut files);
    let corpus = root.join("../shared/corpus");
    if !corpus.is_dir() {
        println!("the corpus is not here; only the fixtures are read");
    }
    dumps_below(&corpus, &mut files);
    for path in files.iter().step_by(files.len() / 60 + 1) {
        let stem = path
            .to_string_lossy()
            .trim_end_matches("-buffer-assignment.txt")
            .to_owned();
        let siblings = [
            "-buffer-assignment",
            "-buffer-assignment-values",
            "-live-range",
            "",
        ];
        let files = siblings.iter().filter_map(|suffix| {
            let path = PathBuf::from(format!("{stem}{suffix}.txt"));
            let text = std::fs::read_to_string(&path).ok()?;
            Some(File {
                path,
                document: Document::new(&text).ok()?,
                lossy: false,
            })
        });
        let dump = Dump::new(files.collect());
        for value in &dump.values {
            let Some(line) = dump.placement(value) else {
                continue;
            };
            let told = hover(&dump, 0, line.place(line.row.size.span).range.start)
                .expect("a hover")
                .markdown;
            let mut wanted = vec![
                bytes::display(value.size),
                format!(".. {} of", bytes::grouped(value.end())),
            ];
            let logical = Shape::read(line.text(line.row.shape))
                .ok()
                .and_then(|shape| bytes::logical_bytes(&shape));
            wanted.extend(
                logical
                    .filter(|&logical| logical != value.size)
                    .map(bytes::display),
            );
            if value.has_live_range() {
                let (start, end) = dump.live(value);
                wanted.push(if start == end {
                    format!("step {start} ({start}-{end}) of")
                } else {
                    format!("steps {start}-{end} of")
                });
            }
            for wanted in wanted {
                assert!(
                    told.contains(&wanted),
                    "{}: <{}>: no {wanted} in\n{told}",
                    path.display(),
                    value.id
                );
            }
        }
    }
}

#[test]
fn every_place_of_a_dump_has_a_hover_or_none() {
    let short = DUMP
        .replace("(8,128)", "(8,0)")
        .replace("513", "99999999999999999999")
        .replace("size=", "size=7");
    for text in [DUMP, &short] {
        let dump = dump(&[(TPU, text)]);
        for at in 0..=text.len() as u32 {
            if let Some(hover) = hover(&dump, 0, at) {
                assert!(hover.range.end as usize <= text.len() && !hover.markdown.is_empty());
            }
        }
    }
}
