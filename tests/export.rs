//! What `buflens export` writes, as other programs read it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use crate::support::answers::{self, file, json_of};
use crate::support::dumps::{broken, dumps_below, fixtures};
use crate::support::root;
use serde_json::Value;

/// Runs `export`; nothing if it says that there is nothing to write.
fn export(path: &Path, format: &str) -> Option<String> {
    let path = path.to_str().expect("a path in UTF-8");
    let output = answers::output(&["export", path, "--format", format], "80");
    let message = String::from_utf8_lossy(&output.stderr);
    match output.status.code() {
        Some(0) => Some(String::from_utf8(output.stdout).expect("text")),
        Some(2) if !message.contains("panicked") && message.starts_with("buflens: ") => None,
        _ => panic!("{path}: {message}"),
    }
}

/// The assignments of the fixtures.
fn assignments() -> Vec<PathBuf> {
    let dumps = [fixtures(), broken()]
        .iter()
        .flat_map(|it| dumps_below(it))
        .collect::<Vec<_>>();
    assert!(dumps.len() > 100, "{}", dumps.len());
    dumps
        .into_iter()
        .map(|dump| dump.files[0].clone())
        .collect()
}

fn keys(value: &Value, found: &mut BTreeSet<String>) {
    match value {
        Value::Object(object) => {
            found.extend(object.keys().cloned());
            object.values().for_each(|value| keys(value, found));
        }
        Value::Array(list) => list.iter().for_each(|value| keys(value, found)),
        _ => {}
    }
}

/// The section of `docs/export.md` with this title.
fn section(title: &str) -> String {
    let text = fs::read_to_string(root().join("docs/export.md")).expect("the document");
    let rest = text
        .split(&format!("\n## {title}\n"))
        .nth(1)
        .expect("the section");
    rest.split("\n## ").next().unwrap_or_default().to_owned()
}

/// The words in the first column of the tables in a section.
fn first_column(section: &str) -> Vec<String> {
    let rows = section
        .lines()
        .filter_map(|line| line.strip_prefix("| `")?.split('|').next());
    let words = rows.flat_map(|cell| cell.split('`').step_by(2));
    words.map(str::to_owned).collect()
}

#[test]
fn every_key_is_documented_and_every_documented_key_is_there() {
    let json = section("JSON");
    let mut documented: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
    for section in json.split("\n### ").skip(1) {
        let (title, body) = section.split_once('\n').expect("a title");
        documented.insert(title, first_column(body).into_iter().collect());
    }
    let common = documented.remove("Common").expect("the common keys");

    let mut found: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for path in assignments() {
        let Some(text) = export(&path, "json") else {
            continue;
        };
        let value: Value = serde_json::from_str(&text).expect("JSON");
        for (part, value) in value.as_object().expect("an object") {
            keys(value, found.entry(part.clone()).or_default());
        }
    }
    for part in ["schema", "module", "tool"] {
        assert_eq!(found.remove(part), Some(BTreeSet::new()), "{part}");
    }
    assert_eq!(
        found.keys().map(String::as_str).collect::<Vec<_>>(),
        documented.keys().copied().collect::<Vec<_>>()
    );
    for (part, own) in &documented {
        let found = &found[*part];
        let unknown: Vec<&String> = found
            .iter()
            .filter(|key| !own.contains(*key) && !common.contains(*key))
            .collect();
        assert!(
            unknown.is_empty(),
            "docs/export.md does not describe {unknown:?} of {part}"
        );
        let gone: Vec<&String> = own.iter().filter(|key| !found.contains(*key)).collect();
        assert!(gone.is_empty(), "{part} has no {gone:?}");
    }
}

