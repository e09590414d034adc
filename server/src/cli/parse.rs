//! `buflens parse`: the syntax tree of a file.

use std::io::{self, BufWriter, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use buflens_syntax::{Document, Encoding, LineColumn, SyntaxNode};
use clap::Args;
use rowan::{NodeOrToken, WalkEvent};

use super::output::WhileRead;
use super::{FINDINGS, UNREADABLE, complain};
use crate::report::{path_on_a_line, printable};
use crate::workspace;

/// Print the syntax tree of a file, to see how it is read.
#[derive(Debug, Args)]
pub struct Parse {
    /// The file; its siblings are not read.
    file: PathBuf,
    /// Print the syntax errors instead of the tree; exit with 1 if there are any.
    #[arg(long)]
    errors: bool,
}

impl Parse {
    pub fn run(&self) -> io::Result<ExitCode> {
        match workspace::read(&self.file).map(|file| file.document) {
            Err(problem) => {
                complain(format_args!("{}: {problem}", self.file.display()));
                Ok(ExitCode::from(UNREADABLE))
            }
            Ok(document) if self.errors => self.print_errors(&document),
            Ok(document) => {
                let mut out = BufWriter::new(io::stdout().lock());
                print_tree(&mut out, &document)?;
                out.flush()?;
                Ok(ExitCode::SUCCESS)
            }
        }
    }

    fn print_errors(&self, document: &Document) -> io::Result<ExitCode> {
        let mut out = BufWriter::new(WhileRead(io::stdout().lock()));
        let path = path_on_a_line(&self.file);
        let mut code = ExitCode::SUCCESS;
        // Block by block: a text that is no dump can have an error on every line.
        for (start, block) in document.blocks() {
            for error in block.errors() {
                let LineColumn { line, column } =
                    document.line_column(start + error.start, Encoding::Utf32);
                writeln!(
                    out,
                    "{path}:{}:{}: {}",
                    line + 1,
                    column + 1,
                    printable(&error.message)
                )?;
                code = ExitCode::from(FINDINGS);
            }
        }
        out.flush()?;
        Ok(code)
    }
}

/// Writes each block's tree and forgets it, as the trees of a large document do not fit into
/// memory. Offsets are those in the document.
fn print_tree(out: &mut impl Write, document: &Document) -> io::Result<()> {
    writeln!(out, "Root@0..{} {:?}", document.len(), document.kind())?;
    for (start, block) in document.blocks() {
        let mut depth = 1;
        for event in SyntaxNode::new_root(block.tree()).preorder_with_tokens() {
            let element = match event {
                WalkEvent::Enter(element) => element,
                WalkEvent::Leave(NodeOrToken::Node(_)) => {
                    depth -= 1;
                    continue;
                }
                WalkEvent::Leave(NodeOrToken::Token(_)) => continue,
            };
            let range = element.text_range();
            let (from, to) = (
                start + u32::from(range.start()),
                start + u32::from(range.end()),
            );
            write!(
                out,
                "{:indent$}{:?}@{from}..{to}",
                "",
                element.kind(),
                indent = 2 * depth
            )?;
            match element {
                NodeOrToken::Token(token) => writeln!(out, " {:?}", token.text())?,
                NodeOrToken::Node(_) => {
                    writeln!(out)?;
                    depth += 1;
                }
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;

    #[test]
    fn a_tree_is_printed_with_the_offsets_of_the_document() {
        let document = Document::new("BufferAssignment:\n\nUsed values:\n<3 a>\n").unwrap();
        let mut out = Vec::new();
        print_tree(&mut out, &document).unwrap();
        expect![[r#"
            Root@0..38 Assignment
              Block@0..19
                Heading@0..18
                  Keyword@0..17 "BufferAssignment:"
                  Newline@17..18 "\n"
                BlankLine@18..19
                  Newline@18..19 "\n"
              Block@19..38
                Heading@19..32
                  Keyword@19..31 "Used values:"
                  Newline@31..32 "\n"
                ValueHeader@32..38
                  ValueReference@32..37
                    Punctuation@32..33 "<"
                    ValueId@33..34 "3"
                    Whitespace@34..35 " "
                    Name@35..36 "a"
                    Punctuation@36..37 ">"
                  Newline@37..38 "\n"
        "#]]
        .assert_eq(&String::from_utf8(out).unwrap());
    }
}
