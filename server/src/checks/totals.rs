//! The total in bytes and its form for people.

use buflens_syntax::facts;

use super::structure::Section;
use super::{Code, Doubts, Finding, Findings};
use crate::model::{At, Dump, Part, bytes};

/// `total-bytes` and `human-bytes`.
pub(super) fn check_total(dump: &Dump, doubts: &Doubts, findings: &mut Findings) {
    let Some(total) = dump.total.and_then(|row| dump.at::<facts::Total>(row)) else {
        return;
    };
    if dump.allocations.is_empty() || !doubts.are_whole(&[Section::Allocations]) {
        check_human(&total, false, findings);
        return;
    }
    let sum: u128 = dump
        .allocations
        .iter()
        .enumerate()
        .map(|(number, allocation)| {
            u128::from(
                doubts
                    .sizes
                    .get(&(number as u32))
                    .copied()
                    .unwrap_or(allocation.size),
            )
        })
        .sum();
    let printed = total.row.bytes.value;
    if u128::from(printed) == sum {
        check_human(&total, true, findings);
        return;
    }
    let message = format!("total of {printed} bytes where the allocations add up to {sum}");
    let mut finding = Finding::new(Code::TotalBytes, total.place(total.row.bytes.span), message);
    // If one allocation's size is in doubt already, so is which of the two is wrong. A number for
    // people that agrees with the sum settles it.
    let human = total.text(total.row.human);
    if doubts.allocations.is_empty() {
        let sum = u64::try_from(sum).unwrap_or(u64::MAX);
        if bytes::human(sum) == human && is_assignment_sound(dump, findings) {
            finding = finding.fixed_by(sum.to_string());
        }
        // Allocations that nothing else in the dump confirms.
        for allocation in dump
            .allocations
            .iter()
            .filter(|allocation| allocation.values.is_empty() || allocation.size >= 32 << 20)
        {
            if let Some(header) = dump.header(allocation)
                && finding.related.len() < 8
            {
                finding = finding.related(header.place(header.row.size.span), "part of the sum");
            }
        }
        findings.push(finding);
    } else if doubts.sizes.is_empty() {
        // The values of a blamed allocation are in doubt, and the total agrees with nothing.
        findings.push(finding);
    }
}

/// Whether the assignment is numbered 0, 1, 2 ... and nothing has been found in it. Else an allocation may
/// be missing or doubled, and the total right.
fn is_assignment_sound(dump: &Dump, findings: &Findings) -> bool {
    let file = dump.file_of(Part::Assignment);
    let mut numbered = dump.allocations.iter().zip(0..);
    numbered.all(|(allocation, at)| allocation.index == at)
        && !findings
            .list
            .iter()
            .any(|finding| Some(finding.place.file) == file)
}

/// `human-bytes`: the number for people says what the number beside it says. Whether that number
/// is right, `is_certain` tells.
pub(super) fn check_human(total: &At<facts::Total>, is_certain: bool, findings: &mut Findings) {
    let expected = bytes::human(total.row.bytes.value);
    let found = total.text(total.row.human);
    if found != expected && !found.is_empty() {
        let message = format!(
            "{found} where {} bytes are {expected}",
            total.row.bytes.value
        );
        let finding = Finding::new(Code::HumanBytes, total.place(total.row.human), message)
            .related(total.place(total.row.bytes.span), "the number of bytes");
        findings.push(finding.fixed_if(is_certain, expected));
    }
}
