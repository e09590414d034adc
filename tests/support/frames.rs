//! Stacks of source lines, read in the plainest way: metadata, and the tables of the HLO text.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};

use super::oracle::{Facts, Spot};

/// A file, and the line if it is known.
pub type Frame = (String, Option<u64>);

/// The rows of each table of an HLO text.
#[derive(Debug, Default)]
pub struct Tables(HashMap<String, HashMap<u64, String>>);

impl Tables {
    /// Reads the tables in front of the first computation.
    pub fn read(text: &str) -> Self {
        let (mut tables, mut title) = (HashMap::new(), String::new());
        for line in text.lines().take_while(|line| {
            !line.ends_with("-> (") && !line.starts_with('%') && !line.starts_with("ENTRY")
        }) {
            let row = line.split_once(' ');
            let number = row.and_then(|(number, rest)| Some((number.parse::<u64>().ok()?, rest)));
            match number {
                Some((number, rest)) => {
                    let table: &mut HashMap<u64, String> = tables.entry(title.clone()).or_default();
                    table.insert(number, rest.to_owned());
                }
                None => line.clone_into(&mut title),
            }
        }
        Self(tables)
    }

    fn row(&self, table: &str, number: u64) -> Option<&str> {
        Some(self.0.get(table)?.get(&number)?.as_str())
    }

    fn field(&self, table: &str, number: u64, key: &str) -> Option<u64> {
        let row = self.row(table, number)?;
        let pairs = row.trim_matches(['{', '}']).split(' ');
        let mut pairs = pairs.filter_map(|pair| pair.split_once('='));
        pairs.find(|(name, _)| *name == key)?.1.parse().ok()
    }

    /// The lines of frame `id`, the innermost first. Parents are printed one too high, as the first row
    /// tells by seeming to be its own.
    pub fn stack(&self, id: u64) -> Vec<Frame> {
        let shift = u64::from(self.field("StackFrames", 1, "parent_frame_id") == Some(1));
        let (mut stack, mut seen, mut id) = (Vec::new(), HashSet::new(), id);
        while seen.insert(id)
            && let Some(location) = self.field("StackFrames", id, "file_location_id")
        {
            let file = self.field("FileLocations", location, "file_name_id");
            if let Some(file) = file.and_then(|file| self.row("FileNames", file)) {
                let line = self.field("FileLocations", location, "line");
                stack.push((decoded(file), line.filter(|&line| line > 0)));
            }
            let parent = self
                .field("StackFrames", id, "parent_frame_id")
                .unwrap_or(0);
            id = parent.saturating_sub(shift);
        }
        stack
    }
}

