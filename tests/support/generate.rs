//! Dumps made up in any size, in the two ways in which real ones are large: very many short lines,
//! as of an unrolled program, and few huge ones, as of a loop over a tuple with very many elements.
//!
//! They are sound by the format: a test checks small ones. This file uses nothing beside it, so that
//! the benchmarks can have it too.

use std::fmt::Write;
use std::rc::Rc;

/// A value with all that the sections print of it.
struct Value {
    name: String,
    /// `{3}`; empty where it is not printed.
    index: String,
    shape: Rc<str>,
    bytes: u64,
    offset: u64,
    /// Without padding.
    logical: u64,
    /// The same of the whole result of its instruction.
    weight: u64,
    live: (u64, u64),
    is_phi: bool,
    positions: Vec<String>,
    uses: Vec<String>,
    instruction: Rc<str>,
}

/// A program under construction.
#[derive(Default)]
struct Program {
    values: Vec<Value>,
    /// What the header says behind the size, and the values.
    allocations: Vec<(String, Vec<usize>)>,
    sequence: Vec<String>,
}

/// A two-dimensional array in rows of 128 elements, eight by eight.
fn array(rows: u64, columns: u64, is_turned: bool) -> (String, u64, u64) {
    let (order, slow, fast) = if is_turned {
        ("0,1", columns, rows)
    } else {
        ("1,0", rows, columns)
    };
    let bytes = slow.next_multiple_of(8) * fast.next_multiple_of(128) * 4;
    let shape = format!("f32[{rows},{columns}]{{{order}:T(8,128)}}");
    (shape, bytes, rows * columns * 4)
}

/// The extents of the array with this number.
fn extents(number: u64) -> (u64, u64) {
    let rows = 8 * (1 + number % 10) - number % 3;
    (rows, 128 * (1 + number % 4) - 28 * (number % 2))
}

/// A number below `end` that looks like chance.
fn scattered(number: u64, end: u64) -> u64 {
    (number.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 33) % end
}

/// A program without loops: about `bytes` of short lines, a value in every ten of them.
pub fn dense(bytes: usize) -> String {
    /// Places in the temporary allocation, taken in turn; so many steps a value may live.
    const PLACES: u64 = 32;
    const PLACE: u64 = 262_144;
    let count = (bytes / 750).max(40) as u64;
    let parameters = count.div_ceil(3);
    let steps = parameters + count;
    let mut program = Program::default();
    for number in 0..parameters {
        let name = format!("w.{number}");
        let (rows, columns) = extents(number);
        let (shape, size, logical) = array(rows, columns, false);
        let at = program.values.len();
        program.allocations.push((
            format!("parameter {number}, shape |f32[{rows},{columns}]| at ShapeIndex {{}}"),
            vec![at],
        ));
        let instruction = format!(
            "%{name} = {shape} parameter({number}), metadata={{op_name=\"params[{number}]\"}}"
        );
        program.add(
            &name,
            "",
            &shape,
            (size, 0),
            (logical, logical),
            (0, steps),
            &instruction,
        );
        program.sequence.push(name);
    }
    let mut temps = Vec::new();
    let name = |number: u64| {
        let kind = if number % 16 == 5 { "copy" } else { "fusion" };
        format!("{kind}.{number}")
    };
    for number in 0..count {
        let own = name(number);
        let step = parameters + number;
        let is_copy = own.starts_with("copy");
        let (rows, columns) = extents(scattered(number - u64::from(is_copy), 40));
        let (shape, size, logical) = array(rows, columns, is_copy);
        let mut operands = Vec::new();
        if number > 0 {
            operands.push(parameters + number - 1);
        }
        if !is_copy && number > PLACES {
            operands.push(parameters + number - 1 - scattered(number, PLACES - 4));
        }
        if !is_copy {
            operands.push(number / 3);
        }
        for (place, &operand) in operands.iter().enumerate() {
            let operand = &mut program.values[operand as usize];
            operand.uses.push(format!("{own}, operand {place}"));
            operand.live.1 = operand.live.1.max(step);
        }
        let operands: Vec<String> = operands
            .iter()
            .map(|&at| format!("%{}", program.values[at as usize].name))
            .collect();
        let operands = operands.join(", ");
        let layer = number / 16;
        let source_line = 20 + number % 60;
        let metadata = format!(
            "metadata={{op_name=\"jit(train_step)/jit(main)/layer_{layer}/dot_general\" source_file=\"models/train.py\" source_line={source_line}}}"
        );
        let call = if is_copy {
            format!("copy({operands})")
        } else {
            format!("fusion({operands}), kind=kLoop, calls=%fused_computation.{number}")
        };
        let instruction = format!("%{own} = {shape} {call}, {metadata}");
        let at = program.values.len();
        let is_last = number + 1 == count;
        let offset = if is_last { 0 } else { number % PLACES * PLACE };
        let live = (step, if is_last { steps } else { step });
        program.add(
            &own,
            "",
            &shape,
            (size, offset),
            (logical, logical),
            live,
            &instruction,
        );
        program.sequence.push(own);
        if is_last {
            let header = format!("output shape is |f32[{rows},{columns}]|, maybe-live-out");
            program.allocations.push((header, vec![at]));
        } else {
            temps.push(at);
        }
    }
    program
        .allocations
        .push(("preallocated-temp".to_owned(), temps));
    program.print()
}

