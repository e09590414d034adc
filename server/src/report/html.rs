//! Documents for a browser: one file, which loads nothing and sends nothing.

mod bar;
pub mod dump;
mod glossary;

use std::io;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use maud::{DOCTYPE, Markup, PreEscaped, html};
use serde::Serialize;
use serde_json::Serializer;
use serde_json::ser::Formatter;
use sha2::{Digest, Sha256};

use super::page::Page;
use super::printable;

/// How it looks; also used by the memory map in an editor.
const STYLE: &str = include_str!("html/style.css");

/// What a browser may do with a document: nothing but draw it.
const POLICY: &str =
    "default-src 'none'; base-uri 'none'; form-action 'none'; style-src 'unsafe-inline'";

/// A page as a document.
pub fn document(page: &Page) -> String {
    let title = page.title().unwrap_or("Buflens");
    frame(title, &[STYLE], &[], &page.html()).into_string()
}

/// The document around `body`, with the scripts that run behind it and no others.
fn frame(title: &str, styles: &[&str], scripts: &[&str], body: &Markup) -> Markup {
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta http-equiv="Content-Security-Policy" content=(policy(scripts));
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="generator" content=(concat!("buflens ", env!("CARGO_PKG_VERSION")));
                title { (printable(title)) }
                @for style in styles { style { (PreEscaped(style)) } }
            }
            body {
                main { (body) }
                @for script in scripts { script { (PreEscaped(script)) } }
            }
        }
    }
}

/// What a browser may do: draw, and run `scripts`, whatever else gets into the document.
fn policy(scripts: &[&str]) -> String {
    let mut policy = POLICY.to_owned();
    for (number, script) in scripts.iter().enumerate() {
        let hash = BASE64_STANDARD.encode(Sha256::digest(script));
        let directive = if number == 0 { "; script-src" } else { "" };
        policy = format!("{policy}{directive} 'sha256-{hash}'");
    }
    policy
}

/// JSON that can stand in a script element: nothing in it ends the element or opens another.
fn write_json(out: impl io::Write, value: &impl Serialize) -> serde_json::Result<()> {
    value.serialize(&mut Serializer::with_formatter(out, InScript))
}

/// How [`write_json`] writes.
struct InScript;

impl Formatter for InScript {
    fn write_string_fragment<W: io::Write + ?Sized>(
        &mut self,
        out: &mut W,
        fragment: &str,
    ) -> io::Result<()> {
        let mut rest = fragment;
        // These stand in texts only, where they may be written by their numbers.
        while let Some(at) = rest.find(['<', '>', '&', '\u{2028}', '\u{2029}']) {
            let (before, behind) = rest.split_at(at);
            let mut behind = behind.chars();
            let number = behind.next().map_or(0, u32::from);
            write!(out, "{before}\\u{number:04x}")?;
            rest = behind.as_str();
        }
        out.write_all(rest.as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scripts_run_by_their_hashes_alone() {
        // The hash of the specification's own example.
        let hash = "'sha256-qznLcsROx4GACP2dm0UCKCzCG+HiZ1guq6ZZDob/Tng='";
        assert_eq!(
            policy(&["alert('Hello, world.');"]),
            format!("{POLICY}; script-src {hash}")
        );
        assert_eq!(policy(&[]), POLICY);
        assert_eq!(policy(&["1", "2"]).matches("script-src").count(), 1);
        assert_eq!(policy(&["1", "2"]).matches("sha256-").count(), 2);
    }

    #[test]
    fn json_cannot_leave_its_element() {
        let hostile = "</script><!-- & \u{2028}\u{2029}\\u003c";
        let mut text = Vec::new();
        write_json(&mut text, &hostile).unwrap();
        let text = String::from_utf8(text).unwrap();
        assert_eq!(
            text,
            r#""\u003c/script\u003e\u003c!-- \u0026 \u2028\u2029\\u003c""#
        );
        let back: String = serde_json::from_str(&text).unwrap();
        assert_eq!(back, hostile);
    }
}
