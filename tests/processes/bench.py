#!/usr/bin/env python3
"""Measures Buflens as processes: the language server and the command line, on whole dumps.

    tests/processes/bench.py [FOLDER...]            each folder holds the files of one dump
    tests/processes/bench.py --beside [FOLDER...]   beside other language servers

Without folders made-up dumps of 1, 10 and 98 MB are measured (beside others: of 10 MB). Prints tables in
Markdown, and builds what it measures. Needs Cargo, Linux and Python 3.9, nothing else. What was
measured is written in docs/performance.md.
"""

import argparse
import itertools
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import others
from client import Gone, Server, Text, percentile, run, table
from session import first, measure, milliseconds

ROOT = Path(__file__).resolve().parents[2]
BUFLENS = str(ROOT / "target/release/buflens")
LANGUAGE = "xla-buffer-assignment"
# A larger file is left to the server to read from disk, as editors refuse it.
OPENED = 512 << 20
# So many megabytes are too few for targets of throughput and memory: the process itself counts.
SMALL = 5


class Dump:
    """The files of a dump in a folder of its own, and what is expected of it."""

    def __init__(self, folder):
        self.folder = Path(folder).resolve()
        files = sorted(self.folder.glob("*.txt"), key=lambda file: file.stat().st_size)
        if not files:
            sys.exit(f"{folder}: found no *.txt, expected the files of one dump")
        self.files = files
        self.bytes = sum(file.stat().st_size for file in files)
        self.megabytes = self.bytes / 1e6
        self.has_values_aside = files[-1].stat().st_size > OPENED
        small = [file for file in files if file.stat().st_size <= OPENED]
        assignments = [file for file in small if file.name.endswith("-buffer-assignment.txt")]
        self.opened = assignments[0] if self.has_values_aside else small[-1]
        with open(files[-1], "rb") as file:
            file.seek(files[-1].stat().st_size // 2)
            middle = file.read(1 << 20)
            file.seek(max(0, files[-1].stat().st_size - 4096))
            end = file.read()
        huge = sum(len(line) for line in middle.split(b"\n") if len(line) >= 1000)
        self.has_huge_lines = huge * 2 > len(middle)
        self.has_only_allocations = b"\n value: <" in end
        self.name = f"{self.folder.name}, {self.megabytes:.1f} MB"
        self.line_ends = float(bench("line-ends", *files))


def bench(*arguments):
    """What the benchmark of the analysis prints."""
    command = ["cargo", "bench", "--quiet", "--bench", "analysis", "--", *map(str, arguments)]
    return subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True).stdout


def made(folder, sizes):
    """Made-up dumps, of both kinds in each size, and of one the allocations alone."""
    for size in sizes:
        place = Path(folder, "made")
        place.mkdir()
        bench("make", size, place)
        for file in place.iterdir():
            own = Path(folder, f"made up, {'short' if 'dense' in file.name else 'huge'} lines {size}")
            own.mkdir()
            file.rename(own / file.name)
            yield Dump(own)
        place.rmdir()
    own = Path(folder, "made up, allocations alone")
    own.mkdir()
    whole = next(Path(folder, f"made up, short lines {sizes[-1]}").iterdir())
    with open(whole) as lines, open(own / whole.name, "w") as allocations:
        allocations.writelines(itertools.takewhile(lambda line: not line.startswith("Used values:"), lines))
    yield Dump(own)


def judged(value, limit, unit="", digits=2):
    """A number with its target, in bold if it misses that."""
    text = f"{value:.{digits}f}{unit}"
    if limit is None:
        return text
    return f"{f'**{text}**' if value > limit else text} (≤ {limit:g})"


