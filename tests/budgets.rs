//! Budgets, the baseline, `buflens.toml` and SARIF, by the program as a process.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::support::root;
use crate::support::schema::problems;

/// A part of what the baseline knows.
const ATTENTION: &str = "tests/fixtures/dumps/gpu-split/\
     module_4649.jit_attention.sm_9.0a_gpu_after_optimizations-buffer-assignment.txt";
const MLP: &str = "tests/fixtures/dumps/tpu-split/module_0032.jit_mlp_fwd.cl_933746096.after_optimizations-buffer-assignment.txt";
const CPU: &str = "tests/fixtures/dumps/cpu-split";
const PADDED: &str = "tests/fixtures/dumps/tpu-many-parameters";
const UNKNOWN: &str = "tests/fixtures/dumps/no-live-range";
const PLANTED: &str = "tests/fixtures/readme/planted-error.txt";

fn run_in(folder: &Path, arguments: &[&str]) -> (i32, String, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_buflens"))
        .args(arguments)
        .current_dir(folder)
        .env_remove("CLICOLOR_FORCE")
        .stdin(Stdio::null())
        .output()
        .expect("the program runs");
    let text = |bytes| String::from_utf8(bytes).expect("text");
    (
        output.status.code().expect("an exit code"),
        text(output.stdout),
        text(output.stderr),
    )
}

/// Runs `check` at the root, and returns what is on stdout and stderr.
#[track_caller]
fn check(arguments: &[&str], code: i32) -> (String, String) {
    let all = [&["check"], arguments].concat();
    let (found, out, err) = run_in(&root(), &all);
    assert_eq!(found, code, "{arguments:?}\n{out}\n{err}");
    (out, err)
}

/// The codes of the findings about budgets.
#[track_caller]
fn budgets(arguments: &[&str], code: i32) -> Vec<String> {
    let (out, _) = check(&[arguments, &["--format", "json"]].concat(), code);
    let json: Value = serde_json::from_str(&out).expect("JSON");
    let findings = json["findings"].as_array().expect("a list").iter();
    let codes = findings.map(|it| it["code"].as_str().expect("a code").to_owned());
    codes.filter(|it| it.starts_with("max-")).collect()
}

fn summary(path: &str) -> Value {
    let (code, out, _) = run_in(&root(), &["summary", "--format", "json", path]);
    assert_eq!(code, 0);
    serde_json::from_str(&out).expect("JSON")
}

/// The memory space at `place` of the first module.
fn space(path: &str, place: usize) -> Value {
    summary(path)["modules"][0]["spaces"][place].clone()
}

#[test]
fn a_peak_may_be_as_large_as_its_budget() {
    let peak = space(MLP, 0)["peak"]["occupied_bytes"].as_u64().unwrap();
    for (limit, code) in [(peak - 1, 1), (peak, 0), (peak + 1, 0)] {
        for space in ["", "hbm=", "HBM=", "0=", "@0="] {
            let limit = format!("{space}{limit}");
            let is_kept = budgets(&[MLP, "--max-peak", &limit], code).is_empty();
            assert_eq!(is_kept, code == 0, "{limit}");
        }
    }
    let vmem = space(MLP, 1)["peak"]["occupied_bytes"].as_u64().unwrap();
    let below = format!("vmem={}", vmem - 1);
    let (out, _) = check(&[MLP, "--max-peak", "hbm=1GiB", "--max-peak", &below], 1);
    assert!(out.starts_with("error[max-peak]: VMEM holds "), "{out}");
    assert!(out.contains(", 1 B more than the "), "{out}");
    assert!(out.contains("; the largest are `"), "{out}");
}

#[test]
fn temp_may_be_as_large_as_its_budget() {
    let text = fs::read_to_string(root().join(MLP)).unwrap();
    let of_hbm = text
        .lines()
        .filter(|line| line.contains("preallocated-temp") && !line.contains("color"));
    let sizes = of_hbm.map(|line| {
        let size = line.split("size ").nth(1).unwrap();
        size.split(',').next().unwrap().parse::<u64>().unwrap()
    });
    let temp: u64 = sizes.sum();
    assert!(temp > 0);
    assert_eq!(
        budgets(&[MLP, "--max-temp", &(temp - 1).to_string()], 1),
        ["max-temp"]
    );
    assert!(budgets(&[MLP, "--max-temp", &temp.to_string()], 0).is_empty());
    assert!(budgets(&[MLP, "--max-temp", &(temp + 1).to_string()], 0).is_empty());
}

