//! The text of a failure: its sizes, its words, and the values that an entry of its list means.

use std::fmt::Write as _;
use std::ops::RangeInclusive;

use buflens_syntax::{Document, SyntaxKind};

use super::{Context, Cursor, space, value};
use crate::audit::out_of_memory::{color_of_failure, values_of};
use crate::ide::markdown::{code, cut};
use crate::model::bytes::{grouped, rounded};
use crate::model::failure::{
    Entry, Failure, Form, Printed, failure_at, holds_values, is_semaphores,
};

impl Cursor<'_, '_> {
    /// What the text of a failure says here.
    pub(super) fn out_of_memory(&self) -> Option<String> {
        let token = (self.token.kind(), self.token.text());
        hover(self.context, self.document, token, self.offset)
    }
}

/// The hover on a token of `kind` at `offset`, in bytes from the start of the document.
fn hover(
    context: &Context,
    document: &Document,
    (kind, text): (SyntaxKind, &str),
    offset: u32,
) -> Option<String> {
    let failure = &failure_at(document, offset)?;
    if kind == SyntaxKind::Label {
        return Some(space::hover(context, color_of_failure(failure), false));
    }
    let entry = failure.entry_at(offset);
    let own = match kind {
        SyntaxKind::HumanBytes => Some(size(text)?),
        SyntaxKind::Literal => allocation_type(text).map(str::to_owned),
        SyntaxKind::Keyword => word(text).map(|words| format!("**{}**: {words}", code(text))),
        _ => None,
    };
    let about = match entry {
        Some(entry) => Some(of_entry(context, failure, entry)),
        None if failure.line.contains(&offset) => of_message(failure),
        None => None,
    };
    let parts: Vec<String> = own.into_iter().chain(about).collect();
    (!parts.is_empty()).then(|| parts.join("\n\n---\n\n"))
}

/// `16.0K` in bytes.
fn size(text: &str) -> Option<String> {
    let (size, text) = (Printed(text), code(text));
    Some(match size.range().map(RangeInclusive::into_inner) {
        Some((least, most)) if least == most => format!("**{text}**: {} bytes", grouped(least)),
        Some((least, most)) => format!(
            "**{text}**: {} to {} bytes, in units of 1,024",
            grouped(least),
            grouped(most)
        ),
        None => format!("**{text}**: about {} bytes", grouped(size.bytes()?)),
    })
}

fn of_message(failure: &Failure) -> Option<String> {
    let message = failure.message?;
    let words = match message.form {
        Form::Used => {
            "what the compiler counted is more than the memory space has. Where `arguments` is 0B \
             below, arguments and results were not counted: the program needs more"
        }
        Form::Total => {
            "all allocations of the memory space together are more than it has. That is not \
                        the temporaries alone, whatever the sentence says: arguments and results are in it"
        }
        Form::Scoped => {
            "one instruction takes more scratch while it runs than the compiler was told to allow \
             (`xla_tpu_scoped_vmem_limit_kib`); no buffer assignment shows it"
        }
        Form::Allocation => match message.space {
            Some(space) if holds_values(space) => {
                "one value alone is more than the whole memory has; the message's tag says which"
            }
            Some(space) if is_semaphores(space) => {
                "a Pallas kernel asks for more semaphores than there are; no buffer assignment shows them"
            }
            Some(_) => {
                "one allocation of a kernel is more than its memory has: a block or scratch \
                 of a Pallas kernel, which no buffer assignment shows"
            }
            None => "one allocation alone is more than its memory has",
        },
        Form::Request => {
            "the device had no such run of free bytes when the program ran; what other \
                          programs and arrays held then is not in the text"
        }
        Form::Rematerialization => {
            return Some(
                "**a warning**: after the compiler has chosen what to compute again, more is alive at once than it \
                 allows. It goes on; the limit is a part of the device's memory, less arguments and results"
                    .to_owned(),
            );
        }
    };
    Some(format!("**out of memory**: {words}"))
}