/// The stack of each value of `facts`, in their order: of the instruction printed with it, else of that
/// in the HLO text. A fusion or a call without one has that of the root of what it calls, else of the first
/// instruction there that has one; what is without metadata has that of what it hands on, and a parameter of what is called once
/// that of the call's operand. A buffer that a loop fills part by part has that of what is written, where that is another than the loop's: without metadata a loop has that
/// of what counts its turns.
pub fn stacks(facts: &Facts) -> Vec<Vec<Frame>> {
    let tables = facts.module.map_or_else(Tables::default, |file| {
        Tables::read(&facts.files[file].text)
    });
    let mut bodies: HashMap<&str, Vec<Spot>> = HashMap::new();
    for (spot, computation) in facts.instructions.values() {
        bodies.entry(computation).or_default().push(*spot);
    }
    for body in bodies.values_mut() {
        let is_root = |spot: &Spot| {
            let line = &facts.files[spot.file].lines[spot.line];
            line.trim_start().starts_with("ROOT ")
        };
        body.sort_by_key(|spot| (!is_root(spot), spot.line));
    }
    let of_spot = |spot: Spot| {
        let text = instruction(facts, spot);
        let own = stack(&metadata(&text), &tables);
        let body = called(&text).and_then(|name| bodies.get(name));
        let inside = body.into_iter().flatten();
        let inside = inside.map(|&spot| stack(&metadata(&instruction(facts, spot)), &tables));
        let mut stacks = std::iter::once(own).chain(inside);
        stacks.find(|stack| !stack.is_empty()).unwrap_or_default()
    };
    // One text is printed with each value of an instruction; that of the first counts.
    let mut printed: HashMap<&str, Spot> = HashMap::new();
    for value in &facts.values {
        if let Some(used) = value.used {
            let spot = facts.used[used].instruction.name.spot;
            let name = value.reference.name.text.as_str();
            printed.entry(name).or_insert(spot);
        }
    }
    let spot = |name: &str| {
        let printed = printed.get(name).copied();
        printed.or_else(|| Some(facts.instructions.get(name)?.0))
    };
    let mut loops: HashMap<String, &str> = HashMap::new();
    let mut callers: HashMap<String, Vec<String>> = HashMap::new();
    for (name, (spot, _)) in &facts.instructions {
        let text = instruction(facts, *spot);
        if behind(&text, " call(").is_some()
            && let Some(body) = called(&text)
        {
            let callers = callers.entry(body.to_owned()).or_default();
            callers.push(text.clone());
        }
        if behind(&text, " while(").is_some() {
            let runs = [" body=", " condition="].map(|key| behind(&text, key));
            let runs = runs.into_iter().flatten().map(first_name);
            loops.extend(runs.map(|it| (it.to_owned(), name.as_str())));
        }
    }
    // The operand of a fusion that only copies it.
    let copied = |text: &str| -> Option<String> {
        let operands = behind(text, " fusion(")?;
        let (mut parameters, mut copies) = (0, 0);
        for spot in bodies.get(called(text)?)? {
            let text = instruction(facts, *spot);
            let is = |opcode: &str| behind(&text, opcode).is_some();
            if is(" parameter(") {
                parameters += 1;
            } else if is(" copy(") || is(" transpose(") {
                copies += 1;
            } else if !is(" bitcast(") {
                return None;
            }
        }
        operand(operands, 0).filter(|_| parameters == 1 && (1..8).contains(&copies))
    };
    // What a parameter is of the only call of its computation.
    let argument = |text: &str, computation: Option<&str>| -> Option<(String, usize)> {
        let number = behind(text, " parameter(")?.split(')').next()?;
        let [call] = callers.get(computation?)?.as_slice() else {
            return None;
        };
        let operands = behind(call, " call(")?;
        Some((operand(operands, number.parse().ok()?)?, 0))
    };
    let known: RefCell<HashMap<String, Vec<Frame>>> = RefCell::default();
    let told = |name: &str| -> Vec<Frame> {
        let mut known = known.borrow_mut();
        let found = || {
            let (mut name, mut element) = (name.to_owned(), 0);
            for hop in 0..17 {
                let Some(spot) = spot(&name) else {
                    break;
                };
                let (text, stack) = (instruction(facts, spot), of_spot(spot));
                let named = metadata(&text)
                    .iter()
                    .any(|(key, path)| key == "op_name" && path.len() > "\"\"".len());
                if named || !stack.is_empty() {
                    return stack;
                }
                let computation = facts.instructions.get(&name).map(|(_, it)| it.as_str());
                let looped = computation.and_then(|it| loops.get(it).copied());
                let is_inner = hop > 0;
                let next = handed_on(&text, element, looped, is_inner);
                let next = next.or_else(|| Some((copied(&text)?, 0)));
                match next.or_else(|| argument(&text, computation)) {
                    Some(next) => (name, element) = next,
                    None => break,
                }
            }
            Vec::new()
        };
        known.entry(name.to_owned()).or_insert_with(found).clone()
    };
    // The root of a computation; of a tuple an element.
    let result = |computation: &str, element: usize| -> Option<(String, usize)> {
        let root = instruction(facts, *bodies.get(computation)?.first()?);
        match behind(&root, " tuple(") {
            Some(operands) => Some((operand(operands, element)?, 0)),
            None => Some((first_name(&root).to_owned(), element)),
        }
    };
    // What a loop writes, part by part, into the buffer that a value is.
    let stacked = |name: &str, index: &str| -> Option<Vec<Frame>> {
        let text_of = |name: &str| Some(instruction(facts, spot(name)?));
        let text = text_of(name)?;
        let looping = if behind(&text, " while(").is_some() {
            name
        } else {
            loops.get(facts.instructions.get(name)?.1.as_str())?
        };
        let counted = || {
            let body = text_of(looping)?;
            let (counter, _) = result(first_name(behind(&body, " body=")?), 0)?;
            let path = metadata(&text_of(&counter)?);
            let mut paths = path.iter().filter(|(key, _)| key == "op_name");
            paths.next()?.1.ends_with("/body/add\"").then_some(counter)
        };
        let own = told(looping);
        let is_silent = own.is_empty();
        let counted = || counted().map_or_else(Vec::new, |it| told(&it));
        let of_loop = if is_silent { counted() } else { own };
        let tells_more = |stack: &[Frame]| stack.iter().any(|frame| !of_loop.contains(frame));
        let element = index
            .trim_matches(['{', '}'])
            .split(',')
            .next()?
            .parse()
            .ok();
        let (mut name, mut element) = if looping == name || behind(&text, " parameter(").is_some() {
            let text = text_of(looping)?;
            result(first_name(behind(&text, " body=")?), element?)?
        } else {
            let is_update = [" fusion(", " dynamic-update-slice("]
                .iter()
                .any(|opcode| behind(&text, opcode).is_some());
            if !is_update || tells_more(&told(name)) {
                return None;
            }
            (name.to_owned(), element.unwrap_or(0))
        };
        let (mut is_updated, mut fusion) = (false, None);
        let mut of_update = None;
        let mut follow = || {
            for _ in 0..32 {
                let text = text_of(&name)?;
                let update = behind(&text, " dynamic-update-slice(");
                if update.is_some() {
                    is_updated = true;
                    of_update = of_update.take().or_else(|| Some(told(&name)));
                }
                if is_updated && tells_more(&told(&name)) {
                    return Some(told(&name));
                }
                let same = [" convert(", " reshape(", " broadcast(", " transpose("];
                let same = same.iter().find_map(|opcode| behind(&text, opcode));
                (name, element) = if let Some(operands) = update {
                    (operand(operands, 1)?, 0)
                } else if let Some(operands) = same {
                    (operand(operands, 0)?, 0)
                } else if behind(&text, " fusion(").is_some() {
                    let next = result(called(&text)?, element)?;
                    fusion = Some(text);
                    next
                } else if let Some(number) = behind(&text, " parameter(") {
                    let number = number.split(')').next()?.parse().ok()?;
                    let fusion = fusion.take()?;
                    (operand(behind(&fusion, " fusion(")?, number)?, 0)
                } else {
                    handed_on(&text, element, None, true)?
                };
            }
            None
        };
        follow().or(of_update.filter(|_| is_silent))
    };
    let references = facts.values.iter().map(|value| &value.reference);
    let of_value = |name: &str, index: &str| stacked(name, index).unwrap_or_else(|| told(name));
    references
        .map(|it| of_value(&it.name.text, &it.index))
        .collect()
}

