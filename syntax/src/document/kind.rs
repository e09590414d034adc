//! What a document is.

use std::sync::Arc;

use super::Block;
use crate::grammar;
use crate::line::{Mode, classify, is_comment, is_heading, mode_after};
use crate::scan::without_line_end;

/// What a document is, judged by its section headings and never by its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum DocumentKind {
    /// Allocations; before jaxlib 0.10.0 the values and live ranges as well.
    Assignment,
    /// The total and the used values.
    Values,
    /// The schedule, live ranges and the peak.
    LiveRange,
    /// The memory-usage report.
    Report,
    /// The text of an HLO module.
    Module,
    /// What a compiler or a runtime printed when memory ran out, with whatever a log has around it.
    OutOfMemory,
    /// A related text that is recognised, but not read.
    Foreign,
    /// No dump.
    Unknown,
}

/// Sections always begin a block, so the first lines of the blocks tell.
pub(super) fn kind_of(blocks: &[Arc<Block>]) -> DocumentKind {
    let first_line = blocks
        .iter()
        .flat_map(|block| block.text.lines())
        .find(|line| !line.trim().is_empty() && !is_comment(line));
    let starts_with = |heading: &str| blocks.iter().any(|block| block.text.starts_with(heading));
    let kind = first_line.map_or(DocumentKind::Unknown, |line| {
        if line.starts_with("Total bytes used: ") {
            // The older report's next heading; the values file's is `Used values:`.
            let is_report = blocks
                .iter()
                .flat_map(|block| block.text.lines())
                .take(8)
                .any(|line| line.starts_with("Allocations sorted by size"));
            if is_report {
                DocumentKind::Report
            } else {
                DocumentKind::Values
            }
        } else {
            kind_of_heading(line)
        }
    });
    if kind != DocumentKind::Unknown {
        return kind;
    }
    // A dump with other text before it, or a log.
    if blocks.iter().any(|block| opens_out_of_memory(block)) {
        DocumentKind::OutOfMemory
    } else if starts_with("BufferAssignment:") {
        DocumentKind::Assignment
    } else if starts_with("Used values:") {
        DocumentKind::Values
    } else if starts_with("HloLiveRange ") {
        DocumentKind::LiveRange
    } else if blocks.iter().any(|block| is_module_line(&block.text)) {
        DocumentKind::Module
    } else {
        DocumentKind::Unknown
    }
}

/// `HloModule jit_f`, by people with any indentation.
fn is_module_line(text: &str) -> bool {
    text.trim_start_matches([' ', '\t'])
        .starts_with("HloModule ")
}

/// Whether `block` is of the text of a failure.
fn opens_out_of_memory(block: &Block) -> bool {
    let mode = || {
        let line = without_line_end(grammar::line_at(&block.text, 0));
        mode_after(block.mode, classify(block.mode, line), line)
    };
    block.mode == Mode::OutOfMemory || mode() == Mode::OutOfMemory
}

fn kind_of_heading(line: &str) -> DocumentKind {
    if is_heading(line, "BufferAssignment:") {
        DocumentKind::Assignment
    } else if line.starts_with("Used values:") {
        DocumentKind::Values
    } else if line.starts_with("HloLiveRange ") {
        DocumentKind::LiveRange
    } else if line.starts_with("Memory Space: ") || line.starts_with("Allocations sorted by size") {
        DocumentKind::Report
    } else if is_module_line(line) {
        DocumentKind::Module
    } else if line.starts_with("memory_space_allocation_entries {")
        || line.starts_with("goo.gle/debug")
    {
        DocumentKind::Foreign
    } else {
        DocumentKind::Unknown
    }
}