fn of_entry(context: &Context, failure: &Failure, entry: &Entry) -> String {
    let name = entry
        .name
        .or(entry.label)
        .or(entry.shape)
        .unwrap_or("an allocation");
    let mut text = format!("**{}**", code(&cut(name, 100)));
    if let Some(bytes) = entry.size.and_then(Printed::bytes) {
        let _ = write!(text, ": about {}", rounded(bytes));
    }
    if let Some((padded, bare)) = entry
        .size
        .zip(entry.unpadded)
        .and_then(|(size, unpadded)| Some((size.bytes()?, unpadded.bytes()?)))
        .filter(|(padded, bare)| padded > bare && *bare > 0)
    {
        let printed = entry.padding.and_then(Printed::bytes);
        let _ = write!(
            text,
            ", {} of it padding: {:.1} times its data",
            rounded(printed.unwrap_or(padded - bare)),
            padded as f64 / bare as f64
        );
    }
    let found = values_of(context.dump, color_of_failure(failure), entry);
    match &found.values[..] {
        [] => text,
        &[at] if found.is_exact => format!("{text}\n\n{}", value::hover(context, at)),
        values => {
            let heading =
                "in the dump, of the same name or shape; which of them is meant is not certain";
            format!("{text}\n\n{}", value::list(context, heading, values))
        }
    }
}

/// An `Allocation type` in plain words.
fn allocation_type(text: &str) -> Option<&'static str> {
    Some(match text.trim() {
        "HLO temp" => "**HLO temp**: a temporary value of the program, or a part of its result",
        "global" => {
            "**global**: a constant or a table that stays for as long as the program is loaded"
        }
        "scoped" => "**scoped**: scratch of one instruction, free again when it is done",
        "arguments" | "argument" => "**arguments**: what the caller passes in",
        "output" => "**output**: a part of the result",
        _ => return None,
    })
}

/// The words of sums and entries.
fn word(text: &str) -> Option<&'static str> {
    Some(match text {
        "reserved" => "bytes that the runtime keeps for itself",
        "program" => {
            "all that the program needs besides its arguments: temporaries, constants, scratch"
        }
        "arguments" => {
            "what the caller passes in; 0 B where the rest did not fit already and they were not counted"
        }
        "global" => "constants and tables that stay for as long as the program is loaded",
        "scoped" => "scratch of single instructions",
        "HLO temp" => {
            "temporary values. *Utilization* is the share of the bytes that hold data at the fullest moment, *fragmentation* what lies idle between values"
        }
        "Output size" => "the result; what it shares with arguments is donated",
        "Unpadded size" => "the bytes of the elements alone",
        "Extra memory due to padding" => {
            "bytes that the tiles of the layout round up to; the expansion is the whole size over the unpadded one"
        }
        "XLA label" => "the instruction, shortened",
        "XLA Label" => "the opcode of the instruction",
        "Allocation type" => "what the bytes are for",
        "Tag" => "what a kernel has them for",
        "Operator" => "where in the traced program the instruction comes from",
        "Size" => "bytes that it takes, padding included",
        "Shape" | "Entry Parameter Subshape" => "the shape of what lies there",
        "parameter allocation:" => "what the caller passes in",
        "constant allocation:" => "literals of the program",
        "maybe_live_out allocation:" => "buffers that may hold parts of the result",
        "preallocated temp allocation:" => "the arena of all temporary values",
        "preallocated temp fragmentation:" => {
            "bytes of the arena that nothing holds at its fullest moment"
        }
        "total allocation:" => "all of these together",
        "total fragmentation:" => "bytes that are allocated and never held at the same time",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use crate::ide::fixture::Fixture;
    use crate::model::source::Libraries;

    const TEXT: &str = "\
Ran out of memory in memory space hbm. Used 2.0K of 1.0K hbm.
  Largest program allocations in hbm:
  1. Size: 512B
     Shape: f32[16]{0:T(128)}
     Unpadded size: 64B
     XLA label: x.1 = copy(y)
     Allocation type: HLO temp
";

    #[track_caller]
    fn check(at: &str, expected: &str) {
        let fixture = Fixture::new(&format!(
            "{}\n//- oom.txt\n{TEXT}",
            crate::ide::fixture::COMBINED
        ));
        let file = fixture.dump.files.len() - 1;
        let text = fixture.dump.files[file].document.text();
        let offset = text.find(at).expect("the text") as u32;
        let hover =
            super::super::hover(&fixture.dump, file, offset, &(&Libraries::default()).into());
        let markdown = hover.expect("a hover").markdown;
        assert!(markdown.contains(expected), "{markdown}");
    }

    #[test]
    fn words_sizes_and_entries_are_explained() {
        check("Ran out", "is more than the memory space has");
        check("hbm. Used", "HBM");
        check("2.0K", "1,997 to 2,099 bytes");
        check("Unpadded size", "the elements alone");
        check("64B", "448 B of it padding: 8.0 times its data");
        check("HLO temp", "a temporary value");
        check("f32[16]", "512");
        check("x.1 = copy", "allocation 0");
    }
}