#[test]
fn the_object_holds_what_the_commands_answer() {
    let file = file();
    let whole = json_of(&["export", &file]);
    assert_eq!(
        whole["tool"],
        concat!("buflens ", env!("CARGO_PKG_VERSION"))
    );
    let files = whole["files"].as_array().expect("a list");
    let names: Vec<&str> = files.iter().filter_map(|it| it["name"].as_str()).collect();
    assert!(file.ends_with(names[0]), "{names:?}");
    for part in ["padding", "copies"] {
        let list = &whole[part];
        assert_eq!(list["schema"], Value::Null, "said once");
    }
    let map = json_of(&["map", &file]);
    for (key, value) in whole["map"].as_object().expect("an object") {
        assert_eq!(*value, map[key], "{key}");
    }
    let peak = json_of(&["peak", &file, "--space", "1"]);
    assert_eq!(whole["peaks"][1]["occupied_bytes"], peak["occupied_bytes"]);
    let audit = json_of(&["audit", &file]);
    assert_eq!(whole["offload"], audit["offload"]);
    assert_eq!(
        whole["donation"]["dead_bytes"],
        audit["donation"]["dead_bytes"]
    );
    // The folder is nobody's business.
    let place = &whole["values"][0]["location"];
    assert_eq!(
        (&place["file"], &place["line"]),
        (&files[0]["name"], &Value::from(3))
    );

    // Thread-local values are on no map, and here; and so is what does not add up.
    let overlapping = dumps_below(&broken())
        .into_iter()
        .find(|it| it.name().contains("overlapping"));
    let overlapping = overlapping.expect("the dump").files[0].clone();
    let text = export(&overlapping, "json").expect("an object");
    let value: Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!(value["findings"][0]["code"], "bytes-overlap");
    assert_eq!(value["findings"][0]["file"], value["files"][0]["name"]);
    let every = assignments()
        .into_iter()
        .filter_map(|path| export(&path, "json"));
    let local = every
        .filter(|text| text.contains("\"kind\":\"thread-local\""))
        .count();
    assert!(local > 0);
}

#[test]
fn a_row_for_each_value() {
    let documented = first_column(&section("CSV"));
    for path in assignments() {
        let (Some(table), Some(whole)) = (export(&path, "csv"), export(&path, "json")) else {
            continue;
        };
        let whole: Value = serde_json::from_str(&whole).expect("JSON");
        let mut reader = csv::Reader::from_reader(table.as_bytes());
        let header: Vec<String> = reader
            .headers()
            .expect("a header")
            .iter()
            .map(str::to_owned)
            .collect();
        assert_eq!(header, documented);
        let rows: Vec<BTreeMap<String, String>> = reader
            .deserialize()
            .map(|row| row.expect("a row"))
            .collect();
        let values = whole["values"].as_array().expect("a list");
        assert_eq!(rows.len(), values.len(), "{}", path.display());
        for (row, value) in rows.iter().zip(values) {
            // Without an allocation, or where its line is broken, no bytes are known.
            let bytes = match &value["bytes"] {
                Value::Null => String::new(),
                bytes => bytes.to_string(),
            };
            assert_eq!(
                (&row["id"], &row["bytes"]),
                (&value["id"].to_string(), &bytes)
            );
        }
        // What is said to be a value's own at the peak adds up to the peak.
        for space in whole["summary"]["spaces"].as_array().expect("a list") {
            let Some(peak) = space["peak"]["occupied_bytes"].as_u64() else {
                continue;
            };
            let color = space["color"].to_string();
            let own = rows
                .iter()
                .filter(|row| row["space"] == color && row["at_peak"] == "yes");
            let own = own.map(|row| row["own_peak_bytes"].parse::<u128>().expect("bytes"));
            assert_eq!(
                own.sum::<u128>().min(u64::MAX.into()),
                u128::from(peak),
                "{} @{color}",
                path.display()
            );
        }
    }
}

/// Whether the slices of a track, with first and last microsecond, lie within one another or apart.
fn nest(mut slices: Vec<(u64, u64)>) -> bool {
    slices.sort_by_key(|&(start, end)| (start, std::cmp::Reverse(end)));
    let mut open: Vec<u64> = Vec::new();
    slices.into_iter().all(|(start, end)| {
        open.retain(|&other| other > start);
        let is_within = open.last().is_none_or(|&other| end <= other);
        open.push(end);
        is_within
    })
}

