//! Code lenses: what is most worth knowing of a document, above the lines that it is about.

use std::cmp::Reverse;
use std::ops::Range;

use buflens_syntax::facts::Heading;

use super::markdown::cut;
use crate::model::bytes::{counted, rounded};
use crate::model::occupancy::{self, Fill, Kind, Moment, Space};
use crate::model::{Allocation, Dump, FileId, Place, space};

/// So many allocations have a lens, the largest ones.
const MAX_ALLOCATIONS: usize = 200;
/// An allocation with a lens has at least the thousandth part of its memory space, and a memory space that of the largest.
const SHARE: u64 = 1000;
/// So many memory spaces have a lens, those with the most bytes.
const MAX_SPACES: usize = 4;
/// An instruction's name is shown with so many characters.
const NAME: usize = 40;

/// A sentence above a line that leads to what a memory space holds at a step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lens {
    /// The line.
    pub range: Range<u32>,
    /// The sentence.
    pub title: String,
    /// The memory space.
    pub space: u64,
    /// The step; `None` where no peak is known.
    pub step: Option<u64>,
}

/// The lenses of a file, in no order: the memory spaces above the assignment, the true peaks above
/// the live ranges and the printed peak, and the largest allocations.
pub fn lenses(dump: &Dump, file: FileId) -> Vec<Lens> {
    let mut lenses = Vec::new();
    let spaces = largest_spaces(dump);
    for (heading, place) in dump.headings.iter().filter(|(_, place)| place.file == file) {
        let spaces = spaces.iter();
        match heading {
            Heading::Assignment => {
                lenses.extend(spaces.map(|space| of_space(dump, space, place)));
            }
            Heading::LiveRange(_) | Heading::Peak(_) => {
                lenses.extend(spaces.filter_map(|space| of_peak(dump, space, place)));
            }
            _ => {}
        }
    }
    lenses.extend(of_allocations(dump, file));
    lenses
}

/// The memory spaces with the most bytes.
fn largest_spaces(dump: &Dump) -> Vec<&Space> {
    let spaces = dump.occupancy().spaces.iter();
    let is_told =
        |space: &&Space| space.reserved > 0 && !space::is_flags(space.color, dump.platforms);
    let mut spaces: Vec<&Space> = spaces.filter(is_told).collect();
    spaces.sort_by_key(|space| (Reverse(space.reserved), space.color));
    let largest = spaces.first().map_or(0, |space| space.reserved);
    spaces.retain(|space| space.reserved >= largest / SHARE);
    spaces.truncate(MAX_SPACES);
    spaces
}

/// `HBM 1.26 GiB reserved, 965.7 MiB occupied at step 13`
fn of_space(dump: &Dump, space: &Space, place: &Place) -> Lens {
    let name = space::named(space.color, dump.platforms);
    let peak = space.peak_if_any();
    let occupied = peak.map(|peak| {
        let (least, bytes) = (at_least(dump), rounded(peak.bytes));
        format!(", {least}{bytes} occupied at step {}", peak.step)
    });
    Lens {
        range: place.range.clone(),
        title: format!(
            "{name} {} reserved{}",
            rounded(space.reserved),
            occupied.unwrap_or_default()
        ),
        space: space.color,
        step: peak.map(|peak| peak.step),
    }
}

/// `true HBM peak: step 13 copy.3, 965.7 MiB (XLA says 14)`
fn of_peak(dump: &Dump, space: &Space, place: &Place) -> Option<Lens> {
    let peak = space.peak_if_any()?;
    let name = space::named(space.color, dump.platforms);
    let printed = dump.peak.as_ref().map(|printed| printed.step.value);
    let printed = match printed {
        Some(step) if step == peak.step => " (XLA says so too)".to_owned(),
        Some(step) => format!(" (XLA says {step})"),
        None => String::new(),
    };
    let title = format!(
        "true {name} peak: {}, {}{}{printed}",
        step(dump, peak.step),
        at_least(dump),
        rounded(peak.bytes)
    );
    Some(Lens {
        range: place.range.clone(),
        title,
        space: space.color,
        step: Some(peak.step),
    })
}

/// Where some value's live range is missing, what is occupied may be more.
fn at_least(dump: &Dump) -> &'static str {
    if dump.occupancy().missing > 0 {
        "at least "
    } else {
        ""
    }
}

