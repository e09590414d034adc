use std::fmt::Write;
use std::path::PathBuf;

use buflens_syntax::Document;
use proptest::prelude::*;

use super::{Change, Kind, Moment, Occupancy, alive, buffer, by_kind, changes_of};
use crate::model::{Allocation, Dump, File};

/// A dump with a temp allocation, a parameter and a thread-local one, and these values in the temp:
/// offset, size, first and last step.
fn dump(max: u64, values: &[(u64, u64, u64, u64)]) -> Dump {
    let mut text = String::from(
        "BufferAssignment:\nallocation 0: size 8, parameter 0, shape |f32[2]| at ShapeIndex {}:\n value: <0 p @0> (size=8,offset=0): f32[2]{0}\nallocation 1: size 4, thread-local:\n value: <1 t @0> (size=4,offset=0): f32[]\nallocation 2: size 900, preallocated-temp:\n",
    );
    let mut ranges = format!("    p{{}}:0-{max}\n");
    for (at, (offset, size, start, end)) in values.iter().enumerate() {
        let id = at + 2;
        let _ = writeln!(
            text,
            " value: <{id} v.{id} @0> (size={size},offset={offset}): f32[]"
        );
        let _ = writeln!(ranges, "    v.{id}{{}}:{start}-{end}");
    }
    read(&format!(
        "{text}\n\nHloLiveRange (max {max}):\n  InstructionSequence:\n    0:p\n  BufferLiveRange:\n{ranges}"
    ))
}

fn read(text: &str) -> Dump {
    Dump::new(vec![File {
        path: PathBuf::from("x-buffer-assignment.txt"),
        document: Document::new(text).expect("a text below 4 GiB"),
        lossy: false,
    }])
}

/// Byte by byte, step by step.
fn occupied(values: &[(u64, u64, u64, u64)], step: u64) -> u64 {
    let is_held = |byte: &u64| {
        values.iter().any(|&(offset, size, start, end)| {
            (start..=end).contains(&step) && (offset..offset + size).contains(byte)
        })
    };
    8 + (0..200).filter(is_held).count() as u64
}

fn first_peak(values: &[(u64, u64, u64, u64)], max: u64) -> Moment {
    let moments = (0..max).map(|step| Moment {
        step,
        bytes: occupied(values, step),
    });
    moments
        .max_by_key(|moment| (moment.bytes, u64::MAX - moment.step))
        .expect("a step")
}

proptest! {
    #[test]
    fn occupancy_is_the_length_of_the_union(
        values in prop::collection::vec((0_u64..100, 0_u64..60, 0_u64..12, 0_u64..14), 0..25),
        changed in prop::collection::vec((0_u64..14, -80_i64..80), 0..5),
    ) {
        let dump = dump(12, &values);
        let occupancy = dump.occupancy();
        let curve = occupancy.spaces[0].curve.as_ref().expect("a curve");
        for step in 0..12 {
            prop_assert_eq!(curve.at(step), occupied(&values, step));
            let values = alive(&dump, 0, step);
            prop_assert_eq!(by_kind(&dump, &values).iter().sum::<u64>(), curve.at(step));
            for end in step + 1..=12 {
                let bytes = (step..end).map(|step| curve.at(step)).max();
                let most = curve.most_in(step, end).expect("a step");
                prop_assert_eq!(Some(most.bytes), bytes);
                prop_assert_eq!(curve.at(most.step), most.bytes);
            }
        }
        prop_assert_eq!(curve.peak(), first_peak(&values, 12));
        let changes: Vec<Change> = changed.into_iter().map(|(step, by)| Change { step, by }).collect();
        let left = |step: u64| {
            let before = changes.iter().filter(|change| change.step <= step);
            let by: i64 = before.map(|change| change.by).sum();
            u64::try_from(i128::from(curve.at(step)) + i128::from(by)).unwrap_or(0)
        };
        let peak = curve.peak_if_changed(changes.clone());
        prop_assert_eq!(Some(peak.bytes), (0..12).map(left).max());
        prop_assert_eq!(left(peak.step), peak.bytes);
        let is_counted = |allocation: &&Allocation| allocation.kind() != Kind::ThreadLocal;
        let counted = dump.allocations.iter().filter(is_counted);
        let counted: Vec<u32> = counted.flat_map(|it| it.values.clone()).collect();
        prop_assert_eq!(changes_of(&dump, &counted, 12), curve.changes());
        let is_first = |at: &u32| dump.values[*at as usize].allocation() == Some(0);
        let (first, others): (Vec<u32>, Vec<u32>) = counted.into_iter().partition(is_first);
        let without_first = curve.without(&changes_of(&dump, &first, 12));
        prop_assert_eq!(without_first.changes(), changes_of(&dump, &others, 12));
        for at in 0..values.len() {
            let (_, size, start, end) = values[at];
            let mut rest = values.clone();
            rest.remove(at);
            let takes_part = size > 0 && start <= end;
            let gone = takes_part.then(|| first_peak(&rest, 12));
            let id = at as u32 + 2;
            prop_assert_eq!(occupancy.if_gone(&dump, id), gone);
            let without = Occupancy::without(&dump, &[id]);
            prop_assert_eq!(without.peak(0), Some(first_peak(&rest, 12)));
            let chain = buffer(&dump, id);
            if takes_part {
                let without = Occupancy::without(&dump, &chain);
                prop_assert_eq!(occupancy.if_all_gone(&dump, &chain), without.peak(0));
            }
        }
    }

    /// What is said to lie apart shares no bytes at two steps; what does not is that, or ends last, or begins behind the
    /// schedule.
    #[test]
    fn values_lie_apart(
        values in prop::collection::vec((0_u64..40, 0_u64..30, 0_u64..14, 0_u64..14), 0..5),
    ) {
        let dump = dump(12, &values);
        let lie_apart = dump.occupancy().lie_apart(2);
        let shares = |one: &(u64, u64, u64, u64), other: &(u64, u64, u64, u64), steps: u64| {
            let have_bytes = one.1 > 0 && other.1 > 0;
            let meet = one.0 < other.0 + other.1 && other.0 < one.0 + one.1;
            have_bytes && meet && one.2.max(other.2) + steps <= one.3.min(other.3) + 1
        };
        let taking_part = values.iter().filter(|it| it.1 > 0 && it.2 <= it.3);
        let end = taking_part.map(|it| it.3.min(11)).max();
        let (mut overlap, mut may_overlap) = (false, values.iter().any(|it| it.2 >= 12));
        for (at, one) in values.iter().enumerate() {
            for other in &values[at + 1..] {
                overlap |= shares(one, other, 2);
                let end_last = [one, other].iter().all(|it| Some(it.3.min(11)) == end);
                may_overlap |= shares(one, other, if end_last { 1 } else { 2 });
            }
        }
        prop_assert!(!(lie_apart && overlap));
        prop_assert!(lie_apart || may_overlap);
    }
}

