//! One dump of a document that may hold several.

use std::mem::{Discriminant, discriminant};

use buflens_syntax::Block;
use buflens_syntax::facts::{Heading, Span};

/// Tells where another dump begins in a document: a log can hold several, and the values of one are not those of
/// another.
#[derive(Debug, Default)]
pub(super) struct OneDump {
    /// The headings so far.
    seen: Vec<Discriminant<Heading>>,
    /// Those of the block before, if that is a single line.
    before: Vec<Discriminant<Heading>>,
}

impl OneDump {
    /// The heading with which another dump begins in `block`, the next one. A section always begins a block.
    pub(super) fn begins_another(&mut self, block: &Block) -> Option<Span> {
        let begins_another = block.headings().iter().find(|(heading, _)| {
            let opens_dump = matches!(
                heading,
                Heading::Assignment | Heading::Values | Heading::LiveRange(_) | Heading::Module(_)
            );
            let kind = discriminant(heading);
            // A heading that stands twice, with nothing between, opens no other dump.
            let repeats = opens_dump && self.seen.contains(&kind) && !self.before.contains(&kind);
            // There are a dozen kinds.
            if !self.seen.contains(&kind) {
                self.seen.push(kind);
            }
            repeats
        });
        let another = begins_another.map(|(_, line)| *line);
        self.before.clear();
        if !block.headings().is_empty() && block.text().trim_end().lines().count() == 1 {
            let kinds = block
                .headings()
                .iter()
                .map(|(heading, _)| discriminant(heading));
            self.before.extend(kinds);
        }
        another
    }
}
