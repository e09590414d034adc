//! The stack trace breakdown: the values that its nodes stand for.

use buflens_syntax::InstructionParts;
use buflens_syntax::facts::{PeakValue, TreeNode};

use crate::model::origin::op_name;
use crate::model::{At, Dump, FileId, Row};

/// Of a longer peak list it is not told which values a node stands for.
const MAX_LINES: usize = 500;
/// Nor where their instructions are longer together, in bytes.
const MAX_TEXT: usize = 1 << 18;
/// Nor of so many nodes.
const MAX_NODES: usize = 500;

/// The values at XLA's peak, by what the breakdown calls them.
pub(super) struct Breakdown<'d> {
    dump: &'d Dump,
    listed: Vec<Listed>,
}

/// A line of the peak list.
struct Listed {
    /// The trace path of the instruction, or else its name, and the index; of an argument the last key.
    label: String,
    /// The labels of the nodes that it stands below, the nearest first, as far as the path has them.
    above: Vec<String>,
    /// The value, a number into [`Dump::values`], if it is known where it lies.
    value: Option<u32>,
    /// Unpadded bytes.
    bytes: u64,
}

impl<'d> Breakdown<'d> {
    /// `None` where the list is too long to be read for a request.
    pub(super) fn of(dump: &'d Dump) -> Option<Self> {
        let lines = &dump.peak.as_ref()?.values;
        if lines.len() > MAX_LINES {
            return None;
        }
        let mut left = MAX_TEXT;
        let mut listed = Vec::with_capacity(lines.len());
        for &line in lines {
            let line = dump.at::<PeakValue>(line)?;
            let index = line.text(line.row.index);
            let suffix = if index == "{}" { "" } else { index };
            let name = dump.names.get(line.text(line.row.name));
            let instruction = name.and_then(|name| dump.instruction_text(name));
            let instruction = instruction.unwrap_or_default();
            left = left.checked_sub(instruction.len())?;
            let path = op_name(&InstructionParts::read_up_to(instruction, 0));
            let path = path.unwrap_or_else(|| line.text(line.row.name).to_owned());
            let (last, above) = levels(&path);
            // Older lists leave the index out, and may mean any value of the name.
            let value = name.zip(dump.names.get(index));
            let value = value.and_then(|(name, index)| dump.values_at(name, index).next());
            listed.push(Listed {
                label: format!("{last}{suffix}"),
                above: above.into_iter().rev().map(ToOwned::to_owned).collect(),
                value: value.filter(|&at| dump.values[at as usize].placement.is_some()),
                bytes: line.row.bytes.value,
            });
        }
        Some(Self { dump, listed })
    }

    /// The values that are placed exactly at a node. Equal labels elsewhere in the tree would be
    /// mistaken for it, so the bytes decide: `None` where they do not agree.
    pub(super) fn exactly(&self, node: &At<TreeNode>) -> Option<Vec<u32>> {
        let label = node.text(node.row.label);
        let mut sum = 0_u64;
        let mut values = Vec::new();
        if node.row.current.value > 0 {
            let above = self.above(node);
            let is_here =
                |listed: &&Listed| listed.label == label && above.starts_with(&listed.above);
            for listed in self.listed.iter().filter(is_here) {
                values.push(listed.value?);
                sum = sum.saturating_add(listed.bytes);
            }
        }
        (sum == node.row.current.value).then_some(values)
    }

    /// The labels of the nodes that a node stands below, the nearest first.
    fn above(&self, node: &At<TreeNode>) -> Vec<String> {
        let rows = self.rows_up_to(node);
        let mut depth = node.row.depth;
        let mut labels = Vec::new();
        for &row in rows.iter().rev().take(MAX_NODES) {
            let Some(other) = self.dump.at::<TreeNode>(row) else {
                break;
            };
            if other.row.depth < depth {
                depth = other.row.depth;
                labels.push(other.text(other.row.label).to_owned());
            }
        }
        labels
    }

    /// The rows of the tree up to a node, itself among them.
    fn rows_up_to(&self, node: &At<TreeNode>) -> &'d [Row] {
        let rows = self.dump.tree.as_ref().map_or(&[][..], |(_, _, rows)| rows);
        let place = |at: &At<TreeNode>| (at.file, at.start + at.row.label.start);
        let at = rows.partition_point(|&row| {
            let other = self.dump.at::<TreeNode>(row);
            other.is_some_and(|other| place(&other) <= place(node))
        });
        &rows[..at]
    }

    /// The values at a node and at all nodes below it; `None` where it is not known of all.
    pub(super) fn below(&self, node: &At<TreeNode>) -> Option<Vec<u32>> {
        let (_, _, rows) = self.dump.tree.as_ref()?;
        let at = self.rows_up_to(node).len();
        let mut values = self.exactly(node)?;
        for (count, &row) in rows.get(at..)?.iter().enumerate() {
            let below = self.dump.at::<TreeNode>(row)?;
            if below.row.depth <= node.row.depth {
                break;
            }
            if count == MAX_NODES {
                return None;
            }
            values.extend(self.exactly(&below)?);
        }
        Some(values)
    }
}

/// The label of a path, and those of the nodes above it: an argument whose keys are all texts stands below what
/// they lead through, `p['layers']['w1']` at `w1` below `layers` below `p`.
fn levels(path: &str) -> (&str, Vec<&str>) {
    let keys = || {
        let (argument, keys) = path.split_once("['")?;
        let keys: Vec<&str> = keys.strip_suffix("']")?.split("']['").collect();
        let (last, above) = keys.split_last()?;
        let is_plain = |text: &&str| !text.is_empty() && !text.contains(['[', ']', '/']);
        let above: Vec<&str> = [argument]
            .into_iter()
            .chain(above.iter().copied())
            .collect();
        (above.iter().all(is_plain) && is_plain(last)).then_some((*last, above))
    };
    keys().unwrap_or((path, Vec::new()))
}

/// The node whose label begins at `offset`.
pub(super) fn node_at(dump: &Dump, file: FileId, offset: u32) -> Option<At<'_, TreeNode>> {
    let document = &dump.files.get(file)?.document;
    let (start, block) = document.block(document.block_at(offset)?)?;
    let mut nodes = block.tree_nodes().iter();
    let row = nodes.find(|node| node.label.start == offset - start)?;
    Some(At {
        file,
        start,
        block,
        row,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_stand_below_what_their_keys_lead_through() {
        assert_eq!(levels("p['layers']['w1']"), ("w1", vec!["p", "layers"]));
        assert_eq!(levels("m['emb']"), ("emb", vec!["m"]));
        // Where a key is a number, the whole is one label.
        for whole in [
            "params[0]['w']",
            "m['layers'][0]['w1']",
            "args[0]",
            "jit(f)/add",
            "x",
            "['a']",
        ] {
            assert_eq!(levels(whole), (whole, vec![]));
        }
    }
}
