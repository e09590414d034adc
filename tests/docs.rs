//! What the documents say is so.

use std::path::{Path, PathBuf};
use std::process::Command;

use buflens::checks::Code;
use buflens::model::device::DEVICES;

use crate::support::root;

fn read(path: &str) -> String {
    std::fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

#[test]
fn every_code_has_its_section() {
    let text = read("docs/diagnostics.md");
    let sections: Vec<&str> = text
        .lines()
        .filter_map(|line| line.strip_prefix("## "))
        .collect();
    for code in Code::ALL {
        assert!(
            sections.contains(&code.name()),
            "docs/diagnostics.md has no section `## {code}`"
        );
        let severity = code.severity().name();
        let section = text
            .split(&format!("\n## {code}\n"))
            .nth(1)
            .unwrap_or_default();
        let first = section.trim_start().lines().next().unwrap_or_default();
        assert!(
            first.to_lowercase().starts_with(severity),
            "`## {code}` does not begin with {severity}: {first}"
        );
    }
}

#[test]
fn devices_have_the_same_names_everywhere() {
    let names = DEVICES.map(|device| device.name);
    let text = read("docs/cli.md");
    let listed = names.map(|name| format!("`{name}`")).join(", ");
    assert!(
        text.contains(&format!(": {listed}.")),
        "docs/cli.md: {listed}"
    );
    let package: serde_json::Value =
        serde_json::from_str(&read("editors/vscode/package.json")).expect("JSON");
    let settings = package["contributes"]["configuration"].as_array();
    let setting = settings
        .into_iter()
        .flatten()
        .find_map(|group| group["properties"].get("buflens.device"))
        .expect("a setting");
    let mut chosen = vec![serde_json::Value::Null];
    chosen.extend(names.map(serde_json::Value::from));
    assert_eq!(setting["enum"].as_array(), Some(&chosen));
}

/// The commands of the README's blocks for a shell.
fn commands(readme: &str) -> Vec<&str> {
    let blocks = readme
        .split("```sh\n")
        .skip(1)
        .filter_map(|rest| rest.split("```").next());
    blocks
        .flat_map(str::lines)
        .filter(|line| !line.trim().is_empty())
        .collect()
}

#[test]
fn the_readme_shows_what_its_commands_print() {
    let readme = read("README.md");
    let first = commands(&readme)[0];
    let mut ran = 0;
    for part in first.split("&&").map(str::trim) {
        let Some(arguments) = part.strip_prefix("target/release/buflens ") else {
            continue;
        };
        let output = Command::new(env!("CARGO_BIN_EXE_buflens"))
            .args(arguments.split_whitespace())
            .current_dir(root())
            .env_remove("CLICOLOR_FORCE")
            .output()
            .expect("the program runs");
        assert!(
            output.status.success(),
            "{part}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
        let text = String::from_utf8(output.stdout).expect("text");
        assert!(
            readme.contains(text.trim_end()),
            "the README shows something else than `{part}`:\n{text}"
        );
        ran += 1;
    }
    assert_eq!(ran, 3, "{first}");
}

#[test]
fn the_picture_of_the_readme_is_drawn_by_buflens() {
    let dump = "tests/fixtures/dumps/out-of-memory-peak-not-listed/module_0010.jit_oom_attention_grad.after_optimizations-buffer-assignment.txt";
    let output = Command::new(env!("CARGO_BIN_EXE_buflens"))
        .args(["map", "--format", "svg", "--space", "HBM", dump])
        .current_dir(root())
        .output()
        .expect("the program runs");
    let picture = String::from_utf8(output.stdout).expect("text");
    expect_test::expect_file![root().join("docs/map.svg")].assert_eq(&picture);
}

#[test]
fn links_between_the_documents_lead_somewhere() {
    let mut documents = vec![PathBuf::from("README.md"), PathBuf::from("CHANGELOG.md")];
    let docs = std::fs::read_dir(root().join("docs")).expect("a folder");
    documents.extend(
        docs.flatten()
            .map(|entry| Path::new("docs").join(entry.file_name())),
    );
    for document in documents {
        let text = read(&document.to_string_lossy());
        for link in text
            .split("](")
            .skip(1)
            .filter_map(|rest| rest.split(')').next())
        {
            let path = link.split('#').next().unwrap_or_default();
            if path.is_empty() || path.contains("://") {
                continue;
            }
            let target = root()
                .join(document.parent().unwrap_or(Path::new("")))
                .join(path);
            assert!(
                target.exists(),
                "{}: {link} leads nowhere",
                document.display()
            );
        }
    }
}

#[test]
fn ci_runs_the_tests_as_the_readme_says() {
    let (readme, ci) = (read("README.md"), read(".ci/run"));
    let tests = commands(&readme)[1];
    assert!(tests.starts_with("cargo test"), "{tests}");
    assert!(
        ci.lines().any(|line| line == format!("step {tests}")),
        "{ci}"
    );
}

/// All source files below a folder.
fn sources(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).expect("a folder").flatten() {
        let path = entry.path();
        if path.is_dir() {
            files.extend(sources(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
    files
}

/// The arrows of `docs/architecture.md`.
#[test]
fn arrows_point_one_way() {
    let protocol = ["tower_lsp", "lsp_types"];
    let outer = ["tokio", "crate::lsp", "crate::cli"];
    let inner = ["crate::ide", "crate::checks", "crate::report"];
    let audit = ["crate::audit"];
    // `workspace` may hear when a request is over.
    let rules = [
        (
            "model",
            [&outer[..], &inner[..], &audit, &["crate::workspace"]].concat(),
        ),
        ("workspace", [&outer[1..], &inner[..], &audit].concat()),
        (
            "audit",
            [&outer[..], &inner[..], &["crate::workspace"]].concat(),
        ),
        (
            "checks",
            [&outer[..], &["crate::ide", "crate::report"]].concat(),
        ),
        ("ide", [&outer[..], &["crate::report"]].concat()),
        ("report", outer.to_vec()),
        ("cli", Vec::new()),
    ];
    for (folder, forbidden) in rules {
        for path in sources(&root().join("server/src").join(folder)) {
            let text = std::fs::read_to_string(&path).expect("text");
            for word in protocol.iter().chain(&forbidden) {
                assert!(!text.contains(word), "{} uses {word}", path.display());
            }
        }
    }
}

#[test]
fn every_dependency_has_its_reason() {
    let text = read("docs/architecture.md");
    let rows = text.lines().filter_map(|line| line.strip_prefix("| "));
    let known: Vec<&str> = rows
        .filter_map(|row| row.split(" |").next())
        .flat_map(|names| names.split([',', ' ', '(', ')']))
        .collect();
    let manifest = read("Cargo.toml");
    let (_, dependencies) = manifest
        .split_once("[workspace.dependencies]\n")
        .expect("a section");
    let dependencies = dependencies.split("\n[").next().unwrap_or_default();
    let names = dependencies
        .lines()
        .filter_map(|line| line.split_once(" ="));
    let names: Vec<&str> = names.map(|(name, _)| name).collect();
    assert!(names.len() > 20, "{names:?}");
    for name in names.into_iter().filter(|name| *name != "buflens-syntax") {
        assert!(
            known.contains(&name),
            "docs/architecture.md has no reason for {name}"
        );
    }
}