#[test]
fn padding_may_be_as_large_as_its_budget() {
    let space = space(PADDED, 0);
    let occupied = space["peak"]["occupied_bytes"].as_u64().unwrap();
    let without = occupied - space["padding_bytes"].as_u64().unwrap();
    let exact = occupied as f64 / without as f64;
    assert!(exact > 2.0, "{exact}");
    let limit = |millionths: f64| format!("{:.6}x", (exact * 1e6 + millionths).floor() / 1e6);
    let (below, above) = (limit(-1.0), limit(1.0));
    assert_eq!(
        budgets(&[PADDED, "--max-padding", &below], 1),
        ["max-padding"]
    );
    assert!(budgets(&[PADDED, "--max-padding", &above], 0).is_empty());
    assert_eq!(budgets(&[PADDED, "--max-padding", "2"], 1), ["max-padding"]);
    // Nothing is padded on a CPU: exactly at the limit.
    assert!(budgets(&[CPU, "--max-padding", "1x"], 0).is_empty());
}

#[test]
fn what_cannot_be_told_is_an_error() {
    let (out, _) = check(&[UNKNOWN, "--max-peak", "1TiB"], 1);
    assert!(
        out.contains("error[max-peak]: it cannot be told whether HBM keeps"),
        "{out}"
    );
    check(
        &[UNKNOWN, "--max-peak", "1TiB", "--severity", "max-peak=hint"],
        0,
    );
    // Nothing at all to measure: a compilation cache that is warm leaves an empty folder.
    let folder = tempfile::tempdir().unwrap();
    let empty = folder.path().to_str().unwrap();
    check(&[empty], 0);
    let (_, err) = check(&[empty, "--max-peak", "1TiB"], 2);
    assert!(err.contains("compilation cache"), "{err}");
    let (_, err) = check(&[CPU, "--max-peak", "vmem=1TiB"], 2);
    assert!(
        err.contains("no budget is of a memory space of these dumps"),
        "{err}"
    );
    let (_, err) = check(&[CPU, "--max-peak", "vmem=1TiB", "--max-peak", "1TiB"], 0);
    assert!(err.contains("has a memory space `vmem`"), "{err}");
    // A number is no name of what a platform has.
    let (_, err) = check(&[CPU, "--max-peak", "@77=1", "--max-peak", "1TiB"], 0);
    assert!(err.contains("has a memory space `@77`"), "{err}");
    let (_, err) = check(&[CPU, "--capacity", "@77=1"], 2);
    assert!(err.contains("has a memory space `@77`"), "{err}");
}

#[test]
fn budgets_are_asked_of_dumps_with_other_findings() {
    let found = budgets(&[PLANTED, "--max-peak", "1"], 1);
    assert_eq!(found, ["max-peak"]);
    let (out, _) = check(&[PLANTED, "--max-peak", "1", "--deny", "never"], 0);
    assert!(
        out.contains("[bytes-overlap]") && out.ends_with("2 errors in 1 dump\n"),
        "{out}"
    );
}

#[test]
fn amounts_that_make_no_sense_are_refused() {
    for (option, amount, part) in [
        ("--max-peak", "12GB", "KiB, MiB, GiB"),
        ("--max-peak", "hmb=12GiB", "no platform has a memory space"),
        ("--max-temp", "hbm=", "KiB, MiB, GiB"),
        ("--max-padding", "0.5x", "a ratio from 1 on"),
        ("--max-growth", "3x", "expected percent"),
        ("--max-growth", "-3%", "expected percent"),
    ] {
        let (_, err) = check(&[MLP, &format!("{option}={amount}")], 2);
        assert!(err.contains(part), "{option} {amount}: {err}");
    }
}

