//! Texts that no compiler writes.

/// Texts that are too much of something.
pub fn extremes() -> Vec<(&'static str, String)> {
    let header =
        "BufferAssignment:\nallocation 0: size 4, output shape is |f32[]|, maybe-live-out:\n";
    let value = " value: <1 x.1 @0> (size=4,offset=0): f32[]\n";
    let instruction = |text: &str| {
        format!(
            "{header}{value}\nTotal bytes used: 4 (4B)\n\nUsed values:\n<1 x.1 @0>\n positions:\n  x.1\n uses:\n from instruction: {text}\n"
        )
    };
    let deep =
        |open: &str, close: &str| format!("{}{}", open.repeat(100_000), close.repeat(100_000));
    vec![
        ("repeated-ids", format!("{header}{}", value.repeat(100_000))),
        (
            "long-line",
            instruction(&format!("%x.1 = f32[] add(%{})", "y".repeat(10_000_000))),
        ),
        (
            "many-operands",
            instruction(&format!(
                "%x.1 = f32[] add({})",
                "%yy.12345, ".repeat(500_000)
            )),
        ),
        (
            "deep-shape",
            instruction(&format!("%x.1 = {} tuple()", deep("(", ")"))),
        ),
        (
            "deep-open-shape",
            instruction(&format!("%x.1 = {} tuple()", "(".repeat(100_000))),
        ),
        (
            "deep-operands",
            instruction(&format!("%x.1 = f32[] add{}", deep("(", ")"))),
        ),
        (
            "deep-attribute",
            instruction(&format!("%x.1 = f32[] add(), a={}", deep("{[(", ")]}"))),
        ),
        (
            "many-attributes",
            instruction(&format!("%x.1 = f32[] add(){}", attributes(100_000))),
        ),
        (
            "many-entries-of-metadata",
            instruction(&format!(
                "%x.1 = f32[] add(), metadata={{{}}}",
                "op_name=\"x\" source_file=\"a\" ".repeat(20_000)
            )),
        ),
        ("many-headings", "BufferAssignment:\n".repeat(100_000)),
        (
            "many-headings-of-two-kinds",
            ["  BufferLiveRange:\n", "HloLiveRange (max 1):\n"]
                .map(|line| line.repeat(100_000))
                .concat(),
        ),
        (
            "errors-behind-many-headings",
            ["BufferAssignment:\n", "allocation x\n"]
                .map(|line| line.repeat(50_000))
                .concat(),
        ),
        (
            "values-below-many-headings",
            format!(
                "{}{header}{}",
                "BufferAssignment:\n".repeat(10_000),
                value.repeat(50_000)
            ),
        ),
        ("long-shapes-that-differ", shapes_that_differ(20_000, 1_000)),
        (
            "deep-value-shape",
            format!(
                "{header} value: <1 x.1 @0> (size=4,offset=0): {}\n",
                deep("(", ")")
            ),
        ),
        (
            "long-number",
            format!(
                "{header} value: <1 x.1 @0> (size={},offset=0): f32[]\n",
                "9".repeat(1_000_000)
            ),
        ),
        (
            "huge-shape",
            format!(
                "{header} value: <1 x.1 @0> (size=4,offset=0): f32[{}]{{0}}\n",
                ["4294967296"; 64].join(",")
            ),
        ),
        (
            "huge-numbers",
            format!(
                "{header} value: <1 x.1 @0> (size=18446744073709551615,offset=18446744073709551615): f32[]\n"
            ),
        ),
        (
            "deep-tree",
            format!(
                "HloLiveRange (max 1):\n  Stack trace breakdown for peak usage: 1 bytes\n      {}├── x (1.0%, total: 1 bytes, current: 1 bytes, remaining: 0 bytes)\n",
                "│   ".repeat(100_000)
            ),
        ),
        (
            "deep-op-name-at-the-peak",
            at_the_peak(1, &"a/".repeat(1_000_000)),
        ),
        ("many-at-the-peak", at_the_peak(5_000, "jit(f)/{}/sin")),
        ("zeros", "\0".repeat(1_000_000)),
        ("line-ends", "\n".repeat(1_000_000)),
        (
            "open-string",
            instruction(&format!(
                "%x.1 = f32[] add(), metadata={{op_name=\"{}",
                "\\".repeat(1_000_001)
            )),
        ),
        (
            "quotes-in-an-open-string",
            instruction(&format!(
                "%x.1 = f32[] add(), metadata={{op_name=\"{}",
                "\\\"".repeat(100_000)
            )),
        ),
    ]
}

/// A dump with all sections, of so many values that are all alive at once, each in a memory space of its own, of these
/// `op_name`s: `{}` in them is the number of the value.
fn at_the_peak(count: usize, op_name: &str) -> String {
    let each = |line: &dyn Fn(usize) -> String| (0..count).map(line).collect::<String>();
    let allocations = each(&|at| {
        format!(
            "allocation {at}: size 4, color {at}, preallocated-temp:\n value: <{at} x.{at} @{at}> (size=4,offset=0): f32[]{{:S({at})}}\n"
        )
    });
    let used = each(&|at| {
        let op_name = op_name.replace("{}", &at.to_string());
        format!(
            "<{at} x.{at} @{at}>\n positions:\n  x.{at}\n uses:\n from instruction: %x.{at} = f32[]{{:S({at})}} sine(%p), metadata={{op_name=\"{op_name}\"}}\n"
        )
    });
    let steps = each(&|at| format!("    {at}:x.{at}\n"));
    let ranges = each(&|at| format!("    x.{at}{{}}:{at}-{count}\n"));
    let total = 4 * count;
    format!(
        "BufferAssignment:\n{allocations}\nTotal bytes used: {total} ({total}B)\n\nUsed values:\n{used}\nHloLiveRange (max {count}):\n  InstructionSequence:\n{steps}  BufferLiveRange:\n{ranges}"
    )
}

/// The text of a program in which each of so many instructions has not the shape that follows, of so many dimensions.
fn shapes_that_differ(dimensions: usize, instructions: usize) -> String {
    let shape = |size: &str| format!("f32[{}]", vec![size; dimensions].join(","));
    let (given, operand) = (shape("1"), shape("2"));
    let adds = (0..instructions).map(|at| format!("  %y.{at} = {given} add(%x, %x)\n"));
    format!(
        "HloModule m\n\nENTRY %main {{\n  %x = {operand} parameter(0)\n{}  ROOT %z = f32[] constant(0)\n}}\n",
        adds.take(instructions).collect::<String>()
    )
}

/// So many attributes, of which each stands twice.
fn attributes(count: usize) -> String {
    let names = (0..count / 2).flat_map(|at| [at, at]);
    names.fold(String::new(), |text, at| {
        text + ", a" + &at.to_string() + "=1"
    })
}
