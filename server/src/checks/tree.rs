//! The stack trace breakdown adds up.

use buflens_syntax::facts;

use super::structure::{Section, code_behind};
use super::{Code, Doubts, Finding, Findings, keep_single_fix};
use crate::model::{At, Dump, Place};

/// `tree-bytes`: a node's total is its own bytes and its children's totals, what remains runs down
/// to 0, and percentages are of the total above the tree.
pub(super) fn check_tree(dump: &Dump, doubts: &Doubts, findings: &mut Findings) {
    let Some((total, place, rows)) = &dump.tree else {
        return;
    };
    if !doubts.are_whole(&[Section::Tree]) {
        return;
    }
    let nodes: Vec<_> = rows
        .iter()
        .filter_map(|&row| dump.at::<facts::TreeNode>(row))
        .collect();
    if nodes.is_empty() {
        if total.value != 0 {
            let message = format!("a peak of {} bytes without a breakdown", total.value);
            findings.push(missing_behind(dump, place.clone(), message));
        }
        return;
    }
    let mut of_nodes = findings.fork();
    let is_complete = check_nodes(dump, &nodes, total.value, place, &mut of_nodes);
    keep_single_fix(&mut of_nodes.list);
    for finding in of_nodes.list.iter_mut().filter(|_| !is_complete) {
        finding.fix = None;
    }
    findings.join(of_nodes);
}

/// Whether the nodes have all the bytes of the total above them: else some are missing or there twice.
fn check_nodes(
    dump: &Dump,
    nodes: &[At<facts::TreeNode>],
    total: u64,
    place: &Place,
    findings: &mut Findings,
) -> bool {
    let Ok(currents) = check_remaining(dump, nodes, total, place, findings) else {
        return true;
    };
    let expected = totals(nodes, &currents);
    let is_sound = !findings.has(Code::TreeBytes);
    for (node, &expected) in nodes.iter().zip(&expected) {
        let printed = node.row.total;
        if u128::from(printed.value) == expected {
            check_percentage(node, total, findings);
            continue;
        }
        let message = format!(
            "total {} where this node and those below it have {}",
            grouped(printed.value.into()),
            grouped(expected)
        );
        let finding = Finding::new(Code::TreeBytes, node.place(printed.span), message);
        // A line that is doubled or missing gives a node other nodes below it; its percentage tells.
        let is_certain = is_percentage(node, expected, total);
        findings.push(finding.fixed_if(is_certain, grouped(expected)));
    }
    let is_sound = is_sound
        && nodes
            .iter()
            .zip(&expected)
            .all(|(node, &total)| u128::from(node.row.total.value) == total);
    if is_sound {
        check_order(nodes, findings);
    }
    currents.iter().sum::<u128>() == u128::from(total)
}

/// Compares `current` with the way `remaining` runs down, which tells which of the two is wrong, and
/// gives the bytes that each node truly has.
fn check_remaining(
    dump: &Dump,
    nodes: &[At<facts::TreeNode>],
    total: u64,
    place: &Place,
    findings: &mut Findings,
) -> Result<Vec<u128>, ()> {
    let mut currents: Vec<u128> = nodes
        .iter()
        .map(|node| node.row.current.value.into())
        .collect();
    let sum: u128 = currents.iter().sum();
    if sum != u128::from(total)
        && nodes[0].row.total.value != total
        && u128::from(nodes[0].row.total.value) == sum
    {
        let message = format!(
            "{} bytes where the nodes have {}",
            grouped(total.into()),
            grouped(sum)
        );
        let finding = Finding::new(Code::TreeBytes, place.clone(), message);
        findings.push(
            finding
                .related(nodes[0].place(nodes[0].row.total.span), "the root's total")
                .fixed_by(grouped(sum)),
        );
        return Err(());
    }
    let printed = totals(nodes, &currents);
    // What remains before a node, by what was printed for the node before.
    let mut before = u128::from(total);
    for at in 0..nodes.len() {
        let node = &nodes[at];
        let remaining = u128::from(node.row.remaining.value);
        if before.checked_sub(currents[at]) == Some(remaining) {
            before = remaining;
            continue;
        }
        // If the next node goes on from the expected number, only this one is wrong.
        let expected =
            before
                .checked_sub(currents[at])
                .filter(|&expected| match nodes.get(at + 1) {
                    Some(next) => {
                        expected.checked_sub(currents[at + 1])
                            == Some(next.row.remaining.value.into())
                    }
                    None => expected == 0,
                });
        if let Some(expected) = expected {
            let message = format!(
                "remaining {} where {} are left",
                grouped(remaining),
                grouped(expected)
            );
            let finding = Finding::new(
                Code::TreeBytes,
                node.place(node.row.remaining.span),
                message,
            );
            findings.push(finding.fixed_by(grouped(expected)));
            before = expected;
        } else if printed[at] == u128::from(node.row.total.value) {
            // All that the node says of itself agrees; the totals above it lack the same bytes.
            let message = format!(
                "remaining {} where {} remain behind the node before, and this one has {}: a line is \
                 missing between them, or stands twice",
                grouped(remaining),
                grouped(before),
                grouped(currents[at])
            );
            let place = node.place(node.row.remaining.span);
            findings.push(Finding::new(Code::TreeBytes, place, message));
            return Err(());
        } else {
            let current = before.saturating_sub(remaining);
            let message = format!(
                "current {} where the remaining bytes fall by {}",
                grouped(currents[at]),
                grouped(current)
            );
            let finding = Finding::new(Code::TreeBytes, node.place(node.row.current.span), message)
                .related(node.place(node.row.remaining.span), "the remaining bytes")
                .fixed_by(grouped(current));
            findings.push(finding);
            currents[at] = current;
            before = remaining;
        }
    }
    if before > 0 && !findings.has(Code::TreeBytes) {
        let last = &nodes[nodes.len() - 1];
        let message = format!(
            "{} bytes remain behind the last node: a line is missing",
            grouped(before)
        );
        let place = last.place(last.row.remaining.span);
        findings.push(missing_behind(dump, place, message));
        return Err(());
    }
    Ok(currents)
}

