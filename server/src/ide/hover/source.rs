//! Metadata: where in the user's program an instruction comes from.

use std::fmt::Write as _;

use crate::ide::markdown::{Text, code, link, shorten};
use crate::model::Dump;
use crate::model::bytes::counted;
use crate::model::origin::Origin;
use crate::model::source::{Frame, Libraries, file_name, frames};

/// More frames than this are not shown in a list.
const MAX_FRAMES: usize = 6;
/// So many of the user's own frames are shown in a sentence.
const MAX_OWN: usize = 4;
/// A trace path is shown with so many characters.
const PATH_LIMIT: usize = 150;

/// What is known of lines of source outside of the dump.
pub struct Sources<'s> {
    /// Whose lines are not the user's own.
    pub libraries: &'s Libraries,
    /// The URI of a line whose file is on this machine.
    pub address: &'s dyn Fn(&Frame) -> Option<String>,
}

impl<'s> From<&'s Libraries> for Sources<'s> {
    /// Without any file.
    fn from(libraries: &'s Libraries) -> Self {
        let address = &|_: &Frame| None;
        Self { libraries, address }
    }
}

/// One line for the end of a hover: the `op_name`, and the lines of source, the innermost of the
/// user's own first.
pub(super) fn summary(origin: &Origin, sources: &Sources) -> Option<String> {
    let op_name = origin.op_name.as_deref().map(|name| {
        // Old traces append the operation's parameters in brackets.
        let path = if name.len() > PATH_LIMIT {
            name.split('[').next().unwrap_or(name)
        } else {
            name
        };
        code(&shorten(
            if path.is_empty() { name } else { path },
            PATH_LIMIT,
        ))
    });
    let parts: Vec<String> = [op_name, chain(&origin.frames, sources)]
        .into_iter()
        .flatten()
        .collect();
    (!parts.is_empty()).then(|| parts.join(", "))
}

/// `train.py:12` in `step`, called from `main.py:3`, + 2 library frames
fn chain(frames: &[Frame], sources: &Sources) -> Option<String> {
    let frames = distinct(frames);
    let is_library = |frame: &&&Frame| sources.libraries.hold(&frame.file);
    let (libraries, own): (Vec<&Frame>, Vec<&Frame>) = frames.iter().partition(is_library);
    let (innermost, callers) = match own.split_first() {
        Some((innermost, callers)) => (*innermost, callers),
        None => (*libraries.first()?, &[][..]),
    };
    let mut chain = shown(innermost, sources);
    for (number, caller) in callers.iter().take(MAX_OWN - 1).enumerate() {
        chain.push_str(if number == 0 { ", called from " } else { ", " });
        chain.push_str(&shown(caller, sources));
    }
    let more = callers.len().saturating_sub(MAX_OWN - 1);
    let folded = libraries.len() - usize::from(own.is_empty());
    for (count, what) in [(more, "caller"), (folded, "library frame")] {
        if count > 0 {
            let _ = write!(chain, ", + {}", counted(count, what));
        }
    }
    Some(chain)
}

/// The frames, a line that is on the stack several times in a row once: a scanned or mapped
/// function is.
fn distinct(frames: &[Frame]) -> Vec<&Frame> {
    let mut frames: Vec<&Frame> = frames.iter().collect();
    frames.dedup();
    frames
}

/// The hover on metadata: the whole stack.
pub(super) fn hover(origin: &Origin, sources: &Sources) -> Option<String> {
    let mut text = Text::default();
    if let Some(op_name) = &origin.op_name {
        text.paragraph(&format!("**op_name**: {}", code(&shorten(op_name, 600))));
    }
    stack(&mut text, &origin.frames, sources);
    Some(text.finish()).filter(|text| !text.is_empty())
}

fn stack(text: &mut Text, frames: &[Frame], sources: &Sources) {
    let frames = distinct(frames);
    let Some((innermost, callers)) = frames.split_first() else {
        return;
    };
    let called = if callers.is_empty() {
        ""
    } else {
        ", called from, innermost first:"
    };
    text.paragraph(&format!("{}{called}", shown(innermost, sources)));
    for frame in callers.iter().take(MAX_FRAMES) {
        text.item(&shown(frame, sources));
    }
    let more = callers.len().saturating_sub(MAX_FRAMES);
    if more > 0 {
        text.item(&format!("and {more} more"));
    }
}

/// The file, the line and the function of a frame.
fn shown(frame: &Frame, sources: &Sources) -> String {
    let place = code(&shorten(file_name(&frame.to_string()), 120));
    let place = match (sources.address)(frame) {
        Some(address) => link(&place, &address),
        None => place,
    };
    let function = match frame.function.as_deref() {
        None | Some("") => String::new(),
        Some(function) => format!(" in {}", code(&shorten(function, 80))),
    };
    let library = if sources.libraries.hold(&frame.file) {
        " (library frame)"
    } else {
        ""
    };
    format!("{place}{function}{library}")
}

/// The hover on row `id` of the table of frames.
pub(super) fn frame(dump: &Dump, id: u64, sources: &Sources) -> Option<String> {
    let mut text = Text::default();
    stack(&mut text, &frames(dump, id).collect::<Vec<_>>(), sources);
    Some(text.finish()).filter(|text| !text.is_empty())
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;

    fn frame(file: &str, line: u32) -> Frame {
        Frame {
            file: file.to_owned(),
            line: Some(line),
            function: None,
        }
    }

    #[test]
    fn the_users_own_frames_go_first_and_libraries_are_folded() {
        let libraries = Libraries::default();
        let sources = Sources {
            libraries: &libraries,
            address: &|frame| {
                let is_here = frame.file == "/home/me/(a).py";
                is_here.then(|| "file:///home/me/(a).py#L3".to_owned())
            },
        };
        let library = frame("/x/site-packages/jax/numpy.py", 9);
        let (a, b) = (frame("/home/me/(a).py", 3), frame("/home/me/b.py", 4));
        let of = |frames: &[&Frame]| {
            let frames: Vec<Frame> = frames.iter().map(|&frame| frame.clone()).collect();
            chain(&frames, &sources).unwrap_or_default()
        };
        expect![
            "[`(a).py:3`](file:///home/me/%28a%29.py#L3), called from `b.py:4`, + 2 library frames"
        ]
        .assert_eq(&of(&[&library, &a, &a, &library, &b]));
        expect!["`numpy.py:9` (library frame)"].assert_eq(&of(&[&library, &library]));
        expect!["`b.py:4`, called from [`(a).py:3`](file:///home/me/%28a%29.py#L3), `b.py:4`, [`(a).py:3`](file:///home/me/%28a%29.py#L3), + 2 callers"]
            .assert_eq(&of(&[&b, &a, &b, &a, &b, &a]));
        expect![""].assert_eq(&of(&[]));
    }
}
