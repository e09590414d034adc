//! The words of a report, each with a sentence.

use buflens_syntax::SyntaxKind;
use maud::{Markup, html};

use crate::model::{Platforms, glossary, space};

/// The words of the format that a report is full of.
const WORDS: [&str; 8] = [
    "allocation",
    "value",
    "parameter",
    "preallocated-temp",
    "maybe-live-out",
    "constant",
    "thread-local",
    "phi",
];

/// The words, with the memory spaces `colors`.
pub fn glossary(colors: &[u64], platforms: Platforms) -> Markup {
    let word = |word| glossary::sentence(SyntaxKind::AllocationHeader, word);
    html! {
        dl {
            @for (word, sentence) in glossary::NUMBERS {
                dt { (word) } dd { (marked(sentence)) }
            }
            @for &color in colors {
                @if let Some(sentence) = space::meaning(color, platforms) {
                    dt { (space::short(color, platforms)) } dd { (marked(sentence)) }
                }
            }
            @for (name, sentence) in WORDS.iter().filter_map(|name| Some((name, word(name)?))) {
                dt { code { (name) } } dd { (marked(sentence)) }
            }
        }
    }
}

/// A sentence with its words of the format, between backquotes, as code.
fn marked(sentence: &str) -> Markup {
    html! {
        @for (number, part) in sentence.split('`').enumerate() {
            @if number % 2 == 0 { (part) } @else { code { (part) } }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_has_its_sentence() {
        let tpu = Platforms {
            tpu: true,
            ..Platforms::default()
        };
        let text = glossary(&[0, 1, 99], tpu).into_string();
        let words = WORDS.len() + glossary::NUMBERS.len() + 2;
        assert_eq!(text.matches("<dt>").count(), words, "{text}");
        assert!(text.contains("<dt>VMEM (@1)</dt>"), "{text}");
        assert_eq!(marked("a `b` c").into_string(), "a <code>b</code> c");
    }
}