#[test]
fn near_and_next_peaks() {
    let values = [
        (0, 100, 1, 1),
        (0, 92, 2, 2),
        (0, 10, 3, 3),
        (0, 97, 5, 6),
        (0, 40, 8, 9),
    ];
    let dump = dump(10, &values);
    let curve = dump.occupancy().spaces[0].curve.clone().expect("a curve");
    assert_eq!(
        curve.peak(),
        Moment {
            step: 1,
            bytes: 108
        }
    );
    assert_eq!(curve.near(95), [(1, 1), (5, 6)]);
    let next = [
        Moment {
            step: 5,
            bytes: 105,
        },
        Moment { step: 8, bytes: 48 },
    ];
    assert_eq!(curve.next_peaks(5, 95), next);
    assert_eq!(curve.next_peaks(1, 95), next[..1]);

    let fill = dump.occupancy().fill(2).expect("a fill");
    assert_eq!(
        (fill.fullest, fill.at_peak),
        (
            Moment {
                step: 1,
                bytes: 100
            },
            100
        )
    );
    assert_eq!(dump.occupancy().fill(1), None);
}

#[test]
fn a_plateau_has_one_peak() {
    let values = [
        (0, 200, 0, 4),
        (200, 10, 1, 1),
        (200, 8, 3, 3),
        (0, 50, 6, 8),
        (50, 1, 7, 7),
    ];
    let dump = dump(10, &values);
    let curve = dump.occupancy().spaces[0].curve.clone().expect("a curve");
    assert_eq!(curve.peak().step, 1);
    let next = |percent| curve.next_peaks(5, percent).into_iter().map(|it| it.step);
    assert_eq!(next(95).collect::<Vec<_>>(), [7]);
    assert_eq!(next(97).collect::<Vec<_>>(), [3, 7]);
    assert_eq!(next(1).count(), 0);
}

#[test]
fn a_buffer_is_handed_on() {
    // Values 2 to 5 have the same bytes; 5 only after a gap. 6 has a part of them.
    let values = [
        (0, 50, 1, 3),
        (0, 50, 3, 6),
        (0, 50, 6, 6),
        (0, 50, 8, 9),
        (0, 40, 2, 7),
    ];
    let dump = dump(10, &values);
    assert_eq!(buffer(&dump, 3), [3, 2, 4]);
    assert_eq!(buffer(&dump, 2), [2, 3, 4]);
    assert_eq!(buffer(&dump, 5), [5]);
    assert_eq!(buffer(&dump, 6), [6]);
    assert_eq!(buffer(&dump, 99), [99]);
    let gone = dump.occupancy().if_all_gone(&dump, &[3, 2, 4]);
    assert_eq!(gone, Some(Moment { step: 8, bytes: 58 }));
}

