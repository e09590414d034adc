//! A bar of bytes against what there is.

use maud::{Markup, html};

use crate::model::bytes::{grouped, rounded};
use crate::report::records::{Kinds, Space};

/// What a memory space reserves and occupies by kind, and `others` in its memory reserve, against the bytes that the
/// device has of it, or else what is reserved.
pub fn bar(space: &Space, kinds: Option<&Kinds>, others: u64, capacity: Option<u64>) -> Markup {
    let own = space.reserved_bytes;
    let mut parts: Vec<(&str, u64)> = kinds.map_or_else(Vec::new, |it| it.named().into());
    let occupied = parts
        .iter()
        .fold(0, |sum: u64, part| sum.saturating_add(part.1));
    let name = if kinds.is_some() { "idle" } else { "reserved" };
    parts.push((name, own.saturating_sub(occupied)));
    let taken = own.max(occupied).saturating_add(others);
    let left = capacity.map_or(0, |it| it.saturating_sub(taken));
    parts.extend([("others", others), ("left", left)]);
    parts.retain(|(_, bytes)| *bytes > 0);
    let whole = taken.max(capacity.unwrap_or(0));
    let limit = capacity.filter(|&capacity| capacity < whole);
    html! {
        figure.bar {
            div.track aria-hidden="true" {
                @for &(name, bytes) in &parts {
                    span class=(name) style=(format!("width:{}", share(bytes, whole)))
                        title=(format!("{name}: {} B", grouped(bytes))) {}
                }
                @if let Some(limit) = limit {
                    i style=(format!("left:{}", share(limit, whole)))
                        title=(format!("the device ends here: {} B", grouped(limit))) {}
                }
            }
            ul.legend {
                @for &(name, bytes) in &parts {
                    li { span class=(name) {} (name) " "
                        b title=(format!("{} B", grouped(bytes))) { (rounded(bytes)) } }
                }
            }
        }
    }
}

/// `12.345%`
fn share(part: u64, whole: u64) -> String {
    format!("{:.3}%", part as f64 * 100.0 / whole.max(1) as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::records::Moment;

    fn space(reserved_bytes: u64, occupied_bytes: u64) -> Space {
        Space {
            color: 0,
            name: "<HBM>".into(),
            reserved_bytes,
            thread_local_bytes: 0,
            padding_bytes: None,
            peak: Some(Moment {
                step: 2,
                instruction: None,
                occupied_bytes,
            }),
        }
    }

    const KINDS: Kinds = Kinds {
        parameter: 10,
        output: 0,
        constant: 0,
        temp: 30,
    };

    #[test]
    fn a_bar_is_as_long_as_the_device_or_the_program() {
        let text = bar(&space(50, 40), Some(&KINDS), 0, Some(100)).into_string();
        for part in [
            r#"class="temp" style="width:30.000%""#,
            r#"class="parameter" style="width:10.000%""#,
            r#"class="idle" style="width:10.000%""#,
            r#"class="left" style="width:50.000%""#,
        ] {
            assert!(text.contains(part), "{part}\n{text}");
        }
        let text = bar(&space(50, 40), Some(&KINDS), 0, Some(25)).into_string();
        assert!(text.contains(r#"<i style="left:50.000%""#), "{text}");
        assert!(
            text.contains(r#"class="temp" style="width:60.000%""#),
            "{text}"
        );
        let text = bar(&space(50, 40), Some(&KINDS), 30, Some(100)).into_string();
        for part in [
            r#"class="others" style="width:30.000%""#,
            r#"class="left" style="width:20.000%""#,
        ] {
            assert!(text.contains(part), "{part}\n{text}");
        }
        let text = bar(&space(50, 40), None, 0, None).into_string();
        assert!(
            text.contains(r#"class="reserved" style="width:100.000%""#),
            "{text}"
        );
        assert!(
            !bar(&space(0, 0), None, 0, None)
                .into_string()
                .contains("NaN")
        );
    }
}
