//! Documents for a browser: one file, which loads nothing and sends nothing.

use maud::{DOCTYPE, Markup, PreEscaped, html};

use super::page::Page;
use super::printable;

/// How it looks; also used by the memory map in an editor.
const STYLE: &str = include_str!("html/style.css");

/// What a browser may do with the document: nothing but draw it.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'";

/// A page as a document.
pub fn document(page: &Page) -> String {
    let title = page.title().unwrap_or("Buflens");
    frame(title, POLICY, &page.html()).into_string()
}

/// The document around `body`.
fn frame(title: &str, policy: &str, body: &Markup) -> Markup {
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta http-equiv="Content-Security-Policy" content=(policy);
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="generator" content=(concat!("buflens ", env!("CARGO_PKG_VERSION")));
                title { (printable(title)) }
                style { (PreEscaped(STYLE)) }
            }
            body { main { (body) } }
        }
    }
}