#[test]
fn a_trace_is_the_map_over_time() {
    assert!(nest(vec![(0, 5), (0, 3), (3, 5), (5, 6)]) && !nest(vec![(0, 3), (2, 5)]));
    let mut drawn = 0;
    for path in assignments() {
        let Some(text) = export(&path, "perfetto") else {
            continue;
        };
        drawn += 1;
        let trace: Value = serde_json::from_str(&text).expect("JSON");
        // Some are broken, which is told beside it.
        let path = path.to_str().expect("a path");
        let (map, _) = answers::run(&["map", path, "--format", "json"], 0);
        let map: Value = serde_json::from_str(&map).expect("JSON");
        let events = trace["traceEvents"].as_array().expect("a list");
        let of =
            |phase: &str| -> Vec<&Value> { events.iter().filter(|it| it["ph"] == phase).collect() };
        let number = |value: &Value| value.as_u64().expect("a number");

        let mut tracks: BTreeMap<u64, Vec<(u64, u64)>> = BTreeMap::new();
        let mut ids = Vec::new();
        for slice in of("X") {
            let start = number(&slice["ts"]);
            let end = start + number(&slice["dur"]);
            tracks
                .entry(number(&slice["tid"]))
                .or_default()
                .push((start, end));
            if slice["cat"] == "value" {
                ids.push((number(&slice["args"]["id"]), start, end - 1));
            }
        }
        for (track, slices) in &tracks {
            assert!(nest(slices.clone()), "{path}: track {track}");
        }
        let column = |name: &str| {
            map["values"][name]
                .as_array()
                .expect("a column")
                .iter()
                .map(number)
                .collect::<Vec<_>>()
        };
        let (id, start, last) = (column("id"), column("start"), column("last"));
        let mut expected: Vec<(u64, u64, u64)> = (0..id.len())
            .map(|at| (id[at], start[at], last[at]))
            .collect();
        expected.sort_unstable();
        ids.sort_unstable();
        assert_eq!(ids, expected, "{path}");

        let mut curves: BTreeMap<u64, Vec<Value>> = BTreeMap::new();
        for event in of("C") {
            let change = serde_json::json!([event["ts"], event["args"]["bytes"]]);
            curves
                .entry(number(&event["pid"]))
                .or_default()
                .push(change);
        }
        let spaces = map["spaces"].as_array().expect("a list");
        let expected: Vec<Value> = spaces.iter().map(|it| it["curve"].clone()).collect();
        assert_eq!(
            curves.into_values().map(Value::from).collect::<Vec<_>>(),
            expected
        );
        let peaks: Vec<&Value> = of("i")
            .into_iter()
            .filter(|it| it["s"] == "p")
            .map(|it| &it["args"])
            .collect();
        let full = spaces
            .iter()
            .map(|it| &it["peak"])
            .filter(|it| it["occupied_bytes"] != 0);
        assert_eq!(peaks, full.collect::<Vec<_>>());
        let printed: Vec<&Value> = of("i")
            .into_iter()
            .filter(|it| it["s"] == "g")
            .map(|it| &it["ts"])
            .collect();
        let step = map["xla_peak"].get("step");
        assert_eq!(printed, step.into_iter().collect::<Vec<_>>());

        // Every track has one name, in the process of its memory space.
        let threads = of("M").into_iter().filter(|it| it["name"] == "thread_name");
        let names: BTreeMap<u64, &Value> = threads
            .map(|it| (number(&it["tid"]), &it["args"]["name"]))
            .collect();
        assert!(
            tracks.keys().all(|track| names.contains_key(track)),
            "{names:?}"
        );
        let distinct: BTreeSet<String> = names.values().map(ToString::to_string).collect();
        assert_eq!(distinct.len(), names.len(), "{names:?}");
    }
    assert!(drawn > 90, "{drawn}");
}

