//! What the steps of the analysis cost, beside the finding of all line ends in the same text, as
//! tables in Markdown. What was measured is written in `docs/performance.md`.
//!
//! `cargo bench` measures the dumps that the environment names (see [`input::inputs`]). Two doors
//! more are for `tests/processes/bench.py`: `make MB FOLDER` behind `cargo bench --` writes made-up
//! dumps, and `line-ends FILE...` tells the seconds of processor time that the line ends take.

mod clock;
#[path = "../../../tests/support/generate.rs"]
mod generate;
mod input;
mod steps;

use std::fs;
use std::path::Path;
use std::time::Duration;

use buflens::model::cancel::on_few_threads;

use clock::{cost, percentile};
use input::Input;
use steps::Step;

fn main() {
    // Cargo adds `--bench`.
    let arguments: Vec<String> = std::env::args()
        .skip(1)
        .filter(|argument| argument != "--bench")
        .collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments[..] {
        // On the threads for all cores, as the program does: from another, these would be waked at every step.
        [] => on_few_threads(measure),
        ["make", megabytes, folder] => make(megabytes, Path::new(folder)),
        ["line-ends", ref paths @ ..] => line_ends(paths),
        _ => panic!("expected nothing, `make MB FOLDER` or `line-ends FILE...`"),
    }
}

fn make(megabytes: &str, folder: &Path) {
    let megabytes = megabytes.parse().expect("a whole number of megabytes");
    for (_, name, text) in input::made(megabytes) {
        fs::write(folder.join(name), text).expect("a folder that can be written to");
    }
}

fn line_ends(paths: &[&str]) {
    let text = |path: &&str| {
        let bytes = fs::read(path).unwrap_or_else(|error| panic!("{path}: {error}"));
        String::from_utf8(bytes).unwrap_or_else(|error| panic!("{path}: {error}"))
    };
    let texts: Vec<String> = paths.iter().map(text).collect();
    let cost = cost(|| (), |()| steps::line_starts(&texts));
    println!("{}", cost.cpu.as_secs_f64());
}

fn measure() {
    let mut measured = Vec::new();
    for input in input::inputs() {
        let steps = steps::steps(&input);
        passes(&input, &steps);
        requests(&input);
        measured.push((input.name.clone(), input.bytes(), steps));
    }
    // Made-up dumps come in turn: those of one kind are every second one.
    if measured.len() > 2 && std::env::var_os("BUFLENS_BENCH_DUMP").is_none() {
        for kind in 0..2 {
            growth(measured.iter().skip(kind).step_by(2));
        }
    }
}

fn passes(input: &Input, steps: &[Step]) {
    println!("{}\n", input.name);
    println!("| | wall | CPU | MB/s of CPU | times line ends | target |");
    println!("|---|---|---|---|---|---|");
    let line_ends = steps[0].cost.cpu.as_secs_f64();
    for Step { name, cost, target } in steps {
        let seconds = cost.cpu.as_secs_f64();
        let target = target.map_or_else(String::new, |(short, huge)| {
            format!("{}", if input.has_huge_lines() { huge } else { short })
        });
        println!(
            "| {name} | {} | {} | {:.0} | {:.1} | {target} |",
            time(cost.wall),
            time(cost.cpu),
            input.bytes() as f64 / 1e6 / seconds,
            seconds / line_ends,
        );
    }
    println!();
}

fn requests(input: &Input) {
    println!("| CPU of a request | places | median | p99 | max |");
    println!("|---|---|---|---|---|");
    for mut request in steps::requests(input) {
        let times = &mut request.times;
        if times.is_empty() {
            continue;
        }
        println!(
            "| {} | {} | {} | {} | {} |",
            request.name,
            times.len(),
            time(percentile(times, 50)),
            time(percentile(times, 99)),
            time(percentile(times, 100)),
        );
    }
    println!();
}

/// How the cost of a byte grows from the smallest dump of a kind to the largest.
fn growth<'m>(measured: impl Iterator<Item = &'m (String, usize, Vec<Step>)>) {
    let measured: Vec<_> = measured.collect();
    let names = measured.iter().map(|(name, ..)| format!(" {name} |"));
    println!(
        "| ns of CPU for a byte |{} growth, target 1.3 |",
        names.collect::<String>()
    );
    println!("|---|{}---|", "---|".repeat(measured.len()));
    for step in 0..measured[0].2.len() {
        let costs = measured
            .iter()
            .map(|(_, bytes, steps)| steps[step].cost.cpu.as_secs_f64() * 1e9 / *bytes as f64);
        let costs: Vec<f64> = costs.collect();
        let cells = costs.iter().map(|cost| format!(" {cost:.2} |"));
        println!(
            "| {} |{} {:.2} |",
            measured[0].2[step].name,
            cells.collect::<String>(),
            costs[costs.len() - 1] / costs[0],
        );
    }
    println!();
}

fn time(time: Duration) -> String {
    let microseconds = time.as_secs_f64() * 1e6;
    match microseconds {
        ..1000.0 => format!("{microseconds:.0} µs"),
        ..10_000.0 => format!("{:.1} ms", microseconds / 1e3),
        _ => format!("{:.0} ms", microseconds / 1e3),
    }
}
