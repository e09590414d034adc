//! The stack trace breakdown: the values that its nodes stand for.

use buflens_syntax::InstructionParts;
use buflens_syntax::facts::{PeakValue, TreeNode};

use crate::model::origin::op_name;
use crate::model::{At, Dump, FileId};

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
    /// The trace path of the instruction, or else its name, and the index.
    label: String,
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
            let name = dump.names.get(line.text(line.row.name))?;
            let instruction = dump.instruction_text(name).unwrap_or_default();
            left = left.checked_sub(instruction.len())?;
            let path = op_name(&InstructionParts::read_up_to(instruction, 0));
            let path = path.unwrap_or_else(|| dump.names[name].to_owned());
            // Older lists leave the index out, and may mean any value of the name.
            let value = dump
                .names
                .get(index)
                .and_then(|index| dump.values_at(name, index).next());
            listed.push(Listed {
                label: path + suffix,
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
            for listed in self.listed.iter().filter(|listed| listed.label == label) {
                values.push(listed.value?);
                sum = sum.saturating_add(listed.bytes);
            }
        }
        (sum == node.row.current.value).then_some(values)
    }

    /// The values at a node and at all nodes below it; `None` where it is not known of all.
    pub(super) fn below(&self, node: &At<TreeNode>) -> Option<Vec<u32>> {
        let (_, _, rows) = self.dump.tree.as_ref()?;
        let place = |at: &At<TreeNode>| (at.file, at.start + at.row.label.start);
        let at = rows.partition_point(|&row| {
            let other = self.dump.at::<TreeNode>(row);
            other.is_some_and(|other| place(&other) <= place(node))
        });
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

/// The node whose label begins at `offset`.
pub(super) fn node_at(dump: &Dump, file: FileId, offset: u32) -> Option<At<'_, TreeNode>> {
    let document = &dump.files.get(file)?.document;
    let (start, block) = document.block(document.block_at(offset)?)?;
    let nodes = &block.facts().tree;
    let at = nodes.binary_search_by_key(&(offset - start), |node| node.label.start);
    Some(At {
        file,
        start,
        block,
        row: &nodes[at.ok()?],
    })
}