/// `step 13 copy.3`
fn step(dump: &Dump, step: u64) -> String {
    match dump.instruction_at(step) {
        Some(name) => format!("step {step} {}", cut(name, NAME)),
        None => format!("step {step}"),
    }
}

fn of_allocations(dump: &Dump, file: FileId) -> Vec<Lens> {
    let occupancy = dump.occupancy();
    let is_large = |allocation: &Allocation| {
        let space = occupancy.space(allocation.color);
        let all = space.map_or(0, |space| space.reserved.max(space.thread_local));
        allocation.size > 0 && allocation.size >= all / SHARE
    };
    let mut chosen: Vec<(usize, &Allocation)> = dump
        .allocations
        .iter()
        .enumerate()
        .filter(|(_, allocation)| is_large(allocation))
        .collect();
    chosen.sort_by_key(|&(number, allocation)| (Reverse(allocation.size), number));
    chosen.truncate(MAX_ALLOCATIONS);
    let lens = |(number, allocation): (usize, &Allocation)| {
        let header = dump.header(allocation)?;
        let place = header.place(header.row.line);
        let fullest = occupancy
            .fill(number as u32)
            .map(|fill| fullest(dump, allocation, fill));
        let fullest = fullest.filter(|fullest| fullest.bytes > 0);
        (place.file == file).then(|| Lens {
            range: place.range,
            title: title(dump, allocation, number as u32),
            space: allocation.color,
            step: fullest.map(|fullest| fullest.step),
        })
    };
    chosen.into_iter().filter_map(lens).collect()
}

/// When an allocation is the fullest: at the peak of its memory space, if then as well.
fn fullest(dump: &Dump, allocation: &Allocation, fill: Fill) -> Moment {
    match dump.occupancy().peak(allocation.color) {
        Some(peak) if fill.at_peak == fill.fullest.bytes => Moment {
            step: peak.step,
            ..fill.fullest
        },
        _ => fill.fullest,
    }
}

