//! The memory map for terminals and editors without pictures: columns are steps, rows are bytes,
//! letters are values. It reads without colours.

mod letters;
#[cfg(test)]
mod tests;

use std::io::{self, Write};

use rustc_hash::FxHashMap;

use self::letters::Letters;
use super::chart::{self, Chart, Selection};
use super::page::Page;
use super::pages::range;
use super::records::Map;
use super::table::{Cell, Column, Place, Table, cut, length};
use crate::model::bytes::{grouped, rounded};
use crate::model::cancel::checkpoint;

/// Columns of the name of an allocation, and of its size.
const NAME: usize = 13;
const SIZE: usize = 11;
/// Lines of the curve.
const CURVE: u64 = 4;
/// Lines of everything but the rows of allocations and the legend.
const AROUND: usize = 16;
/// At most so many columns for a step.
const MOST_REPEATED: usize = 8;
/// At least so many columns are free between step numbers.
const TICK: u64 = 6;
/// Steps, names and numbers need so many columns.
const LEAST_WIDTH: usize = 56;
/// Nobody sees more columns and lines at once.
const MOST: usize = 500;
/// A name is not cut to less.
const LEAST_NAME: usize = 8;
/// Eighths of a line.
const BLOCKS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
const IDLE: char = '.';
const MANY: char = '#';

/// What is shown, and in how much room.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Options {
    /// The memory space (0 or the fullest if not given), the allocation and the steps.
    pub selection: Selection,
    /// In columns.
    pub width: usize,
    /// About so many lines.
    pub height: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            selection: Selection::default(),
            width: 80,
            height: 40,
        }
    }
}

/// The map without colours.
pub fn text(map: &Map, title: &str, options: &Options) -> String {
    let mut out = anstream::StripStream::new(Vec::new());
    // Nothing goes wrong in memory.
    let _ = write(&mut out, map, title, options);
    String::from_utf8_lossy(&out.into_inner()).into_owned()
}

/// Writes the map with colours.
pub fn write(out: &mut impl Write, map: &Map, title: &str, options: &Options) -> io::Result<()> {
    let (charts, _) = chart::charts(map, &options.selection);
    let Some(chart) = charts.into_iter().next() else {
        let mut page = Page::default();
        let why = chart::nothing(map);
        page.verdict(format!("{title}: there is nothing to draw: {why}"));
        return page.write_text(out, options.width);
    };
    TextMap::new(&chart, options).write(out, title)
}

/// What has most of the bytes of a row at a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Holder {
    Nobody,
    Value(usize),
    /// Some values of allocations that are gathered.
    Many,
}

/// Rows of one allocation, or of several gathered.
struct Rows {
    places: Vec<usize>,
    /// For each row and each column of steps.
    cells: Vec<Vec<Holder>>,
}

struct TextMap<'c> {
    chart: &'c Chart<'c>,
    width: usize,
    /// Steps of a column.
    per_column: u64,
    /// For each column the fullest of its steps, and the bytes occupied then.
    columns: Vec<(u64, u64)>,
    /// How often each column stands there.
    repeated: usize,
    rows: Vec<Rows>,
    /// Gathered allocations that are too small for a row.
    small: Vec<Vec<usize>>,
    letters: Letters,
}