#[test]
fn a_baseline_is_kept_until_a_number_grows() {
    let folder = tempfile::tempdir().unwrap();
    let base = folder.path().join("base.json");
    let base = base.to_str().unwrap();
    let dumps = "tests/fixtures/dumps";
    let args = [dumps, "--deny", "never"];
    check(&[&args[..], &["--write-baseline", base]].concat(), 0);
    let text = fs::read_to_string(base).unwrap();
    assert!(!text.contains(root().to_str().unwrap()) && !text.contains("tests/fixtures"));
    check(&[&args[..], &["--write-baseline", base]].concat(), 0);
    assert_eq!(fs::read_to_string(base).unwrap(), text, "the same bytes");
    let growth = ["--max-growth", "3%", "--baseline", base];
    let all = [&[dumps][..], &growth, &["--deny", "never"]].concat();
    assert_eq!(budgets(&all, 0), Vec::<String>::new());

    let mut json: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(json["schema"], 1);
    let modules = json["modules"].as_array_mut().unwrap();
    let module = modules
        .iter_mut()
        .find(|it| it["module"] == "jit_attention" && it["platform"] == "gpu");
    let peak = &mut module.unwrap()["spaces"][0]["peak_bytes"];
    *peak = (peak.as_u64().unwrap() * 100 / 104).into();
    fs::write(base, json.to_string()).unwrap();
    assert_eq!(budgets(&all, 0), ["max-growth"]);
    let (out, _) = check(&[ATTENTION, growth[0], growth[1], growth[2], base], 1);
    assert!(out.contains("has grown by 4.0"), "{out}");
    let (_, err) = check(&[ATTENTION, "--max-growth", "5%", "--baseline", base], 0);
    assert!(err.contains("in the baseline, but not there: "), "{err}");

    // A program that is new is told of; if all are, growth means nothing.
    check(&[CPU, "--write-baseline", base], 0);
    let (_, err) = check(&[CPU, MLP, growth[0], growth[1], growth[2], base], 0);
    assert!(
        err.contains("not in the baseline: jit_mlp_fwd (tpu)"),
        "{err}"
    );
    let (_, err) = check(&[MLP, growth[0], growth[1], growth[2], base], 2);
    assert!(err.contains("no module is in the baseline"), "{err}");
}