#[test]
fn hostile_text_survives() {
    let folder = tempfile::tempdir().expect("a folder");
    let dump = dumps_below(&broken())
        .into_iter()
        .find(|it| it.name().contains("markup"));
    let text = fs::read_to_string(&dump.expect("the dump").files[0]).expect("the dump");
    let start = text.find("op_name=\"").expect("an op_name") + "op_name=\"".len();
    let end = start + text[start..].find("\" source_file").expect("its end");
    let path = folder.path().join("x-buffer-assignment.txt");
    for (name, in_json, in_csv) in [
        (
            "=cmd|'/C calc'!A0",
            "=cmd|'/C calc'!A0",
            "'=cmd|'/C calc'!A0",
        ),
        ("@SUM(1+1), x", "@SUM(1+1), x", "'@SUM(1+1), x"),
        (r#"a \"b\", c"#, r#"a "b", c"#, r#"a "b", c"#),
        (
            "\u{1b}[31m</script>\u{2028}",
            "\u{1b}[31m</script>\u{2028}",
            "\u{fffd}[31m</script>\u{fffd}",
        ),
    ] {
        fs::write(&path, format!("{}{name}{}", &text[..start], &text[end..])).expect("a dump");
        let whole: Value =
            serde_json::from_str(&export(&path, "json").expect("an object")).expect("JSON");
        let values = whole["values"].as_array().expect("a list");
        assert!(
            values.iter().any(|value| value["op_name"] == in_json),
            "{name}: {values:?}"
        );
        let table = export(&path, "csv").expect("a table");
        let mut reader = csv::Reader::from_reader(table.as_bytes());
        let rows: Vec<BTreeMap<String, String>> = reader
            .deserialize()
            .map(|row| row.expect("a row"))
            .collect();
        assert!(rows.iter().any(|row| row["op_name"] == in_csv), "{table}");
        let trace: Value =
            serde_json::from_str(&export(&path, "perfetto").expect("a trace")).expect("JSON");
        let events = trace["traceEvents"].as_array().expect("a list");
        assert!(
            events
                .iter()
                .any(|event| event["args"]["op_name"] == in_json),
            "{name}"
        );
    }
}

#[test]
fn a_file_is_written_whole_or_not_at_all() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("x.csv");
    let output = path.to_str().expect("a path");
    answers::run(&["export", &file(), "--format", "csv", "-o", output], 0);
    let (expected, _) = answers::run(&["export", &file(), "--format", "csv"], 0);
    assert_eq!(fs::read_to_string(&path).expect("the file"), expected);

    let without = fixtures().join("no-live-range");
    let without = dumps_below(&without)[0].files[0].display().to_string();
    let (_, message) = answers::run(
        &["export", &without, "--format", "perfetto", "-o", output],
        2,
    );
    assert!(message.contains("there is no trace to draw: "), "{message}");
    assert_eq!(
        fs::read_to_string(&path).expect("the file"),
        expected,
        "as it was"
    );

    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;

        let link = folder.path().join("link.csv");
        std::os::unix::fs::symlink(&path, &link).expect("a link");
        let link_name = link.to_str().expect("a path");
        answers::run(&["export", &file(), "--format", "json", "-o", link_name], 0);
        assert!(link.is_symlink());
        let written = fs::read_to_string(&path).expect("the file");
        assert!(
            written.starts_with('{'),
            "what the link leads to is written"
        );

        // Whoever may not read a file may not read what takes its place; a script stays one.
        for mode in [0o600, 0o755] {
            fs::set_permissions(&path, PermissionsExt::from_mode(mode)).expect("its owner");
            answers::run(&["export", &file(), "--format", "csv", "-o", output], 0);
            let kept = fs::metadata(&path).expect("the file").permissions().mode();
            assert_eq!(kept & 0o777, mode);
        }

        // What a link leads to need not be there yet.
        fs::remove_file(&path).expect("it is there");
        let relative = folder.path().join("relative.csv");
        std::os::unix::fs::symlink("link.csv", &relative).expect("a link");
        let relative_name = relative.to_str().expect("a path");
        answers::run(
            &["export", &file(), "--format", "csv", "-o", relative_name],
            0,
        );
        assert!(relative.is_symlink() && link.is_symlink());
        assert_eq!(fs::read_to_string(&path).expect("the file"), expected);
    }

    let nowhere = folder.path().join("none/x.csv").display().to_string();
    let (_, message) = answers::run(&["export", &file(), "--format", "csv", "-o", &nowhere], 2);
    assert!(message.contains("cannot be written"), "{message}");
    let (_, message) = answers::run(&["export", &file(), "--format", "xml"], 2);
    assert!(message.contains("json, csv, perfetto"), "{message}");
}
