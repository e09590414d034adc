//! Memory spaces: what a color means on a platform.

use super::{Context, peak};
use crate::ide::markdown::Text;
use crate::model::occupancy::Space;
use crate::model::space::{meaning as meaning_of, name, named};
use crate::model::{Platform, Platforms};

/// So many memory spaces are told of.
const MAX_SPACES: usize = 6;

/// The hover on a color, maybe where a report prints a label beside it.
pub(super) fn hover(context: &Context, color: u64, in_report: bool) -> String {
    let mut text = meaning(color, in_report, context.platforms);
    if let Some(summary) = peak::summary(context.dump, color) {
        text.paragraph(&format!("In this dump: {summary} ({}).", peak::STATIC));
        if let Some(reason) = peak::reason(context.dump) {
            text.paragraph(&reason);
        }
    }
    text.finish()
}

/// Adds what is reserved of each memory space, against what is ever occupied.
pub(super) fn totals(context: &Context, text: &mut Text) {
    let dump = context.dump;
    let mut spaces: Vec<&Space> = dump.occupancy().spaces.iter().collect();
    spaces.sort_by_key(|space| (std::cmp::Reverse(space.reserved), space.color));
    if spaces.is_empty() {
        return;
    }
    for space in spaces.iter().take(MAX_SPACES) {
        if let Some(summary) = peak::summary(dump, space.color) {
            text.item(&format!(
                "{}: {summary}",
                named(space.color, context.platforms)
            ));
        }
    }
    text.paragraph(&format!("All of it {}.", peak::STATIC));
    if let Some(reason) = peak::reason(dump) {
        text.paragraph(&reason);
    }
}

/// What a color stands for.
pub(super) fn meaning(color: u64, in_report: bool, platforms: Platforms) -> Text {
    let platform = platforms.only().map_or("", Platform::name);
    let platform = platform.to_ascii_uppercase();
    let mut text = Text::default();
    match name(color, platforms) {
        Some(name) => text.paragraph(&format!("**memory space {color}**: {name} ({platform})")),
        None if platform.is_empty() => {
            let what = if color == 0 {
                "the default memory of the device"
            } else {
                "a memory of the backend's own"
            };
            text.paragraph(&format!("**memory space {color}**: {what}"));
            text.paragraph(
                "Neither the file's name nor its layouts tell which platform it was compiled for.",
            );
        }
        None => text.paragraph(&format!(
            "**memory space {color}**: no known meaning on {platform}"
        )),
    }
    text.paragraph(meaning_of(color, platforms).unwrap_or_default());
    if platform == "TPU" && (2..=5).contains(&color) {
        let printed = ["smem", "hbm", "host", "cmem"][(color - 2) as usize];
        let whose = if in_report {
            "this report"
        } else {
            "libtpu's memory-usage report"
        };
        text.paragraph(&format!(
            "Careful: {whose} labels color {color} `{printed}`, which is wrong. Trust the number."
        ));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    const TPU: Platforms = Platforms {
        cpu: false,
        gpu: false,
        tpu: true,
    };
    const ANY: Platforms = Platforms {
        cpu: true,
        gpu: true,
        tpu: true,
    };

    fn hover(color: u64, in_report: bool, platforms: Platforms) -> String {
        meaning(color, in_report, platforms).finish()
    }

    #[test]
    fn wrong_labels_are_named() {
        assert!(hover(3, false, TPU).contains("labels color 3 `hbm`, which is wrong"));
        assert!(hover(5, true, TPU).contains("this report labels color 5 `cmem`"));
        assert!(!hover(1, false, TPU).contains("Careful"));
        assert!(!hover(3, false, ANY).contains("Careful"));
    }
}
