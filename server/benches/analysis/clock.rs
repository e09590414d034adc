//! What a step costs.

use std::hint::black_box;
use std::time::{Duration, Instant};

use cpu_time::ProcessTime;

/// A step runs at most so often ...
const RUNS: usize = 10;
/// ... and not again after so long, unless it has run less often than this.
const ENOUGH: Duration = Duration::from_secs(3);
const FEWEST: usize = 3;

/// The medians of a step's runs.
#[derive(Debug, Clone, Copy)]
pub struct Cost {
    /// From its start to its end.
    pub wall: Duration,
    /// Of the processors, all threads together.
    pub cpu: Duration,
}

/// Runs `step` on what `prepare` makes. Making and dropping are not measured.
pub fn cost<S, T>(mut prepare: impl FnMut() -> S, mut step: impl FnMut(S) -> T) -> Cost {
    let (mut wall, mut cpu) = (Vec::new(), Vec::new());
    let begun = Instant::now();
    while wall.len() < FEWEST || wall.len() < RUNS && begun.elapsed() < ENOUGH {
        let prepared = prepare();
        let (start, start_cpu) = (Instant::now(), ProcessTime::now());
        let made = black_box(step(prepared));
        cpu.push(start_cpu.elapsed());
        wall.push(start.elapsed());
        drop(made);
    }
    Cost {
        wall: percentile(&mut wall, 50),
        cpu: percentile(&mut cpu, 50),
    }
}

/// The processor time that each of `places` takes, as long as there is time; in their order.
pub fn each<P: Copy, T>(places: &[P], mut step: impl FnMut(P) -> T) -> Vec<Duration> {
    let begun = Instant::now();
    let timed = places.iter().map(|&place| {
        let start = ProcessTime::now();
        let made = black_box(step(place));
        let taken = start.elapsed();
        drop(made);
        taken
    });
    timed.take_while(|_| begun.elapsed() < ENOUGH).collect()
}

/// The time that so many percent of them are below: 50 is the median. `times` are not empty.
pub fn percentile(times: &mut [Duration], percent: usize) -> Duration {
    times.sort_unstable();
    let at = times.len() * percent / 100;
    times[at.min(times.len() - 1)]
}