#[test]
fn what_is_no_baseline_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let base = folder.path().join("base.json");
    let path = base.to_str().unwrap();
    let growth = [MLP, "--max-growth", "3%", "--baseline", path];
    let (_, err) = check(&growth, 2);
    assert!(err.contains(path), "{err}");
    for (text, part) in [
        (r#"{"schema":0,"modules":[]}"#, "schema 0, expected 1"),
        (r#"{"schema":2,"modules":[]}"#, "schema 2, expected 1"),
        (r#"{"schema":1,"tool":"x","modules":[{"#, "no baseline"),
        (
            r#"{"schema":1,"tool":"x","modules":[]}"#,
            "no module is in the baseline",
        ),
    ] {
        fs::write(&base, text).unwrap();
        let (_, err) = check(&growth, 2);
        assert!(err.contains(part), "{text}: {err}");
    }
    let (_, err) = check(&[MLP, "--max-growth", "3%"], 2);
    assert!(
        err.contains("names the file, and --write-baseline"),
        "{err}"
    );
    let (_, err) = check(&[MLP, "--baseline", path], 2);
    assert!(err.contains("without --max-growth"), "{err}");
}

#[test]
fn a_baseline_is_written_whole_or_not_at_all() {
    let folder = tempfile::tempdir().unwrap();
    let base = folder.path().join("base.json");
    let path = base.to_str().unwrap();
    let old = r#"{"schema":0}"#;
    fs::write(&base, old).unwrap();
    let nowhere = folder.path().join("nowhere.txt");
    let (_, err) = check(
        &[MLP, nowhere.to_str().unwrap(), "--write-baseline", path],
        2,
    );
    assert!(err.contains("the baseline is not written"), "{err}");
    assert_eq!(fs::read_to_string(&base).unwrap(), old);
    let below = folder.path().join("no/base.json");
    let (_, err) = check(&[MLP, "--write-baseline", below.to_str().unwrap()], 2);
    assert!(err.contains("the baseline cannot be written"), "{err}");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn a_baseline_takes_the_place_of_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let other = folder.path().join("other.txt");
    let path = other.to_str().unwrap();
    for text in ["BufferAssignment:\n", "[limits]\n", "{}", "[]"] {
        fs::write(&other, text).unwrap();
        let (_, err) = check(&[MLP, "--write-baseline", path], 2);
        assert!(
            err.contains("is no baseline, and is not overwritten"),
            "{err}"
        );
        assert_eq!(fs::read_to_string(&other).unwrap(), text);
    }
    fs::write(&other, "").unwrap();
    check(&[MLP, "--write-baseline", path], 0);
}

#[test]
fn a_dump_that_is_broken_off_tells_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let whole = fs::read_to_string(root().join("tests/fixtures/readme/planted-error.txt")).unwrap();
    let cut = folder.path().join("cut.txt");
    let end = whole.find("HloLiveRange").expect("a section") + 400;
    fs::write(&cut, &whole[..end]).unwrap();
    let cut = cut.to_str().unwrap();
    let limits = [
        "--max-temp",
        "1TiB",
        "--max-peak",
        "1TiB",
        "--max-padding",
        "9x",
    ];
    let args = [&[cut, "--severity", "truncated=off"][..], &limits].concat();
    assert_eq!(budgets(&args, 1), ["max-peak", "max-temp", "max-padding"]);
    let (out, _) = check(&args, 1);
    assert!(
        out.contains("it cannot be told whether HBM keeps `max-temp`"),
        "{out}"
    );
    let base = folder.path().join("base.json");
    let (_, err) = check(&[cut, "--write-baseline", base.to_str().unwrap()], 2);
    assert!(err.contains("wrong numbers of"), "{err}");
    assert!(!base.exists());
}

#[test]
fn a_configuration_is_found_and_options_go_first() {
    let folder = tempfile::tempdir().unwrap();
    let toml = folder.path().join("buflens.toml");
    let below = folder.path().join("a/b");
    fs::create_dir_all(&below).unwrap();
    let dump = root().join(MLP);
    let dump = dump.to_str().unwrap();
    let run = |arguments: &[&str]| run_in(&below, &[&["check", dump], arguments].concat());
    assert_eq!(run(&[]).0, 0);
    fs::write(&toml, "[budget]\nmax-peak = { hbm = 1 }\n").unwrap();
    assert_eq!(run(&[]).0, 1);
    assert_eq!(
        run(&["--max-peak", "@0=1GiB"]).0,
        0,
        "the command line wins"
    );
    let other = folder.path().join("other.toml");
    fs::write(&other, "").unwrap();
    assert_eq!(run(&["--config", "../../other.toml"]).0, 0);
    assert_eq!(run(&["--config", "nowhere.toml"]).0, 2);

    fs::write(&toml, "[budget]\nmax-peak = 1\n[check]\ndeny = \"never\"\n").unwrap();
    assert_eq!(run(&[]).0, 0);
    assert_eq!(run(&["--deny", "error"]).0, 1);
    fs::write(
        &toml,
        "[budget]\nmax-peak = 1\n[severity]\nmax-peak = \"off\"\n",
    )
    .unwrap();
    assert_eq!(run(&[]).0, 0);
    assert_eq!(run(&["--severity", "max-peak=error"]).0, 1);
    fs::write(&toml, "[capacity]\nhbm = 1\n").unwrap();
    assert_eq!(run(&[]).0, 1);
    assert_eq!(run(&["--capacity", "hbm=1GiB"]).0, 0);
    assert_eq!(run(&["--device", "v5e"]).0, 0);
    fs::write(&toml, "[check]\ndevice = \"v5e\"\n").unwrap();
    assert_eq!(run(&[]).0, 0);
    fs::write(&toml, "[check]\ndevice = \"v5e\"\n[capacity]\nhbm = 1\n").unwrap();
    assert_eq!(run(&[]).0, 1);
    fs::write(&toml, "[check]\ndevice = \"v55\"\n").unwrap();
    let (code, _, err) = run(&[]);
    assert!(
        code == 2 && err.contains("2:10: there is no device `v55`"),
        "{err}"
    );

    let module = "[budget]\nmax-peak = 1\n[[module]]\nname = \"jit_m*\"\nmax-peak = \"1GiB\"\n";
    fs::write(&toml, module).unwrap();
    assert_eq!(run(&[]).0, 0);
    fs::write(&toml, module.replace("jit_m*", "jit_x*")).unwrap();
    let (code, _, err) = run(&[]);
    assert!(
        code == 1 && err.contains("no module is called `jit_x*`"),
        "{err}"
    );
    // A guard that guards nothing must not pass.
    let only = "[[module]]\nname = \"jit_x*\"\nmax-peak = 1\n";
    fs::write(&toml, only).unwrap();
    let (code, _, err) = run(&[]);
    assert!(code == 2 && err.contains("none of these is there"), "{err}");

    // The baseline lies beside the file that names it.
    fs::write(
        &toml,
        "[budget]\nmax-growth = \"0%\"\nbaseline = \"base.json\"\n",
    )
    .unwrap();
    assert_eq!(run(&[]).0, 2, "it is not there");
    assert_eq!(run(&["--write-baseline", "../../base.json"]).0, 0);
    assert_eq!(run(&[]).0, 0);

    fs::write(&toml, "[budget]\nmax-peek = 1\n").unwrap();
    let (code, out, err) = run(&[]);
    assert_eq!((code, out.as_str()), (2, ""));
    assert!(
        err.contains("buflens.toml:2:1: unknown field `max-peek`, expected one of `max-peak`"),
        "{err}"
    );
}

#[test]
fn sarif_is_as_its_schema_says() {
    let schema = root().join("tests/fixtures/sarif/sarif-schema-2.1.0.json");
    let schema: Value = serde_json::from_str(&fs::read_to_string(schema).unwrap()).unwrap();
    let valid = |arguments: &[&str]| {
        let all = [&["check", "--format", "sarif"], arguments].concat();
        let (code, out, err) = run_in(&root(), &all);
        let log: Value = serde_json::from_str(&out).expect("JSON");
        let problems = problems(&schema, &schema, &log, "");
        assert!(problems.is_empty(), "{arguments:?}: {problems:#?}");
        (code, log["runs"][0].clone(), err)
    };
    let everything = [
        "tests/fixtures",
        "--max-peak",
        "1KiB",
        "--max-padding",
        "1.1",
        "--max-temp",
        "0",
    ];
    let (_, run, _) = valid(&everything);
    let results = run["results"].as_array().unwrap();
    assert!(results.len() > 100, "{}", results.len());
    let rules = run["tool"]["driver"]["rules"].as_array().unwrap();
    for result in results {
        let index = usize::try_from(result["ruleIndex"].as_u64().unwrap()).unwrap();
        assert_eq!(rules[index]["id"], result["ruleId"]);
        let place = &result["locations"][0]["physicalLocation"];
        let artifact = &place["artifactLocation"];
        assert_eq!(artifact["uriBaseId"], "%SRCROOT%");
        assert!(
            artifact["uri"]
                .as_str()
                .unwrap()
                .starts_with("tests/fixtures/")
        );
        assert!(place["region"]["startColumn"].as_u64().unwrap() >= 1);
    }
    let dump = "tests/fixtures/dumps/cpu-split";
    let (code, refused, _) = valid(&[dump, "--capacity", "VMEM=1GiB"]);
    let end = &refused["invocations"][0];
    assert_eq!(
        (code, &end["executionSuccessful"]),
        (2, &false.into()),
        "{end}"
    );
    let told = end["toolExecutionNotifications"][0]["message"]["text"].as_str();
    assert!(
        told.is_some_and(|it| it.contains("memory space `VMEM`")),
        "{end}"
    );
    // The schema is one that something can fail.
    let mut wrong = serde_json::json!({"version": "2.1.0", "runs": [run.clone()]});
    wrong["runs"][0]["results"][0]["locations"][0]["physicalLocation"]["region"]["startLine"] =
        0.into();
    wrong["runs"][0]["results"][1]["levels"] = "error".into();
    assert_eq!(problems(&schema, &schema, &wrong, "").len(), 2);
    // The same in every run, and no two are the same.
    let fingerprints = |run: &Value| {
        let results = run["results"].as_array().unwrap().clone();
        let mut all: Vec<String> = results
            .iter()
            .map(|it| it["partialFingerprints"]["primaryLocationLineHash"].to_string())
            .collect();
        all.sort();
        all
    };
    let mut all = fingerprints(&run);
    assert_eq!(all, fingerprints(&valid(&everything).1));
    all.dedup();
    assert_eq!(all.len(), results.len());
    let (code, run, _) = valid(&[MLP]);
    assert_eq!((code, run["results"].as_array().unwrap().len()), (0, 0));
    let (code, run, err) = valid(&["nowhere.txt", PLANTED]);
    assert_eq!(code, 2, "{err}");
    assert_eq!(run["invocations"][0]["executionSuccessful"], false);
    assert_eq!(run["results"][0]["ruleId"], "bytes-overlap");
}

#[test]
fn markdown_shows_budgets_first() {
    let (out, _) = check(&[PLANTED, "--max-peak", "1", "--format", "markdown"], 1);
    let lines: Vec<&str> = out.lines().collect();
    assert_eq!(lines[0], "**buflens check: 2 errors in 1 dump**");
    let at = |what: &str| {
        lines
            .iter()
            .position(|line| line.contains(what))
            .expect(what)
    };
    assert!(at("### Budgets") < at("`max-peak` |") && at("`max-peak` |") < at("### Findings"));
    assert!(at("### Findings") < at("`bytes-overlap` |"), "{out}");
}