/// The finding at `place` that something is missing behind it.
fn missing_behind(dump: &Dump, place: Place, message: String) -> Finding {
    let document = &dump.files[place.file].document;
    let code = code_behind(document, place.range.start, Code::TreeBytes);
    Finding::new(code, place, message)
}

/// Each node's bytes with all below it.
fn totals(nodes: &[At<facts::TreeNode>], currents: &[u128]) -> Vec<u128> {
    let mut totals = currents.to_vec();
    let mut path: Vec<usize> = Vec::new();
    for (at, node) in nodes.iter().enumerate() {
        path.retain(|&above| nodes[above].row.depth < node.row.depth);
        for &above in &path {
            totals[above] += currents[at];
        }
        path.push(at);
    }
    totals
}

/// Children stand with the larger total first.
fn check_order(nodes: &[At<facts::TreeNode>], findings: &mut Findings) {
    let mut last_at_depth: Vec<Option<usize>> = Vec::new();
    for (at, node) in nodes.iter().enumerate() {
        let depth = node.row.depth as usize;
        last_at_depth.resize(depth + 1, None);
        if let Some(before) = last_at_depth[depth].map(|before| &nodes[before])
            && before.row.total.value < node.row.total.value
        {
            let message = format!(
                "a total of {} behind a smaller one: the larger total stands first",
                grouped(node.row.total.value.into())
            );
            let finding = Finding::new(Code::TreeBytes, node.place(node.row.total.span), message);
            findings
                .push(finding.related(before.place(before.row.total.span), "the smaller total"));
        }
        last_at_depth[depth] = Some(at);
    }
}

fn check_percentage(node: &At<facts::TreeNode>, total: u64, findings: &mut Findings) {
    let bytes = node.row.total.value;
    if is_percentage(node, bytes.into(), total) {
        return;
    }
    let (printed, expected) = (
        node.text(node.row.percentage),
        percentage(bytes.into(), total),
    );
    let message = format!("{printed} % where {bytes} of {total} bytes are {expected} %");
    findings.push(
        Finding::new(Code::TreeBytes, node.place(node.row.percentage), message).fixed_by(expected),
    );
}

/// Whether a node's percentage is that of `bytes`, as far as it can be read. Equal in every dump seen; a
/// tie may be rounded either way.
fn is_percentage(node: &At<facts::TreeNode>, bytes: u128, total: u64) -> bool {
    let (found, wanted) = (node.text(node.row.percentage), percentage(bytes, total));
    if found == wanted {
        return true;
    }
    match (found.parse::<f64>(), wanted.parse::<f64>()) {
        (Ok(found), Ok(wanted)) => (found - wanted).abs() <= 0.051,
        _ => true,
    }
}

fn percentage(bytes: u128, total: u64) -> String {
    format!("{:.1}", 100.0 * bytes as f64 / total as f64)
}

/// Blanks between groups of three digits, as the compiler prints the tree.
fn grouped(number: u128) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(' ');
        }
        text.push(digit);
    }
    text
}