def command_line(dumps):
    rows = []
    for dump in dumps:
        for command in ("check", "summary", "peak"):
            runs = [run([BUFLENS, command, str(dump.opened)]) for _ in range(1 if dump.has_values_aside else 3)]
            seconds, cpu, memory, code = sorted(runs, key=lambda it: it[1])[len(runs) // 2]
            if code not in (0, 1):
                sys.exit(f"buflens {command} {dump.opened} ended with {code}, expected 0 or 1")
            times, part = None, None
            if command == "check" and dump.megabytes > SMALL:
                times = 25 if dump.has_huge_lines else 60
                part = 1.6
            if dump.has_values_aside and command != "peak":
                part = 0.5
            rows.append(
                [
                    dump.name,
                    f"`{command}`",
                    f"{seconds:.2f} s",
                    f"{cpu:.2f} s",
                    judged(cpu / dump.line_ends, times, digits=0),
                    f"{memory / 1e6:.0f} MB",
                    judged(memory / dump.bytes, part),
                ]
            )
    print("Command line\n")
    table(["dump", "command", "time", "CPU", "CPU by line ends", "peak memory", "by text"], rows)


def server(dumps):
    opening, asking, editing, memory = [], [], [], []
    for dump in dumps:
        text = Text(dump.opened)
        found = measure([BUFLENS, "lsp"], text, LANGUAGE, dump.folder)
        is_large = dump.megabytes > 90
        opening.append(
            [
                dump.name,
                judged(found.definition, 0.6 if is_large else None, " s"),
                f"{found.hover:.2f} s",
                f"{found.symbols:.2f} s",
                judged(found.findings, 1.0 if is_large else None, " s"),
                f"{found.findings_cpu:.2f} s",
            ]
        )
        asking.append(
            [
                dump.name,
                milliseconds(found.hovers),
                judged(percentile(found.hovers, 0.99) * 1e3, 1),
                f"{found.hover_cpu * 1e3:.2f}",
                milliseconds(found.definitions),
                judged(percentile(found.definitions, 0.99) * 1e3, 1),
                milliseconds(found.references),
                judged(max(found.references) * 1e3, 50),
            ]
        )
        limit = 20 if dump.megabytes < 15 else 60 if dump.has_huge_lines else 150 if not is_large else None
        editing.append(
            [
                dump.name,
                milliseconds(found.edit_hovers),
                milliseconds(found.edit_findings),
                judged(percentile(found.edit_findings, 0.5) * 1e3, limit, digits=0),
                f"{found.edit_cpu * 1e3:.0f}",
            ]
        )
        part = 4 if dump.has_only_allocations else 2.5 if dump.megabytes > 35 else 3
        memory.append(
            [
                dump.name,
                f"{found.read / found.bytes:.2f}",
                f"{found.peak / 1e6:.0f} MB",
                judged(found.peak / found.bytes, part if dump.megabytes > SMALL else None),
            ]
        )
    print("Server: from the last byte of `didOpen` to the first answer; symbols in a process of their own\n")
    table(["dump", "definition", "hover", "symbols", "findings", "CPU to findings"], opening)
    print("Server: requests at random words, ms, median / p99 / max\n")
    table(
        ["dump", "hover", "its p99", "CPU", "definition", "its p99", "references", "their max"],
        asking,
    )
    print("Server: a character typed in the middle, ms, median / p99 / max\n")
    table(["dump", "fresh hover", "fresh findings", "their median", "CPU"], editing)
    print(f"Server: memory at the highest; {idle() / 1e6:.0f} MB with nothing to do\n")
    table(["dump", "until findings, by the text opened", "peak", "by the text opened"], memory)


def idle():
    """Bytes of a server that has nothing open and no dumps around."""
    with tempfile.TemporaryDirectory() as folder, Server([BUFLENS, "lsp"], folder) as process:
        time.sleep(1)
        return process.memory("VmRSS")


def values_aside(dump):
    """A small assignment is opened, beside it a values file that is too large for editors."""
    text = Text(dump.opened)
    with Server([BUFLENS, "lsp"], dump.folder) as process:
        opened = process.open(text, LANGUAGE)
        hover = process.at(text, first(text.text), "hover").when - opened
        while True:
            answer = process.at(text, first(text.text), "definition")
            found = answer.result if isinstance(answer.result, list) else [answer.result or {}]
            targets = [it.get("targetUri") or it.get("uri", "") for it in found]
            if any("buffer-assignment-values" in target for target in targets):
                break
            if answer.when - opened > 300:
                raise Gone("no definition in the values file within 300 s")
            time.sleep(0.05)
        memory = process.memory("VmHWM")
    row = [
        dump.name,
        f"{text.bytes / 1e6:.1f} MB",
        judged(hover, 0.5, " s"),
        f"{answer.when - opened:.1f} s",
        f"{memory / 1e6:.0f} MB",
        f"{memory / dump.bytes:.2f}",
    ]
    print("Server: a small assignment with a large values file beside it\n")
    table(["dump", "opened", "hover", "definition in the values", "peak memory", "by all text"], [row])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="*", metavar="FOLDER", type=Path, help="the files of one dump")
    parser.add_argument("--beside", action="store_true", help="measure other language servers, too")
    given = parser.parse_args()
    # Builds the program, too.
    subprocess.run(["cargo", "bench", "--quiet", "--no-run", "--bench", "analysis"], cwd=ROOT, check=True)
    with tempfile.TemporaryDirectory() as folder:
        if given.beside:
            dumps = list(made(folder, [10]))[:2] + [Dump(it) for it in given.folders]
        else:
            dumps = [Dump(it) for it in given.folders] or list(made(folder, [1, 10, 98]))
        print(f"Load of the machine: {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors\n", flush=True)
        if given.beside:
            others.beside([BUFLENS, "lsp"], LANGUAGE, dumps, folder)
            return
        # First, while this process is small: a new process counts the memory of the one that starts it.
        command_line(dumps)
        whole = [dump for dump in dumps if not dump.has_values_aside]
        if whole:
            server(whole)
        for dump in dumps:
            if dump.has_values_aside:
                values_aside(dump)


if __name__ == "__main__":
    main()