impl<'c> TextMap<'c> {
    fn new(chart: &'c Chart<'c>, options: &Options) -> Self {
        let width = options.width.clamp(LEAST_WIDTH, MOST);
        let cells = width - NAME - SIZE;
        let per_column = chart.steps().div_ceil(cells as u64);
        let count = chart.steps().div_ceil(per_column) as usize;
        let columns = (0..count as u64).map(|column| {
            let first = chart.first + column * per_column;
            chart.fullest(first, (first + (per_column - 1)).min(chart.last))
        });
        let columns: Vec<(u64, u64)> = columns.collect();
        let room = options.height.min(MOST).saturating_sub(AROUND).max(4);
        // Half of the room is for the legend.
        let most_rows = room / 2;
        let share = 2 * most_rows as u64;
        let least = chart.bytes(&chart.allocations) / share;
        let is_large = |places: &[usize]| chart.bytes(places) >= least.max(1);
        let all = chart.allocations.iter();
        let large: Vec<usize> = all.copied().filter(|&it| is_large(&[it])).collect();
        // Where most bytes are of allocations that are too small for that, the largest have rows of their own all the same.
        let at_least = if chart.bytes(&large) < chart.bytes(&chart.allocations) / 2 {
            most_rows / 2
        } else {
            0
        };
        let groups = match at_least {
            0 => chart.groups(most_rows, share),
            most => chart.groups(most, u64::MAX),
        };
        let groups = groups.into_iter().enumerate();
        let (large, small): (Vec<_>, Vec<_>) =
            groups.partition(|(at, it)| *at < at_least || is_large(it));
        let [large, small] = [large, small].map(|it| it.into_iter().map(|it| it.1).collect());
        let rows = rows(chart, large, most_rows, &columns);
        let mut counts: FxHashMap<usize, usize> = FxHashMap::default();
        for holder in rows.iter().flat_map(|it| it.cells.iter().flatten()) {
            if let Holder::Value(value) = *holder {
                *counts.entry(value).or_default() += 1;
            }
        }
        Self {
            chart,
            width,
            per_column,
            repeated: (cells / count.max(1)).clamp(1, MOST_REPEATED),
            columns,
            rows,
            small,
            letters: Letters::new(chart.map, &counts, room - most_rows),
        }
    }

    fn write(&self, out: &mut impl Write, title: &str) -> io::Result<()> {
        let mut head = Page::default();
        head.verdict(format!("{title}: {}", self.chart.verdict()));
        head.text(self.scale());
        head.write_text(out, self.width)?;
        writeln!(out)?;
        self.write_curve(out)?;
        self.write_steps(out)?;
        for rows in &self.rows {
            self.write_rows(out, rows)?;
        }
        self.write_peak(out)?;
        writeln!(out)?;
        self.foot().write_text(out, self.width)
    }

    /// What a column is.
    fn scale(&self) -> String {
        let cell = "A letter is the value with most bytes there, `.` is mostly idle. Static, \
                    this module only.";
        match (self.per_column, self.repeated) {
            (1, 1) => format!("A column is a step. {cell}"),
            (1, repeated) => format!("A step is {repeated} columns. {cell}"),
            (steps, _) => format!("A column is {steps} steps and shows the fullest. {cell}"),
        }
    }

    fn write_curve(&self, out: &mut impl Write) -> io::Result<()> {
        let top = self.columns.iter().map(|it| it.1).max().unwrap_or(0).max(1);
        for line in (0..CURVE).rev() {
            let label = match line {
                0 => "0 B".to_owned(),
                line if line == CURVE - 1 => rounded(top),
                _ => String::new(),
            };
            let blocks = self.columns.iter().flat_map(|&(_, bytes)| {
                let eighths = u128::from(bytes) * u128::from(CURVE * 8);
                let eighths = eighths.div_ceil(u128::from(top)) as u64;
                let block = BLOCKS[eighths.saturating_sub(line * 8).min(8) as usize];
                std::iter::repeat_n(block, self.repeated)
            });
            let text: String = blocks.collect();
            let text = format!("{label:NAME$}{text}");
            writeln!(out, "{}", text.trim_end())?;
        }
        Ok(())
    }

