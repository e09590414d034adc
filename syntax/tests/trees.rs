//! The trees of small texts, to be read by people: what is fine in `trees/ok`, what is broken in
//! `trees/err`. `UPDATE_EXPECT=1 cargo test` writes the `.tree` files anew.

use std::fmt::Write as _;
use std::path::Path;

use buflens_syntax::Document;
use expect_test::expect_file;

fn check_folder(name: &str, is_fine: bool) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/trees")
        .join(name);
    let entries = std::fs::read_dir(&folder).expect("the folder of texts");
    let mut paths: Vec<_> = entries
        .map(|entry| entry.expect("an entry").path())
        .collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "txt"));
    paths.sort();
    assert!(!paths.is_empty());
    for path in paths {
        let text = std::fs::read_to_string(&path).expect("a text");
        let document = Document::new(&text).expect("a small text");
        let root = document.root();
        assert_eq!(root.text(), text.as_str(), "{}", path.display());
        let mut shown = format!("{root:#?}");
        let errors = document.errors();
        assert_eq!(errors.is_empty(), is_fine, "{}: {errors:?}", path.display());
        for (range, message) in errors {
            writeln!(shown, "error {range:?}: {message}").expect("a string");
        }
        expect_file![path.with_extension("tree")].assert_eq(&shown);
    }
}

#[test]
fn fine_texts_have_these_trees() {
    check_folder("ok", true);
}

#[test]
fn broken_texts_have_these_trees_and_errors() {
    check_folder("err", false);
}
