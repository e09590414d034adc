//! `buflens map`: where every value lies, and when.

use std::io::{self, BufWriter, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, ValueEnum};

use super::one_dump::{Given, Problem, space_named};
use super::output;
use crate::report::chart::Selection;
use crate::report::records::{self, Answer, FileLocation, Source};
use crate::report::{svg, text_map};

/// Draw where every value lies in its allocation and when.
#[derive(Debug, Args)]
pub struct Map {
    #[command(flatten)]
    given: Given,
    /// How the map is drawn.
    #[arg(long, value_enum, default_value = "text")]
    format: Format,
    /// The memory space, by number or name: `1`, `VMEM`, `host`. Without it SVG draws every one
    /// that is worth it, and text the first of these.
    #[arg(long, value_name = "SPACE")]
    space: Option<String>,
    /// The one allocation with this number.
    #[arg(long, value_name = "N")]
    allocation: Option<u64>,
    /// The steps from A to B, both included.
    #[arg(long, value_name = "A..B", value_parser = steps)]
    steps: Option<(u64, u64)>,
    /// How wide: in columns (the terminal's if it is not given, at least 56), of an SVG in pixels (1200).
    #[arg(long, value_name = "N")]
    width: Option<u32>,
    /// How high, if nothing needs more: in lines (40 if it is not given), of an SVG in pixels.
    #[arg(long, value_name = "N")]
    height: Option<u32>,
    /// The file to write, whole or not at all; stdout if it is not given, or `-`.
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// Letters and blocks, for a terminal.
    Text,
    /// A picture, for an issue or a paper.
    Svg,
    /// All that is known, whatever is selected, for programs.
    Json,
}

/// Reads `A..B`.
fn steps(text: &str) -> Result<(u64, u64), String> {
    let ends = text.split_once("..");
    let ends = ends.and_then(|(first, last)| Some((first.parse().ok()?, last.parse().ok()?)));
    ends.ok_or_else(|| "two step numbers are expected, as in `10..20`".to_owned())
}

impl Map {
    pub fn run(&self) -> io::Result<ExitCode> {
        self.given.run(|source| self.answer(source))
    }

    fn answer(&self, source: &Source<'_, '_, FileLocation>) -> Result<io::Result<()>, Problem> {
        let dump = source.audit.dump;
        let space = self.space.as_deref();
        let selection = Selection {
            space: space.map(|name| space_named(dump, name)).transpose()?,
            allocation: self.allocation,
            steps: self.steps,
        };
        let map = Answer::new(dump, records::map(source.audit, usize::MAX));
        if let Some(problem) = selection.problem(&map.content) {
            return Err(problem);
        }
        let Some(path) = output::named(self.output.as_deref()) else {
            // A terminal shows colours, and anything else gets none.
            let mut out = BufWriter::new(anstream::stdout().lock());
            return Ok(self.write(&mut out, &map, selection));
        };
        output::write_about(dump, path, |out| {
            let mut plain = anstream::StripStream::new(Vec::new());
            self.write(&mut plain, &map, selection)?;
            out.write_all(&plain.into_inner())
        })
        .map(Ok)
    }

    fn write(
        &self,
        out: &mut impl Write,
        answer: &Answer<records::Map>,
        selection: Selection,
    ) -> io::Result<()> {
        let (map, title) = (&answer.content, &answer.module);
        match self.format {
            Format::Text => {
                let usual = text_map::Options::default();
                let options = text_map::Options {
                    selection,
                    width: self.width.map_or_else(output::width, |it| it as usize),
                    height: self.height.map_or(usual.height, |it| it as usize),
                };
                text_map::write(out, map, title, &options)?;
            }
            Format::Svg => {
                let usual = svg::Options::default();
                let options = svg::Options {
                    selection,
                    width: self.width.map_or(usual.width, u64::from),
                    height: self.height.map(u64::from),
                };
                writeln!(out, "{}", svg::svg(map, title, &options))?;
            }
            Format::Json => {
                serde_json::to_writer(&mut *out, answer)?;
                writeln!(out)?;
            }
        }
        out.flush()
    }
}
