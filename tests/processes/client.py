"""A client of language servers that measures, and what the system tells of processes (Linux)."""

import json
import os
import queue
import subprocess
import sys
import threading
import time
from bisect import bisect_right
from pathlib import Path
from urllib.parse import unquote

# Seconds that an answer may take.
TIMEOUT = 240
TICK = os.sysconf("SC_CLK_TCK")


class Gone(Exception):
    """The server has ended, or does not answer in time."""


class Text:
    """A document's text, with the positions of its offsets, in UTF-16 as every server knows them."""

    def __init__(self, path):
        self.path = Path(path).resolve()
        self.uri = self.path.as_uri()
        self.text = self.path.read_text(encoding="utf-8")
        self.bytes = self.path.stat().st_size
        self.starts = [0]
        at = self.text.find("\n")
        while at >= 0:
            self.starts.append(at + 1)
            at = self.text.find("\n", at + 1)

    def position(self, offset):
        line = bisect_right(self.starts, offset) - 1
        before = self.text[self.starts[line] : offset]
        column = len(before) if before.isascii() else len(before.encode("utf-16-le")) // 2
        return {"line": line, "character": column}


class Server:
    """A language server as a process, with one document."""

    def __init__(self, command, folder):
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, cwd=folder
        )
        self.lock = threading.Lock()
        self.answers = {}
        self.findings = queue.Queue()
        self.last = 0
        threading.Thread(target=self.read, daemon=True).start()
        root = Path(folder).resolve().as_uri()
        capabilities = {
            "textDocument": {
                "hover": {"contentFormat": ["markdown", "plaintext"]},
                "documentSymbol": {"hierarchicalDocumentSymbolSupport": True},
                "publishDiagnostics": {"versionSupport": True},
            },
            "workspace": {"configuration": True, "workspaceFolders": True},
        }
        answer = self.ask(
            "initialize",
            {
                "processId": os.getpid(),
                "rootUri": root,
                "workspaceFolders": [{"uri": root, "name": "bench"}],
                "capabilities": capabilities,
            },
        )
        self.capabilities = answer.result["capabilities"]
        sync = self.capabilities.get("textDocumentSync")
        self.is_incremental = (sync if isinstance(sync, int) else (sync or {}).get("change")) == 2
        self.tell("initialized", {})

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()

    # Messages.

    def read(self):
        stream = self.process.stdout
        while True:
            length = None
            while (line := stream.readline()).strip():
                name, _, value = line.partition(b":")
                if name.lower() == b"content-length":
                    length = int(value)
            body = stream.read(length) if length is not None else b""
            now = time.perf_counter()
            if not body:
                break
            message = json.loads(body)
            method = message.get("method")
            if method is None:
                if waiting := self.answers.pop(message.get("id"), None):
                    waiting.put((now, len(body), message))
            elif "id" in message:
                self.send({"jsonrpc": "2.0", "id": message["id"], "result": self.reply(method, message["params"])})
            elif method == "textDocument/publishDiagnostics":
                self.findings.put((now, message["params"]))
        self.findings.put(None)
        for waiting in list(self.answers.values()):
            waiting.put(None)

    def reply(self, method, params):
        if method == "workspace/configuration":
            return [None for _ in params["items"]]
        return None

    def send(self, message):
        """Sends a message, and tells when its last byte was written."""
        body = json.dumps(message, ensure_ascii=False).encode()
        with self.lock:
            try:
                self.process.stdin.write(b"Content-Length: %d\r\n\r\n" % len(body))
                self.process.stdin.write(body)
                self.process.stdin.flush()
            except OSError as error:
                raise Gone("the server has ended") from error
        return time.perf_counter()

    def tell(self, method, params):
        return self.send({"jsonrpc": "2.0", "method": method, "params": params})

    def ask(self, method, params):
        """Asks, and waits for the answer."""
        self.last += 1
        waiting = self.answers[self.last] = queue.Queue()
        start = time.perf_counter()
        self.send({"jsonrpc": "2.0", "id": self.last, "method": method, "params": params})
        try:
            answer = waiting.get(timeout=TIMEOUT)
        except queue.Empty:
            raise Gone(f"no answer to {method} within {TIMEOUT} s") from None
        if answer is None:
            raise Gone(f"the server has ended at {method}")
        return Answer(start, *answer)

    # Documents.

    def offers(self, request):
        """Whether `hover` and the like will be answered."""
        return bool(self.capabilities.get(f"{request}Provider"))

    def open(self, text, language):
        """Opens a document, and tells when its last byte was written."""
        self.version = 1
        document = {"uri": text.uri, "languageId": language, "version": 1, "text": text.text}
        return self.tell("textDocument/didOpen", {"textDocument": document})

    def at(self, text, offset, request):
        place = {"textDocument": {"uri": text.uri}, "position": text.position(offset)}
        if request == "references":
            place["context"] = {"includeDeclaration": True}
        return self.ask(f"textDocument/{request}", place)

    def symbols(self, text):
        return self.ask("textDocument/documentSymbol", {"textDocument": {"uri": text.uri}})

    def published(self, text):
        """Waits for the findings of the document as it is now, and tells when they came."""
        end = time.perf_counter() + TIMEOUT
        while (rest := end - time.perf_counter()) > 0:
            try:
                found = self.findings.get(timeout=rest)
            except queue.Empty:
                break
            if found is None:
                raise Gone("the server has ended")
            when, params = found
            # Some servers do not tell the version.
            if same(params["uri"], text.uri) and params.get("version") in (None, self.version):
                return when, params["diagnostics"]
        raise Gone(f"no findings within {TIMEOUT} s")

    def change(self, text, offset, old, new):
        """Replaces `old` at `offset` of the document by `new`, and tells when that was written."""
        self.version += 1
        start, end = text.position(offset), text.position(offset + len(old))
        text.text = text.text[:offset] + new + text.text[offset + len(old) :]
        change = {"range": {"start": start, "end": end}, "text": new}
        if not self.is_incremental:
            change = {"text": text.text}
        document = {"uri": text.uri, "version": self.version}
        return self.tell("textDocument/didChange", {"textDocument": document, "contentChanges": [change]})

    # The process.

    def cpu(self):
        """Seconds of processor time, of all threads, those that have ended too."""
        stat = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(stat[11]) + int(stat[12])) / TICK

    def memory(self, which):
        """Bytes: `VmRSS` now, `VmHWM` at the highest."""
        for line in Path(f"/proc/{self.process.pid}/status").read_text().splitlines():
            name, _, value = line.partition(":")
            if name == which:
                return int(value.split()[0]) * 1024
        return 0