/// What is handed on by an instruction without metadata: a copy's operand, an element of a tuple, the state
/// of the loop.
fn handed_on(
    text: &str,
    element: usize,
    looped: Option<&str>,
    is_inner: bool,
) -> Option<(String, usize)> {
    const COPIES: [&str; 8] = [
        " bitcast(",
        " copy(",
        " copy-start(",
        " copy-done(",
        " slice-start(",
        " slice-done(",
        " async-update(",
        " async-done(",
    ];
    if behind(text, " parameter(").is_some() {
        return Some((looped?.to_owned(), 0));
    }
    if let Some(operands) = COPIES.iter().find_map(|opcode| behind(text, opcode)) {
        return Some((operand(operands, 0)?, 0));
    }
    if let Some(operands) = behind(text, " get-tuple-element(") {
        let index = behind(text, " index=")?;
        let digits = index.find(|char: char| !char.is_ascii_digit());
        let index = index[..digits.unwrap_or(index.len())].parse().ok()?;
        return Some((operand(operands, 0)?, index));
    }
    let operands = behind(text, " tuple(").filter(|_| is_inner)?;
    Some((operand(operands, element)?, 0))
}

/// The name of an operand in a list that ends with `)`; its shape may stand before it.
fn operand(list: &str, number: usize) -> Option<String> {
    let (mut open, mut start, mut found) = (0, 0, Vec::new());
    for (at, char) in list.char_indices() {
        match char {
            '(' | '[' | '{' => open += 1,
            ',' if open == 0 => {
                found.push(&list[start..at]);
                start = at + 1;
            }
            ')' if open == 0 => {
                found.push(&list[start..at]);
                break;
            }
            ')' | ']' | '}' => open -= 1,
            _ => {}
        }
    }
    let name = found.get(number)?.split_whitespace().last()?;
    // `/*index=5*/%name`
    let name = name.rsplit("*/").next()?;
    Some(name.trim_start_matches('%').to_owned())
}