    fn write_steps(&self, out: &mut impl Write) -> io::Result<()> {
        let first = self.chart.first;
        let behind = first.saturating_add(self.columns.len() as u64 * self.per_column);
        let widest = behind.to_string().len() as u64;
        let columns = self.per_column.saturating_mul(widest + TICK);
        let every = chart::nice(columns.div_ceil(self.repeated as u64));
        let later = (first / every + 1..).map_while(|at| at.checked_mul(every));
        let mut line = format!("{:NAME$}", "step");
        for step in std::iter::once(first).chain(later.take_while(|&step| step < behind)) {
            let column = NAME + ((step - first) / self.per_column) as usize * self.repeated;
            let length = line.chars().count();
            let text = step.to_string();
            let is_apart = step == first || column >= length + 2;
            if is_apart && column + text.len() <= self.width {
                line.push_str(&" ".repeat(column - length));
                line.push_str(&text);
            }
        }
        writeln!(out, "{line}")
    }

    fn write_rows(&self, out: &mut impl Write, rows: &Rows) -> io::Result<()> {
        let name = self.chart.group_name(&rows.places);
        let first = rows
            .places
            .first()
            .map(|&it| self.chart.allocation(it).kind);
        let colour = match first.unwrap_or_default() {
            "parameter" => 34,
            "output" => 33,
            "constant" => 35,
            _ => 32,
        };
        for (number, row) in rows.cells.iter().enumerate() {
            let label = if number == 0 { &*name } else { "" };
            write!(out, "{:NAME$}", cut(label, NAME - 1))?;
            let is_idle = |holder: &Holder| *holder == Holder::Nobody;
            for run in row.chunk_by(|a, b| is_idle(a) == is_idle(b)) {
                let letters = run.iter().flat_map(|holder| {
                    let letter = match *holder {
                        Holder::Nobody => IDLE,
                        Holder::Value(value) => self.letters.of(value),
                        Holder::Many => MANY,
                    };
                    std::iter::repeat_n(letter, self.repeated)
                });
                let letters: String = letters.collect();
                let style = if is_idle(&run[0]) { 2 } else { colour };
                write!(out, "\u{1b}[{style}m{letters}\u{1b}[0m")?;
            }
            if number == 0 {
                let bytes = rounded(self.chart.bytes(&rows.places));
                write!(out, " {bytes:>0$}", SIZE - 1)?;
            }
            writeln!(out)?;
        }
        Ok(())
    }

    /// `HBM peak   ^ step 13, copy.3: 965.7 MiB (XLA marks 14)`: on the right of the mark, else on its
    /// left, else on a line of its own.
    fn write_peak(&self, out: &mut impl Write) -> io::Result<()> {
        let (chart, peak) = (self.chart, self.chart.peak);
        let mut after = format!(": {}", rounded(peak.occupied_bytes));
        if let Some(step) = chart.printed_peak().filter(|&step| step != peak.step) {
            after = format!("{after} (XLA marks {step})");
        }
        if !chart.has(peak.step) {
            after = format!("{after}, not among these steps");
        }
        let label = format!("{} peak", chart.space.space.name);
        // The name of the instruction makes room for the numbers.
        let sentence = |room: usize| {
            let step = format!("step {}", peak.step);
            let left = room.saturating_sub(length(&step) + length(&after));
            let name = peak.instruction.as_deref().map(super::printable);
            let name = name.filter(|name| left >= 2 + length(name).min(LEAST_NAME));
            let name = name.map_or_else(String::new, |it| format!(", {}", cut(&it, left - 2)));
            format!("{step}{name}{after}")
        };
        let within = |room: usize| {
            let room = room.saturating_sub(length(&label) + 4);
            format!("{label} at {}", sentence(room))
        };
        let lines = if chart.has(peak.step) {
            let column = (peak.step - chart.first) / self.per_column;
            let at = NAME + column as usize * self.repeated + self.repeated / 2;
            let right = sentence(self.width.saturating_sub(at + 2));
            let left = within(at - 1);
            if length(&label) < at && at + 2 + length(&right) <= self.width {
                vec![format!("{label:at$}^ {right}")]
            } else if length(&left) < at {
                vec![format!("{:>width$} ^", left, width = at - 1)]
            } else {
                vec![format!("{:at$}^", ""), within(self.width)]
            }
        } else {
            vec![within(self.width)]
        };
        for line in lines {
            writeln!(out, "\u{1b}[1m{line}\u{1b}[0m")?;
        }
        Ok(())
    }