class Answer:
    """An answer, and how long it took from before it was asked."""

    def __init__(self, start, when, length, message):
        self.when = when
        self.seconds = when - start
        self.bytes = length
        self.result = message.get("result")


def same(one, other):
    """Whether two URIs are the same: servers quote characters differently."""
    return unquote(one) == unquote(other)


# Runs what is behind it, with its output on /dev/null.
LAUNCHER = """
import os, sys, time
quiet = [(os.POSIX_SPAWN_OPEN, number, os.devnull, os.O_WRONLY, 0) for number in (1, 2)]
start = time.perf_counter()
process = os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ, file_actions=quiet)
_, status, usage = os.wait4(process, 0)
seconds = time.perf_counter() - start
print(seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024, os.waitstatus_to_exitcode(status))
"""


def run(command):
    """Runs a command to its end: seconds, seconds of processor time, bytes of memory at the highest, exit code."""
    # Linux counts the memory of who starts a process as its own. That of a bare interpreter is less than that of a server.
    launcher = [sys.executable, "-I", "-S", "-c", LAUNCHER, *map(str, command)]
    told = subprocess.run(launcher, stdout=subprocess.PIPE, text=True, check=True).stdout.split()
    return float(told[0]), float(told[1]), int(told[2]), int(told[3])


def percentile(values, part):
    values = sorted(values)
    return values[min(len(values) - 1, int(len(values) * part))]


def table(heading, rows):
    """A table in Markdown."""
    print("| " + " | ".join(heading) + " |")
    print("|" + "---|" * len(heading))
    for row in rows:
        print("| " + " | ".join(row) + " |")
    print(flush=True)