fn stack(metadata: &[(String, String)], tables: &Tables) -> Vec<Frame> {
    let entry = |key: &str| {
        metadata
            .iter()
            .find(|(name, _)| name == key)
            .map(|(_, value)| value)
    };
    let number = |key: &str| entry(key).and_then(|value| value.parse::<u64>().ok());
    let stack = number("stack_frame_id").map_or_else(Vec::new, |id| tables.stack(id));
    match entry("source_file") {
        Some(file) if stack.is_empty() => {
            vec![(
                decoded(file),
                number("source_line").filter(|&line| line > 0),
            )]
        }
        _ => stack,
    }
}

/// What stands behind `words`, outside of strings.
fn behind<'t>(text: &'t str, words: &str) -> Option<&'t str> {
    let mut free = scanned(text).filter(|it| !it.is_quoted);
    free.find_map(|it| text[it.at..].strip_prefix(words))
}

/// The computation that a fusion or a call is made of.
fn called(text: &str) -> Option<&str> {
    let name = if behind(text, " fusion(").is_some() {
        behind(text, " calls=")?
    } else {
        behind(text, " call(").and(behind(text, " to_apply="))?
    };
    Some(first_name(name))
}

fn first_name(text: &str) -> &str {
    let name = text.trim_start_matches('%');
    // Old compilers begin the next value right behind it.
    let end = name.find([',', ' ', '\n', '<']);
    &name[..end.unwrap_or(name.len())]
}

/// The instruction whose name is at `spot`. It may be printed in several lines.
fn instruction(facts: &Facts, spot: Spot) -> String {
    let lines = &facts.files[spot.file].lines[spot.line..];
    let mut text = lines[0][spot.column..].to_owned();
    // It goes on as long as a bracket is open.
    for line in &lines[1..] {
        if depth(&text) <= 0 {
            break;
        }
        text.push('\n');
        text.push_str(line);
    }
    text
}

/// The entries of an instruction's metadata.
fn metadata(text: &str) -> Vec<(String, String)> {
    let mut entries = Vec::new();
    let rest = scanned(text)
        .filter(|it| !it.is_quoted)
        .find_map(|it| text[it.at..].strip_prefix(" metadata={"));
    let Some(rest) = rest else { return entries };
    let mut start = 0;
    for it in scanned(rest) {
        if it.is_quoted || it.depth != 0 || !matches!(it.char, ' ' | '}') {
            continue;
        }
        let pair = rest[start..it.at].split_once('=');
        entries.extend(pair.map(|(key, value)| (key.to_owned(), value.to_owned())));
        if it.char == '}' {
            break;
        }
        start = it.at + 1;
    }
    entries
}

/// How many curly brackets are open at the end.
fn depth(text: &str) -> i32 {
    scanned(text).last().map_or(0, |last| match last.char {
        '{' if !last.is_quoted => last.depth + 1,
        '}' if !last.is_quoted => last.depth - 1,
        _ => last.depth,
    })
}

/// A character, and what is open before it.
struct Scanned {
    at: usize,
    char: char,
    is_quoted: bool,
    /// Curly brackets outside of strings.
    depth: i32,
}

fn scanned(text: &str) -> impl Iterator<Item = Scanned> {
    let (mut is_quoted, mut is_escaped, mut depth) = (false, false, 0);
    text.char_indices().map(move |(at, char)| {
        let scanned = Scanned {
            at,
            char,
            is_quoted,
            depth,
        };
        match char {
            _ if is_escaped => is_escaped = false,
            '\\' if is_quoted => is_escaped = true,
            '"' => is_quoted = !is_quoted,
            '{' if !is_quoted => depth += 1,
            '}' if !is_quoted => depth -= 1,
            _ => {}
        }
        scanned
    })
}

/// A string without its quotes and escapes.
fn decoded(string: &str) -> String {
    let inner = string.trim_matches('"');
    let mut bytes = Vec::new();
    let mut rest = inner.bytes().peekable();
    while let Some(byte) = rest.next() {
        if byte != b'\\' {
            bytes.push(byte);
            continue;
        }
        let mut octal = None;
        for _ in 0..3 {
            let Some(digit) = rest.next_if(|byte| (b'0'..b'8').contains(byte)) else {
                break;
            };
            octal = Some(octal.unwrap_or(0) * 8 + u32::from(digit - b'0'));
        }
        match octal {
            Some(value) => bytes.push(value as u8),
            None => bytes.extend(rest.next()),
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