/// A loop over a tuple: about `bytes`, nearly all in lines that print the tuple's shape.
pub fn huge_lines(bytes: usize) -> String {
    let count = (bytes / 60).isqrt().max(12) as u64;
    let arrays: Vec<_> = (0..count)
        .map(|number| {
            (
                extents(number),
                array(extents(number).0, extents(number).1, false),
            )
        })
        .collect();
    let tuple_of = |shapes: &mut dyn Iterator<Item = String>| {
        let mut text = String::from("(");
        for (at, shape) in shapes.enumerate() {
            if at > 0 {
                text += ", ";
            }
            if at > 0 && at % 5 == 0 {
                let _ = write!(text, "/*index={at}*/");
            }
            text += &shape;
        }
        text + ")"
    };
    let tuple = tuple_of(&mut arrays.iter().map(|(_, (shape, ..))| shape.clone()));
    let bare = tuple_of(
        &mut arrays
            .iter()
            .map(|((rows, columns), _)| format!("f32[{rows},{columns}]")),
    );
    let table = ((4 * count).next_multiple_of(512), 8 * count);
    let (first, body, last) = (count, count + 1, 3 * count + 3);
    let steps = last + 1;
    let names = |name: &str| {
        let names = (0..count).map(|number| format!("%{name}.{number}"));
        names.collect::<Vec<_>>().join(", ")
    };
    let made: Rc<str> = format!("%tuple.1 = {tuple} tuple({})", names("arg")).into();
    let carried: Rc<str> = format!("%carry = {tuple} parameter(0)").into();
    let result: Rc<str> = format!("%while.1 = {tuple} while(%tuple.1), condition=%cond, body=%body, metadata={{op_name=\"jit(train_steps)/while\"}}").into();
    let given: Rc<str> = format!("%tuple.2 = {tuple} tuple({})", names("add")).into();
    let tuple: Rc<str> = tuple.into();
    let weights = (table.1, table.1);
    let mut program = Program::default();
    let mut of_parameters = vec![Vec::new(); arrays.len()];
    for (number, (_, (shape, size, logical))) in arrays.iter().enumerate() {
        let name = format!("arg.{number}");
        let instruction = format!(
            "%{name} = {shape} parameter({number}), metadata={{op_name=\"state[{number}]\"}}"
        );
        of_parameters[number].push(program.values.len());
        program.add(
            &name,
            "",
            shape,
            (*size, 0),
            (*logical, *logical),
            (0, body),
            &instruction,
        );
        let value = program.values.last_mut().expect("the value just added");
        value.positions.push(format!("tuple.1 {{{number}}}"));
        value.uses.push(format!("while.1, operand 0 {{{number}}}"));
        program.sequence.push(name);
    }
    let mut temps = vec![program.values.len()];
    program.add(
        "tuple.1",
        "{}",
        &tuple,
        (table.0, 0),
        weights,
        (first, body),
        &made,
    );
    let value = program.values.last_mut().expect("the value just added");
    value.uses.push("while.1, operand 0 {}".to_owned());
    program.sequence.push("tuple.1".to_owned());
    for (instruction, name, live) in [
        (&carried, "carry", (body, last)),
        (&result, "while.1", (last, steps)),
    ] {
        for (number, (_, (shape, size, logical))) in arrays.iter().enumerate() {
            of_parameters[number].push(program.values.len());
            let index = format!("{{{number}}}");
            program.add(
                name,
                &index,
                shape,
                (*size, 0),
                (*logical, table.1),
                live,
                instruction,
            );
            let value = program.values.last_mut().expect("the value just added");
            value.is_phi = true;
            if name == "carry" {
                value.positions.push(format!("get-tuple-element.{number}"));
                value.uses.push(format!("add.{number}, operand 0"));
            }
        }
    }
    let tables = program.values.len();
    program.add(
        "carry",
        "{}",
        &tuple,
        (table.0, 0),
        weights,
        (body, last),
        &carried,
    );
    program.add(
        "while.1",
        "{}",
        &tuple,
        (table.0, 0),
        weights,
        (last, steps),
        &result,
    );
    temps.push(tables);
    program.sequence.push("carry".to_owned());
    let mut offset = table.0.next_multiple_of(16_384);
    for (number, (_, (shape, size, logical))) in arrays.iter().enumerate() {
        let name = format!("add.{number}");
        let instruction = format!(
            "%{name} = {shape} add(%get-tuple-element.{number}, %get-tuple-element.{number}), metadata={{op_name=\"jit(train_steps)/while/body/add\" source_file=\"models/train.py\" source_line={}}}",
            10 + number % 50
        );
        program.sequence.push(format!("get-tuple-element.{number}"));
        let step = program.sequence.len() as u64;
        program.sequence.push(name.clone());
        temps.push(program.values.len());
        program.add(
            &name,
            "",
            shape,
            (*size, offset),
            (*logical, *logical),
            (step, last),
            &instruction,
        );
        let value = program.values.last_mut().expect("the value just added");
        value.positions.push(format!("tuple.2 {{{number}}}"));
        offset += size.next_multiple_of(16_384);
    }
    temps.push(program.values.len());
    program.add(
        "tuple.2",
        "{}",
        &tuple,
        (table.0, offset),
        weights,
        (last - 1, last),
        &given,
    );
    program.sequence.push("tuple.2".to_owned());
    program.sequence.push("while.1".to_owned());
    for (number, ((rows, columns), _)) in arrays.iter().enumerate() {
        let header = format!(
            "parameter {number}, shape |f32[{rows},{columns}]| at ShapeIndex {{}}, maybe-live-out"
        );
        program
            .allocations
            .push((header, std::mem::take(&mut of_parameters[number])));
    }
    program.allocations.push((
        format!("output shape is |{bare}|, maybe-live-out"),
        vec![tables + 1],
    ));
    program
        .allocations
        .push(("preallocated-temp".to_owned(), temps));
    program.print()
}