#[test]
fn totals_of_a_space() {
    let dump = dump(3, &[(0, 900, 0, 3)]);
    let space = &dump.occupancy().spaces[0];
    assert_eq!((space.reserved, space.thread_local), (908, 4));
    let kinds: Vec<Kind> = dump.allocations.iter().map(Allocation::kind).collect();
    assert_eq!(kinds, [Kind::Parameter, Kind::ThreadLocal, Kind::Temp]);
}

#[test]
fn nonsense_overflows_nothing() {
    // What is as large as can be read.
    let most = u64::MAX - 1;
    let dump = dump(
        most,
        &[(most - 1, most, 0, most), (0, most, 1, 2), (5, 7, 9, 3)],
    );
    let occupancy = dump.occupancy();
    // From step 1 on, all addresses are taken, and the parameter's 8 bytes besides.
    let bytes = u64::MAX;
    assert_eq!(occupancy.peak(0), Some(Moment { step: 1, bytes }));
    assert!(occupancy.if_gone(&dump, 3).is_some());
    assert_eq!(occupancy.if_gone(&dump, 4), None);
}

#[test]
fn what_is_not_read_is_missing() {
    let sound = "BufferAssignment:\nallocation 0: size 64, preallocated-temp:\n value: <1 a @0> (size=8,offset=0): f32[2]\n \
                 value: <2 b @0> (size=8,offset=8): f32[2]\n\nHloLiveRange (max 9):\n  InstructionSequence:\n    0:a\n    1:b\n  \
                 BufferLiveRange:\n    a{}:0-3\n    b{}:1-3\n";
    let told = |text: &str| {
        let dump = read(text);
        let occupancy = dump.occupancy();
        (occupancy.peak(0).expect("a peak").bytes, occupancy.missing)
    };
    assert_eq!(told(sound), (16, 0));
    for broken in [
        "(size=,",
        "(size=-8,",
        "(size=8x,",
        "(size=99999999999999999999,",
    ] {
        let text = sound.replacen("(size=8,", broken, 1);
        assert_eq!(told(&text), (8, 1), "{broken}");
    }
    for broken in [
        "a{}:",
        "a{}:0-",
        "a{}:0-x",
        "a{}:-3",
        "a{}:0-99999999999999999999",
    ] {
        let text = sound.replace("a{}:0-3", broken);
        assert_eq!(told(&text), (8, 1), "{broken}");
    }
}

#[test]
fn without_live_ranges_it_says_why() {
    let dump = read(
        "BufferAssignment:\nallocation 0: size 4, preallocated-temp:\n value: <0 a @0> (size=4,offset=0): f32[]\n\n",
    );
    assert_eq!(dump.occupancy().peak(0), None);
    assert!(
        dump.occupancy()
            .reason
            .is_some_and(|reason| reason.contains("live ranges"))
    );
    assert_eq!(dump.occupancy().spaces[0].reserved, 4);
    assert!(read("").occupancy().reason.is_some());
}

#[test]
fn a_value_in_no_allocation_is_counted() {
    // The assignment ends before the allocation of `b`.
    let dump = read(
        "BufferAssignment:\nallocation 0: size 4, preallocated-temp:\n value: <0 a @0> (size=4,offset=0): f32[]\n\nUsed values:\n<0 a @0>\n positions:\n  a\n uses:\n from instruction: %a = f32[] rng()\n<1 b @0>\n positions:\n  b\n uses:\n from instruction: %b = f32[] rng()\n\n\nHloLiveRange (max 2):\n  InstructionSequence:\n    0:a\n    1:b\n  BufferLiveRange:\n    a{}:0-1\n    b{}:1-1\n",
    );
    assert_eq!(dump.occupancy().missing, 1);
    assert_eq!(dump.occupancy().peak(0), Some(Moment { step: 0, bytes: 4 }));
}

#[test]
fn a_missing_live_range_is_counted() {
    let dump = read(
        "BufferAssignment:\nallocation 0: size 8, preallocated-temp:\n value: <0 a @0> (size=4,offset=0): f32[]\n value: <1 b @0> (size=4,offset=4): f32[]\n\n\nHloLiveRange (max 2):\n  InstructionSequence:\n    0:a\n    1:b\n  BufferLiveRange:\n    a{}:0-1\n",
    );
    assert_eq!(dump.occupancy().missing, 1);
    assert_eq!(dump.occupancy().peak(0), Some(Moment { step: 0, bytes: 4 }));
}