    /// The legend, and what is not to be seen.
    fn foot(&self) -> Page {
        let (chart, map) = (self.chart, self.chart.map);
        let values = &map.values;
        let mut table = Table::new(&[
            Column::new("", "", Place::Row),
            Column::new("value", "", Place::Cut),
            Column::new("bytes", "", Place::Row),
            Column::new("steps", "", Place::Row),
            Column::new("place", "", Place::Row),
        ]);
        for &(value, letter) in &self.letters.named {
            let allocation = chart.allocation(values.allocation[value] as usize);
            table.rows.push(vec![
                Cell::text(letter),
                Cell::text(map.label(value)),
                Cell::Bytes(values.bytes[value]),
                Cell::text(range((values.start[value], values.end[value]))),
                Cell::text(format!(
                    "{}+{}",
                    allocation.allocation, values.offset[value]
                )),
            ]);
        }
        let mut page = Page::default();
        page.table(table);
        for note in self.notes() {
            page.text(note);
        }
        page
    }

    fn notes(&self) -> Vec<String> {
        let (chart, map) = (self.chart, self.chart.map);
        let count = |count: usize, what: &str| match count {
            1 => format!("1 {what}"),
            _ => format!("{} {what}s", grouped(count as u64)),
        };
        let mut notes = Vec::new();
        if self.letters.others > 0 {
            let others = count(self.letters.others, "other value");
            notes.push(format!("{} is {others}.", letters::OTHER));
        }
        let is_gathered = |it: &&Rows| it.places.len() > 1;
        if self.rows.iter().any(|it| is_gathered(&it)) {
            let gathered = "bytes of allocations that are too small for rows of their own";
            notes.push(format!("{MANY} is {gathered}."));
        }
        let alone = self.rows.iter().filter(|it| !is_gathered(it));
        let places = alone.flat_map(|it| &it.places);
        let of_rows = places.flat_map(|&place| chart.values(place));
        let (alive, elsewhere): (Vec<usize>, Vec<usize>) =
            of_rows.partition(|&value| chart.is_alive(value));
        let hidden = alive.len().saturating_sub(self.letters.shown());
        if hidden > 0 {
            let values = count(hidden, "more value");
            let have = if hidden == 1 { "has" } else { "have" };
            notes.push(format!(
                "{values} {have} no letter: too small, not alive at the fullest step of a \
                 column, or beside others in the same bytes."
            ));
        }
        if !elsewhere.is_empty() {
            let values = count(elsewhere.len(), "value");
            notes.push(format!("{values} not alive at these steps."));
        }
        let small = self.small.concat();
        let sizes = small.iter().map(|&place| chart.allocation(place).bytes);
        if let Some(largest) = sizes.max().filter(|&largest| largest > 0) {
            notes.push(format!(
                "And {} of at most {}: {}.",
                count(small.len(), "allocation"),
                rounded(largest),
                rounded(chart.bytes(&small))
            ));
        }
        let other = map.spaces.iter().filter_map(|space| {
            let peak = space.space.peak.as_ref()?;
            let is_other = space.space.color != chart.space.space.color && peak.occupied_bytes > 0;
            let bytes = rounded(peak.occupied_bytes);
            is_other.then(|| format!("{} {bytes} at step {}", chart::label(space), peak.step))
        });
        let other: Vec<String> = other.collect();
        if !other.is_empty() {
            notes.push(format!(
                "Peaks of other memory spaces: {}.",
                other.join(", ")
            ));
        }
        if map.values_left_out > 0 {
            let values = count(map.values_left_out, "smaller value");
            notes.push(format!("{values} left out."));
        }
        if let Some(values) = map.missing_live_ranges.filter(|&values| values > 0) {
            let values = count(values, "value");
            notes.push(format!(
                "{values} without live range or place: the true peak may be higher."
            ));
        }
        if let Some(bytes) = map.missing_bytes.filter(|&bytes| bytes > 0) {
            let bytes = rounded(bytes);
            notes.push(format!(
                "Allocations of {bytes} that the compiler counts are not there."
            ));
        }
        notes
    }
}