impl Program {
    #[allow(clippy::too_many_arguments)]
    fn add(
        &mut self,
        name: &str,
        index: &str,
        shape: &str,
        (bytes, offset): (u64, u64),
        (logical, weight): (u64, u64),
        live: (u64, u64),
        instruction: &(impl AsRef<str> + ?Sized),
    ) {
        let position = format!("{name} {index}");
        self.values.push(Value {
            name: name.to_owned(),
            index: index.to_owned(),
            shape: shape.into(),
            bytes,
            offset,
            logical,
            weight,
            live,
            is_phi: false,
            positions: vec![position.trim_end().to_owned()],
            uses: Vec::new(),
            instruction: instruction.as_ref().into(),
        });
    }

    /// `<27 while.1{3} (phi) @0>`
    fn reference(&self, at: usize) -> String {
        let value = &self.values[at];
        let phi = if value.is_phi { " (phi)" } else { "" };
        format!("<{at} {}{}{phi} @0>", value.name, value.index)
    }

    /// The step that the compiler takes for the peak.
    fn peak(&self) -> u64 {
        let steps = self.sequence.len();
        let mut changes = vec![0_i64; steps + 3];
        let mut starts = vec![false; steps + 3];
        for value in &self.values {
            let weight = i64::try_from(value.weight).expect("few bytes");
            changes[value.live.0 as usize] += weight;
            starts[value.live.0 as usize] = true;
            // What has just ended still counts.
            changes[value.live.1 as usize + 2] -= weight;
        }
        let (mut sum, mut best) = (0, (0, 0));
        for (step, change) in changes.iter().enumerate() {
            sum += change;
            if starts[step] && sum > best.0 {
                best = (sum, step as u64);
            }
        }
        best.1
    }

