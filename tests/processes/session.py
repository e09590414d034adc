"""What is measured of one document in a language server."""

import random
import re
import time

from client import Gone, Server, percentile

PLACES = 1000
EDITS = 20
# Of slow servers fewer places and edits are measured, so many seconds long each.
ENOUGH = 20


class Session:
    """Seconds and bytes; `None`, or an empty list, for what the server does not offer."""

    def __init__(self, text):
        self.bytes = text.bytes
        self.read = self.peak = None
        self.definition = self.hover = self.symbols = self.findings = self.findings_cpu = None
        # Hovers are those that tell something.
        self.hovers, self.definitions, self.references = [], [], []
        self.hover_cpu = self.edit_cpu = None
        self.edit_hovers, self.edit_findings = [], []


def measure(command, text, language, folder, requests=("definition", "hover", "references")):
    """Opens the document, asks about it, edits it; and opens it again for its symbols."""
    found = Session(text)
    chance = random.Random(7)
    spots = [word(text.text, chance) for _ in range(PLACES)]
    with Server(command, folder) as server:
        requests = [request for request in requests if server.offers(request)]
        cpu = server.cpu()
        opened = server.open(text, language)
        for request in ("definition", "hover"):
            if request in requests:
                setattr(found, request, server.at(text, first(text.text), request).when - opened)
        found.findings = server.published(text)[0] - opened
        found.findings_cpu = server.cpu() - cpu
        found.read = server.memory("VmHWM")
        if "hover" in requests:
            cpu = server.cpu()
            answers = timed(lambda spot: server.at(text, spot, "hover"), spots)
            found.hover_cpu = (server.cpu() - cpu) / len(answers)
            # Some servers have a hover that says nothing about nearly everything.
            found.hovers = [answer.seconds for answer in answers if answer.result]
        if "definition" in requests:
            found.definitions = timed(lambda spot: server.at(text, spot, "definition").seconds, spots)
        if "references" in requests:
            found.references = timed(lambda spot: server.at(text, spot, "references").seconds, spots[:100])
        cpu, at = server.cpu(), middle(text.text)

        def edit(number):
            """A digit is typed, and taken back, in turn."""
            old, new = ("1", "") if number % 2 else ("", "1")
            changed = server.change(text, at, old, new)
            if "hover" in requests:
                found.edit_hovers.append(server.at(text, at, "hover").when - changed)
            return server.published(text)[0] - changed

        found.edit_findings = timed(edit, range(EDITS))
        found.edit_cpu = (server.cpu() - cpu) / len(found.edit_findings)
        found.peak = server.memory("VmHWM")
        if len(found.edit_findings) % 2:
            edit(1)
    with Server(command, folder) as server:
        if server.offers("documentSymbol"):
            opened = server.open(text, language)
            # Some servers take minutes; what else they do is worth telling all the same.
            try:
                found.symbols = server.symbols(text).when - opened
            except Gone as gone:
                print(f"{command[0]}: {gone}\n", flush=True)
            found.peak = max(found.peak, server.memory("VmHWM"))
    return found


def timed(step, over):
    """What each step tells, as long as there is time; one at least."""
    begun, told = time.perf_counter(), []
    for it in over:
        told.append(step(it))
        if time.perf_counter() - begun > ENOUGH:
            break
    return told


def word(text, chance):
    """A random place in the text, on a word."""
    while True:
        found = re.compile(r"\w").search(text, chance.randrange(len(text)))
        if found:
            return found.start()


def middle(text):
    """The first digit behind the middle of the text."""
    found = re.compile(r"\d").search(text, len(text) // 2)
    return found.start() if found else len(text) // 2


def first(text):
    """The name of a value behind the middle of a dump; in other languages a word there."""
    found = re.compile(r"<\d+ (\w)").search(text, len(text) // 2)
    return found.start(1) if found else word(text, random.Random(len(text)))


def milliseconds(times):
    """Median, p99 and maximum."""
    if not times:
        return "-"
    return " / ".join(f"{percentile(times, part) * 1e3:.2f}" for part in (0.5, 0.99, 1.0))