/// Shares `most` rows out over the allocations and fills them.
fn rows(chart: &Chart, groups: Vec<Vec<usize>>, most: usize, columns: &[(u64, u64)]) -> Vec<Rows> {
    let sizes: Vec<u64> = groups.iter().map(|it| chart.bytes(it)).collect();
    let heights = chart::shared(&sizes, most as f64, 1.0);
    let groups = groups.into_iter().zip(&sizes).zip(heights);
    let rows = groups.map(|((places, &bytes), height)| {
        let count = chart::whole(height).max(1);
        let mut cells = vec![Vec::with_capacity(columns.len()); count as usize];
        for &(step, _) in columns {
            let alive = alive(chart, &places, step);
            // How far each and those before it reach: a row asks only those that may be in it.
            let reach = alive.iter().scan(0, |reach, &(_, _, end)| {
                *reach = end.max(*reach);
                Some(*reach)
            });
            let reach: Vec<u64> = reach.collect();
            for (row, cells) in (0..count).zip(&mut cells) {
                let border =
                    |row: u64| (u128::from(bytes) * u128::from(row) / u128::from(count)) as u64;
                let (from, to) = (border(row), border(row + 1));
                let behind = alive.partition_point(|&(_, start, _)| start < to);
                let first = reach.partition_point(|&end| end <= from).min(behind);
                cells.push(match holder(&alive[first..behind], from, to) {
                    Holder::Value(_) if places.len() > 1 => Holder::Many,
                    holder => holder,
                });
            }
        }
        // Offsets grow upwards, as the bytes of the curve do.
        cells.reverse();
        Rows { places, cells }
    });
    rows.collect()
}

/// A value with its first byte, and the one behind its last.
type Alive = (usize, u64, u64);

/// The values alive at a step, in the order of bytes, the allocations one behind another.
fn alive(chart: &Chart, places: &[usize], step: u64) -> Vec<Alive> {
    checkpoint();
    let (mut alive, mut before) = (Vec::new(), 0_u64);
    let values = &chart.map.values;
    for &place in places {
        for value in chart.values(place) {
            if values.start[value] <= step && step <= values.last[value] {
                let (start, length) = chart.extent(value);
                let start = before.saturating_add(start);
                alive.push((value, start, start.saturating_add(length)));
            }
        }
        before = before.saturating_add(chart.allocation(place).bytes);
    }
    alive.sort_by_key(|&(value, start, _)| (start, value));
    alive
}

/// Who has the most of the bytes from `from` to before `to`, unless more of them are idle.
fn holder(alive: &[Alive], from: u64, to: u64) -> Holder {
    let (mut best, mut most) = (Holder::Nobody, 0);
    for &(value, start, end) in alive {
        let both = end.min(to).saturating_sub(start.max(from));
        if both > most {
            (best, most) = (Holder::Value(value), both);
        }
    }
    if occupied(alive, from, to) >= (to - from).div_ceil(2) {
        best
    } else {
        Holder::Nobody
    }
}

/// How many of the bytes from `from` to before `to` are some value's.
fn occupied(alive: &[Alive], from: u64, to: u64) -> u64 {
    let (mut occupied, mut behind) = (0, from);
    for &(_, start, end) in alive {
        let (start, end) = (start.max(behind), end.min(to));
        if start < end {
            occupied += end - start;
            behind = end;
        }
    }
    occupied
}
