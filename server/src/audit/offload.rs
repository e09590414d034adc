//! What is in flight between memory spaces, and what comes back from the host.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use super::Audit;
use super::copies::{Copy, Purpose, written};
use crate::model::occupancy::Moment;
use crate::model::space::HOST;

/// What moves into one memory space.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Traffic {
    /// From this memory space, if it is known.
    pub from: Option<u64>,
    /// To this memory space, if it is known.
    pub to: Option<u64>,
    /// How many copies.
    pub copies: usize,
    /// Bytes in all, as far as they are known.
    pub bytes: Option<u64>,
    /// The step at which the most bytes are in flight, and these.
    pub most_in_flight: Option<Moment>,
}

/// A host parameter that is copied back to the device as a whole: offloading it saves nothing
/// while the copy is alive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ComesBack {
    /// The parameter's allocation, as a number into [`crate::model::Dump::allocations`].
    pub allocation: u32,
    /// The copy, as a number into the copies.
    pub copy: usize,
}

/// Movement between memory spaces.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Offload {
    /// By the memory spaces between which it goes, the most bytes first.
    pub traffic: Vec<Traffic>,
    /// Host parameters that come back whole.
    pub comes_back: Vec<ComesBack>,
}

/// What `copies` move between memory spaces.
pub fn offload(audit: &Audit, copies: &[Copy]) -> Offload {
    let mut pairs: BTreeMap<(Option<u64>, Option<u64>), Vec<&Copy>> = BTreeMap::new();
    for copy in copies {
        let (from, to) = (copy.from.color, copy.to.color);
        if from.is_some() && to.is_some() && from != to {
            pairs.entry((from, to)).or_default().push(copy);
        }
    }
    let traffic = |((from, to), copies): (_, Vec<&Copy>)| Traffic {
        from,
        to,
        copies: copies.len(),
        bytes: written(copies.iter().copied()),
        most_in_flight: most_in_flight(&copies),
    };
    let mut traffic: Vec<Traffic> = pairs.into_iter().map(traffic).collect();
    traffic.sort_by_key(|traffic| Reverse(traffic.bytes));
    let numbered = copies.iter().enumerate();
    let mut comes_back: Vec<ComesBack> = numbered
        .filter_map(|(copy, back)| comes_back(audit, copy, back))
        .collect();
    comes_back.sort_by_key(|back| {
        let start = copies[back.copy].window.map(|window| window.0);
        (back.allocation, start, back.copy)
    });
    // A parameter may come back several times; the first copy is enough.
    comes_back.dedup_by_key(|back| back.allocation);
    Offload {
        traffic,
        comes_back,
    }
}

/// The step at which the most bytes of `copies` are in flight; the first of several.
fn most_in_flight(copies: &[&Copy]) -> Option<Moment> {
    let mut changes: Vec<(u64, i128)> = Vec::with_capacity(2 * copies.len());
    for copy in copies {
        if let (Some((start, end)), Some(bytes)) = (copy.window, copy.bytes) {
            changes.push((start, bytes.into()));
            changes.push((end.saturating_add(1), -i128::from(bytes)));
        }
    }
    // What ends before a step goes before what begins with it.
    changes.sort_unstable();
    let (mut sum, mut most) = (0, None);
    for (step, change) in changes {
        sum += change;
        let bytes = u64::try_from(sum).unwrap_or(u64::MAX);
        if bytes > most.map_or(0, |most: Moment| most.bytes) {
            most = Some(Moment { step, bytes });
        }
    }
    most
}

/// The host parameter that copy number `copy` brings back, if it brings back all of it.
fn comes_back(audit: &Audit, copy: usize, back: &Copy) -> Option<ComesBack> {
    let dump = audit.dump;
    if back.purpose != Purpose::Reload {
        return None;
    }
    let value = |at: Option<u32>| dump.values.get(at? as usize);
    let (from, to) = (value(back.from.value)?, value(back.to.value)?);
    let allocation = from.allocation()?;
    let parameter = dump.allocations.get(allocation as usize)?;
    // Tiles differ between memories, so the bytes without padding are compared.
    let bytes = |value| audit.shapes.logical_bytes(value);
    let is_whole = bytes(to)? >= bytes(from)?;
    (parameter.color == HOST && parameter.is_parameter() && is_whole)
        .then_some(ComesBack { allocation, copy })
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use expect_test::{Expect, expect};

    use super::*;
    use crate::audit::copies::{End, copies};
    use crate::audit::fixture::real;
    use crate::model::source::Libraries;
    use crate::model::{Dump, Names};

    fn check(dump: &Dump, expected: &Expect) {
        let audit = Audit::new(dump, Libraries::default());
        let copies = copies(&audit);
        let offload = offload(&audit, &copies);
        let mut text = String::new();
        for traffic in &offload.traffic {
            let (from, to) = (traffic.from.unwrap(), traffic.to.unwrap());
            let (count, bytes) = (traffic.copies, traffic.bytes.unwrap_or(0));
            let most = traffic.most_in_flight.map(|most| (most.step, most.bytes));
            writeln!(
                text,
                "@{from} -> @{to}: {count} copies, {bytes} B, most {most:?}"
            )
            .unwrap();
        }
        for back in &offload.comes_back {
            let copy = &dump.names[copies[back.copy].name];
            writeln!(text, "allocation {} comes back by {copy}", back.allocation).unwrap();
        }
        expected.assert_eq(&text);
    }

    #[test]
    fn real_dumps() {
        check(
            &real("tpu-split/module_0055."),
            &expect![[r#"
            @0 -> @1: 2 copies, 1048576 B, most Some((1, 524288))
        "#]],
        );
        check(
            &real("tpu-combined-v5p/module_1690."),
            &expect![[r#"
            @0 -> @1: 1 copies, 16777216 B, most Some((1, 16777216))
            @0 -> @5: 1 copies, 16777216 B, most Some((5, 16777216))
            @5 -> @0: 1 copies, 16777216 B, most Some((7, 16777216))
        "#]],
        );
        check(
            &real("host-parameters/module_1403."),
            &expect![[r#"
            @0 -> @3: 1 copies, 4194304 B, most Some((1, 4194304))
            @5 -> @0: 1 copies, 4194304 B, most Some((3, 4194304))
            allocation 2 comes back by copy-start
        "#]],
        );
    }

    #[test]
    fn copies_in_flight_together() {
        let copy = |start: u64, end: u64, bytes: u64| Copy {
            name: Names::default().intern("x"),
            purpose: Purpose::Prefetch,
            operand: String::new(),
            from: End::default(),
            to: End::default(),
            bytes: Some(bytes),
            window: Some((start, end)),
            at_peak: None,
            round_trip: None,
            in_loop: None,
        };
        let all = [
            copy(0, 3, 10),
            copy(4, 6, 10),
            copy(6, 9, 5),
            copy(9, 9, u64::MAX),
        ];
        let most = |number: usize| most_in_flight(&all.iter().take(number).collect::<Vec<_>>());
        assert_eq!(most(0), None);
        assert_eq!(most(2), Some(Moment { step: 0, bytes: 10 }));
        assert_eq!(most(3), Some(Moment { step: 6, bytes: 15 }));
        assert_eq!(
            most(4),
            Some(Moment {
                step: 9,
                bytes: u64::MAX
            })
        );
    }
}
