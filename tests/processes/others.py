"""Buflens beside other language servers, each with 10 MB of its own language."""

import shutil
from pathlib import Path

from client import Gone, Text, percentile, table
from session import measure

BYTES = 10_000_000


def c(number):
    return f"""/* Keeps the running statistics of channel {number}. */
struct channel_{number} {{
    double sum;
    double samples[{16 + number % 48}];
    unsigned count;
    const char *name;
}};

static int channel_{number}_push(struct channel_{number} *channel, double sample) {{
    if (channel == 0 || channel->count >= {16 + number % 48}) {{
        return -{1 + number % 5};
    }}
    channel->samples[channel->count++] = sample;
    channel->sum += sample * {1 + number % 9}.5;
    return 0;
}}

double channel_{number}_mean(const struct channel_{number} *channel) {{
    double total = 0.0;
    for (unsigned i = 0; i < channel->count; ++i) {{
        total += channel->samples[i];
    }}
    return channel->count == 0 ? 0.0 : total / channel->count;
}}

int channel_{number}_fill(struct channel_{number} *channel) {{
    for (int i = 0; i < {4 + number % 12}; ++i) {{
        int failed = channel_{number}_push(channel, i * 0.25 + {number % 100});
        if (failed != 0) {{
            return failed;
        }}
    }}
    return 0;
}}

"""


def mlir(number):
    rows, columns = 8 * (1 + number % 16), 128 * (1 + number % 4)
    tensor = f"tensor<{rows}x{columns}xf32>"
    return f"""func.func @layer_{number}(%input: {tensor}, %weight: {tensor}, %scale: f32) -> {tensor} {{
  %zero = arith.constant 0.000000e+00 : f32
  %half = arith.constant 5.000000e-01 : f32
  %empty = tensor.empty() : {tensor}
  %0 = arith.mulf %input, %weight : {tensor}
  %1 = arith.addf %0, %input : {tensor}
  %2 = tensor.splat %scale : {tensor}
  %3 = arith.mulf %1, %2 : {tensor}
  %4 = arith.maximumf %3, %0 : {tensor}
  %5 = arith.subf %4, %1 {{layer = {number} : i64}} : {tensor}
  %6 = linalg.fill ins(%half : f32) outs(%empty : {tensor}) -> {tensor}
  %7 = arith.divf %5, %6 : {tensor}
  return %7 : {tensor}
}}

"""


def python(number):
    return f'''class Layer{number}(Base):
    """A dense layer of {8 * (1 + number % 64)} units."""

    units = {8 * (1 + number % 64)}
    rate = 0.{1 + number % 9}

    def __init__(self, name, inputs=None):
        super().__init__(name)
        self.inputs = inputs or []
        self.weights = [[0.0] * self.units for _ in range({4 + number % 12})]

    def forward(self, batch):
        outputs = []
        for row in batch:
            total = sum(left * right for left, right in zip(row, self.weights[0]))
            outputs.append(max(total, 0.0) * self.rate)
        return outputs

    def describe(self):
        return f"{{self.name}}: {{self.units}} units, {{len(self.inputs)}} inputs"


def make_layer_{number}(inputs):
    layer = Layer{number}("layer_{number}", inputs)
    if len(inputs) > {number % 30}:
        raise ValueError(f"too many inputs: {{len(inputs)}}")
    return layer


'''


def json(number):
    return f"""  {{
    "id": {number},
    "name": "layer_{number}/dense",
    "shape": [{8 * (1 + number % 64)}, {128 * (1 + number % 4)}],
    "dtype": "float32",
    "trainable": {"true" if number % 3 else "false"},
    "optimizer": {{ "kind": "adam", "rate": 0.00{1 + number % 9}, "betas": [0.9, 0.999] }},
    "tags": ["encoder", "block_{number // 8}"]
  }}"""


# Language, name of the file, what a document begins with, its items, what is between them and at its end, and the commands
# of its server.
LANGUAGES = [
    ("c", "bench.c", "#include <stddef.h>\n\n", c, "", "", ["clangd"]),
    ("mlir", "bench.mlir", "", mlir, "", "", ["mlir-lsp-server"]),
    (
        "python",
        "bench.py",
        "class Base:\n    def __init__(self, name):\n        self.name = name\n\n\n",
        python,
        "",
        "",
        ["ruff", "server"],
    ),
    ("json", "bench.json", "[\n", json, ",\n", "\n]\n", ["vscode-json-language-server", "--stdio"]),
]


def document(before, item, between, behind):
    parts, size, number = [before], len(before), 0
    while size < BYTES:
        part = (between if number else "") + item(number)
        parts.append(part)
        size += len(part)
        number += 1
    return "".join([*parts, behind])


def program(name):
    """Where it is: among the commands, or in a folder of LLVM, whose packages have a number behind each name."""
    installed = sorted(Path("/usr/lib").glob(f"llvm-*/bin/{name}"))
    return shutil.which(name) or (str(installed[-1]) if installed else None)


def numbers(found):
    """MB/s to findings and symbols, seconds from edit to findings, p99 of hovers in ms, memory by text."""
    speed = found.bytes / 1e6
    return [
        speed / found.findings,
        speed / found.symbols if found.symbols else None,
        percentile(found.edit_findings, 0.5),
        percentile(found.hovers, 0.99) * 1e3 if found.hovers else None,
        found.peak / found.bytes,
    ]


def beside(command, language, dumps, folder):
    """Measures all that are installed, and prints them with the ratios to the best."""
    rivals, own = [], []
    for identifier, name, before, item, between, behind, rival in LANGUAGES:
        path = program(rival[0])
        if path is None:
            print(f"{rival[0]} is not installed, and left out\n")
            continue
        place = Path(folder, identifier)
        place.mkdir()
        file = place / name
        file.write_text(document(before, item, between, behind))
        try:
            found = measure([path, *rival[1:]], Text(file), identifier, place, ("hover",))
        except Gone as gone:
            print(f"{rival[0]}: {gone}\n")
            continue
        rivals.append((f"{rival[0]}, {identifier}", numbers(found)))
    for dump in dumps:
        found = measure(command, Text(dump.opened), language, dump.folder, ("hover",))
        own.append((f"Buflens, {dump.name}", numbers(found)))
    heading = ["", "open to findings", "open to symbols", "edit to findings", "hover p99", "peak memory by text"]
    digits = [(1, " MB/s"), (1, " MB/s"), (3, " s"), (2, " ms"), (2, "")]

    def cells(values):
        pairs = zip(values, digits)
        return ["-" if value is None else f"{value:.{digit}f}{unit}" for value, (digit, unit) in pairs]

    table(heading, [[name, *cells(values)] for name, values in rivals + own])
    if not rivals:
        return
    best = []
    for column in range(len(digits)):
        known = [values[column] for _, values in rivals if values[column] is not None]
        best.append((max if column < 2 else min)(known) if known else None)
    # So many times better than the best of the others; of latency and memory, too, more is better.
    targets = [10, 10, 20, 1, 6]
    rows = []
    for name, values in own:
        row = [name]
        for column, (value, other, target) in enumerate(zip(values, best, targets)):
            if value is None or other is None:
                row.append("-")
                continue
            times = value / other if column < 2 else other / value
            text = f"{times:.1f}" if times >= target else f"**{times:.1f}**"
            row.append(f"{text} (≥ {target})")
        rows.append(row)
    print("How many times better than the best of the others\n")
    table(heading, rows)