/// `645.7 MiB temp, full at step 13 copy.3, 8 values`
fn title(dump: &Dump, allocation: &Allocation, number: u32) -> String {
    let occupancy = dump.occupancy();
    let mut parts = vec![format!(
        "{} {}",
        rounded(allocation.size),
        allocation.kind().name()
    )];
    if let Some(fill) = occupancy.fill(number) {
        let fullest = fullest(dump, allocation, fill);
        if fullest.bytes == 0 && dump.keeps_scratch(allocation) {
            parts.push("kept by the compiler".to_owned());
        } else if fullest.bytes == 0 {
            parts.push("never occupied".to_owned());
        } else if allocation.values.len() > 1 {
            let full = if occupancy::is_full(fullest.bytes, allocation.size) {
                "full".to_owned()
            } else {
                let percent = fullest.bytes as f64 * 100.0 / allocation.size.max(1) as f64;
                format!("fullest ({percent:.1} %)")
            };
            parts.push(format!("{full} at {}", step(dump, fullest.step)));
        }
        if let Some(peak) = occupancy
            .peak(allocation.color)
            .filter(|_| fill.at_peak == 0 && fullest.bytes > 0)
            // Its bytes are there all the time, whoever reads them.
            .filter(|_| allocation.kind() != Kind::Constant)
        {
            let name = space::named(allocation.color, dump.platforms);
            parts.push(format!("empty at the {name} peak (step {})", peak.step));
        }
    }
    let values = allocation.values.len();
    parts.push(counted(values, "value"));
    parts.join(", ")
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::super::fixture::{COMBINED, Fixture, split};
    use super::*;

    fn check(text: &str, file: FileId, expect: &Expect) {
        let fixture = Fixture::new(text);
        let lens = |lens: Lens| {
            format!(
                "{} | {} | {} {:?}\n",
                fixture.text(file, lens.range),
                lens.title,
                lens.space,
                lens.step
            )
        };
        let lenses: Vec<String> = lenses(&fixture.dump, file).into_iter().map(lens).collect();
        expect.assert_eq(&lenses.concat());
    }

    #[test]
    fn a_combined_dump_has_them_all() {
        check(
            COMBINED,
            0,
            &expect![[r#"
                BufferAssignment: | HBM 17.1 KiB reserved, 1.1 KiB occupied at step 6 | 0 Some(6)
                BufferAssignment: | VMEM 512 B reserved, 512 B occupied at step 1 | 1 Some(1)
                HloLiveRange (max 7): | true HBM peak: step 6 add.2, 1.1 KiB (XLA says 1) | 0 Some(6)
                HloLiveRange (max 7): | true VMEM peak: step 1 copy-start, 512 B (XLA says so too) | 1 Some(1)
                  Live ranges at 1 (peak): | true HBM peak: step 6 add.2, 1.1 KiB (XLA says 1) | 0 Some(6)
                  Live ranges at 1 (peak): | true VMEM peak: step 1 copy-start, 512 B (XLA says so too) | 1 Some(1)
                allocation 3: size 16448, preallocated-temp: | 16.1 KiB temp, fullest (0.6 %) at step 3 while.4, 3 values | 0 Some(3)
                allocation 0: size 512, parameter 0, shape |f32[16]| at Shap... | 512 B parameter, 1 value | 0 Some(6)
                allocation 1: size 512, maybe-live-out: | 512 B output, 1 value | 0 Some(6)
                allocation 2: size 512, color 1, preallocated-temp: | 512 B temp, 1 value | 1 Some(1)
                allocation 4: size 4, color 2, preallocated-temp: | 4 B temp, 1 value | 2 Some(1)
            "#]],
        );
    }

    #[test]
    fn each_file_has_those_of_its_own_lines() {
        let text = split();
        check(&text, 1, &expect![[""]]);
        check(
            &text,
            2,
            &expect![[r#"
                HloLiveRange (max 7): | true HBM peak: step 6 add.2, 1.1 KiB (XLA says 1) | 0 Some(6)
                HloLiveRange (max 7): | true VMEM peak: step 1 copy-start, 512 B (XLA says so too) | 1 Some(1)
                  Live ranges at 1 (peak): | true HBM peak: step 6 add.2, 1.1 KiB (XLA says 1) | 0 Some(6)
                  Live ranges at 1 (peak): | true VMEM peak: step 1 copy-start, 512 B (XLA says so too) | 1 Some(1)
            "#]],
        );
    }

    #[test]
    fn without_live_ranges_nothing_is_said_of_time() {
        let text = COMBINED.split("\nHloLiveRange").next().unwrap();
        check(
            text,
            0,
            &expect![[r#"
                BufferAssignment: | HBM 17.1 KiB reserved | 0 None
                BufferAssignment: | VMEM 512 B reserved | 1 None
                allocation 3: size 16448, preallocated-temp: | 16.1 KiB temp, 3 values | 0 None
                allocation 0: size 512, parameter 0, shape |f32[16]| at Shap... | 512 B parameter, 1 value | 0 None
                allocation 1: size 512, maybe-live-out: | 512 B output, 1 value | 0 None
                allocation 2: size 512, color 1, preallocated-temp: | 512 B temp, 1 value | 1 None
                allocation 4: size 4, color 2, preallocated-temp: | 4 B temp, 1 value | 2 None
            "#]],
        );
    }

    #[test]
    fn what_is_not_counted_is_owned_up_to() {
        let text = COMBINED.replace("    while.4{1}:3-6\n", "");
        let fixture = Fixture::new(&text);
        let lenses = lenses(&fixture.dump, 0);
        assert_eq!(
            lenses[0].title,
            "HBM 17.1 KiB reserved, at least 1.0 KiB occupied at step 6"
        );
    }

    #[test]
    fn only_large_allocations_have_one_and_not_too_many() {
        let temps = (1..1000)
            .map(|number| format!("allocation {number}: size 1000000, preallocated-temp:\n"));
        let text: Vec<String> = temps.collect();
        let text = format!(
            "BufferAssignment:\nallocation 0: size 10, constant:\n{}",
            text.concat()
        );
        let fixture = Fixture::new(&text);
        let lenses = lenses(&fixture.dump, 0);
        let of_allocations = lenses.iter().filter(|lens| lens.title.contains("temp"));
        assert_eq!(of_allocations.count(), MAX_ALLOCATIONS);
        assert!(lenses.iter().all(|lens| !lens.title.contains("constant")));
    }
}