    fn print(&self) -> String {
        let mut text = String::from("BufferAssignment:\n");
        let mut total = 0;
        for (number, (attributes, values)) in self.allocations.iter().enumerate() {
            let ends = values
                .iter()
                .map(|&at| self.values[at].offset + self.values[at].bytes);
            let size = ends.max().unwrap_or(0);
            total += size;
            let _ = writeln!(text, "allocation {number}: size {size}, {attributes}:");
            for &at in values {
                let (value, reference) = (&self.values[at], self.reference(at));
                let _ = writeln!(
                    text,
                    " value: {reference} (size={},offset={}): {}",
                    value.bytes, value.offset, value.shape
                );
            }
        }
        let _ = write!(
            text,
            "\nTotal bytes used: {total} ({})\n\nUsed values:\n",
            human(total)
        );
        for (at, value) in self.values.iter().enumerate() {
            let _ = write!(text, "{}\n positions:\n", self.reference(at));
            for position in &value.positions {
                let _ = writeln!(text, "  {position}");
            }
            text += " uses:\n";
            for user in &value.uses {
                let _ = writeln!(text, "  {user}");
            }
            let _ = writeln!(text, " from instruction: {}", value.instruction);
        }
        let _ = write!(
            text,
            "\n\nHloLiveRange (max {}):\n  InstructionSequence:\n",
            self.sequence.len()
        );
        for (step, name) in self.sequence.iter().enumerate() {
            let _ = writeln!(text, "    {step}:{name}");
        }
        text += "  BufferLiveRange:\n";
        let index = |value: &Value| {
            if value.index.is_empty() {
                "{}".to_owned()
            } else {
                value.index.clone()
            }
        };
        for value in &self.values {
            let _ = writeln!(
                text,
                "    {}{}:{}-{}",
                value.name,
                index(value),
                value.live.0,
                value.live.1
            );
        }
        let peak = self.peak();
        let _ = writeln!(text, "  Live ranges at {peak} (peak):");
        let mut alive: Vec<&Value> = self
            .values
            .iter()
            .filter(|value| (value.live.0..=value.live.1).contains(&peak))
            .collect();
        alive.sort_by_key(|value| (std::cmp::Reverse(value.logical), &value.name, index(value)));
        let mut sum = 0;
        for value in alive {
            sum += value.logical;
            let _ = writeln!(
                text,
                "    {}{}: {} bytes (cumulative: {sum} bytes)",
                value.name,
                index(value),
                value.logical
            );
        }
        text
    }
}

/// `36.0KiB`, as the compiler prints bytes for people.
fn human(bytes: u64) -> String {
    let (mut rest, mut unit) = (bytes, 0);
    while rest >= 1024 * 1024 {
        rest /= 1024;
        unit += 1;
    }
    match unit {
        _ if bytes < 1024 => format!("{bytes}B"),
        0 => format!("{:.1}KiB", rest as f64 / 1024.0),
        _ => format!(
            "{:.2}{}iB",
            rest as f64 / 1024.0,
            ["M", "G", "T", "P", "E"][unit - 1]
        ),
    }
}
