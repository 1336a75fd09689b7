"""Commands in a hostile folder under `strace`, and what they did outside of it.

This file is also the script that runs the commands: it imports crx once and forks for each. A call
that is traced says which command comes next, so that what follows is that command's.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import resource
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

CPU_S = 60
# Most commands end within a second. One that takes no time of the processor and does not end hangs.
WALL_S = 90
STOP_AFTER_S = 2.0
OLLAMA = 'htons(11434), sin_addr=inet_addr("127.0.0.1")'
MARKER = "/no-such-folder/command-"

USEARCH = ("--set", "ann=usearch", "--set", "ann_above=0")
# Where "crx models pull" is told to look; nothing listens there.
NOWHERE = "http://127.0.0.1:1"

# With stdin closed, "mcp" ends by itself; those that serve or watch are stopped.
COMMANDS: tuple[tuple[str, ...], ...] = (
    ("search", "whales"),
    ("status", "--skipped"),
    ("search", "krill", "--leg", "bm25", "--format", "vimgrep"),
    ("search", "krill", "--explain"),
    ("search", "--regex", "kr.ll"),
    ("search", "--literal", "krill", "--files-only"),
    ("search", "whales", "--by", "file"),
    ("show", "docs/whales.md"),
    ("show", "docs/whales.md", "--contexts"),
    ("prompt", "what do whales eat"),
    ("ask", "what do whales eat"),
    ("plan", "docs"),
    ("doctor",),
    ("config",),
    ("verify", "--deep"),
    ("index",),
    ("list",),
    ("search", "-g", "krill"),
    ("index", "docs"),
    ("index", "--words"),
    ("embed",),
    ("index", *USEARCH),
    ("search", "krill", *USEARCH),
    ("index", "--rehash"),
    ("contextualize", "--with", "fake:"),
    ("export", "exported.jsonl"),
    ("import", "exported.jsonl"),
    ("rebuild",),
    ("gc",),
    ("gc", "--contexts"),
    ("remove", "docs/bread.md"),
    ("backup", "b.crx"),
    ("salvage", "s.crx"),
    ("copy", ".crx", "c.crx", "-q"),
    ("search", "krill", "--index", "c.crx"),
    ("index", "--index", "b.crx"),
    ("config", "set", "k", "5", "--project"),
    ("config", "unset", "k", "--project"),
    ("eval", "init", "--out", "set", "--with", "fake:", "-n", "2"),
    ("eval", "set", "--embedder", "hashed"),
    ("mcp", "install", "claude", "--merge"),
    ("mcp", "install", "zed", "--merge"),
    ("mcp",),
    ("watch",),
    ("serve", "--port", "0"),
    ("bundle", "verify", "."),
    ("models",),
    ("models", "pull", "e5"),
    ("models", "pull", "hf:someone/model"),
    ("trust", "--revoke"),
    ("init", "--embedder", "hashed"),
)
_STOPPED = ("watch", "serve")
# What the commands, and this script, may write to.
_WRITABLE = ("work", "home", "tmp", "logs", "ended.json")

_CALLS = (
    "open,openat,openat2,creat,truncate,rename,renameat,renameat2,unlink,unlinkat,rmdir,mkdir,mkdirat,"
    "link,linkat,symlink,symlinkat,chmod,fchmodat,utimensat,mknod,mknodat,connect,sendto,access"
)


@dataclass(frozen=True, slots=True, order=True)
class Violation:
    """What a command in a hostile folder did outside of it."""

    kind: str
    command: str
    what: str


@dataclass(slots=True)
class Listener:
    """A server on 127.0.0.1 that notes each connection and answers with an error."""

    seen: list[bytes] = field(default_factory=list)
    url: str = ""


@contextlib.contextmanager
def listening() -> Iterator[Listener]:
    """Listen on a free port."""
    listener = Listener()
    server = socket.create_server(("127.0.0.1", 0))
    listener.url = f"http://127.0.0.1:{server.getsockname()[1]}"

    def serve() -> None:
        while True:
            try:
                connection, _ = server.accept()
            except OSError:
                return
            with connection, contextlib.suppress(OSError):
                connection.settimeout(1.0)
                listener.seen.append(connection.recv(4096))
                connection.sendall(b"HTTP/1.1 400 No\r\nContent-Length: 0\r\n\r\n")

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    try:
        yield listener
    finally:
        server.close()


def run_traced(
    top: Path, listener: Listener, *, commands: Sequence[tuple[str, ...]] = COMMANDS
) -> list[Violation]:
    """Run commands in `top/work`; return what they did outside of it."""
    before = fingerprint(top / "outside")
    trace = top / "trace.txt"
    environ = {name: text for name, text in os.environ.items() if not name.startswith("CRX_")}
    environ |= {
        "CRX_HOME": str(top / "home"),
        "CRX_OPENAI_API_KEY": "sk-secret",
        "HOME": str(top / "outside"),
        "TMPDIR": str(top / "tmp"),
        "XDG_RUNTIME_DIR": str(top / "tmp"),
        "PATH": "/usr/bin:/bin",  # pip looks for a compiler of Rust, which may write to HOME
        "PYTHONDONTWRITEBYTECODE": "1",
        "PIP_INDEX_URL": NOWHERE,
        "PIP_RETRIES": "0",
        "PIP_CONFIG_FILE": os.devnull,
        "HF_ENDPOINT": NOWHERE,
        "HF_HOME": str(top / "home" / "hub"),
        "CRX_MODELS": str(top / "home" / "models"),
        "NO_PROXY": "*",
    }
    words = [sys.executable, __file__, str(top), json.dumps(commands)]
    tracer = ["strace", "-f", "--seccomp-bpf", "-qq", "-y", "-s", "300", "-e", f"trace={_CALLS}"]
    listener.seen.clear()
    subprocess.run([*tracer, "-o", str(trace), *words], env=environ, check=True)
    found = set(_read_trace(trace, top, commands))
    found |= {Violation("sent", "?", str(each[:200])) for each in listener.seen}
    if fingerprint(top / "outside") != before:
        found.add(Violation("changed", "?", "the tree outside"))
    for ended in json.loads((top / "ended.json").read_text()):
        command = " ".join(ended["command"])
        if ended["seconds"] > CPU_S or ended["hung"]:
            found.add(Violation("hung", command, f"{ended['seconds']:.0f} s of the processor"))
        if "Traceback" in ended["output"]:
            last = ended["output"].strip().splitlines()[-1]
            found.add(Violation("traceback", command, last[:200]))
    return sorted(found)


def fingerprint(folder: Path) -> str:
    """Return a hash of the names, kinds, contents, modes and times of all below a folder."""
    digest = hashlib.sha256()
    for path in sorted(folder.rglob("*")):
        found = path.lstat()
        digest.update(f"{path} {found.st_mode} {found.st_size} {found.st_mtime_ns}".encode())
        if path.is_file() and not path.is_symlink():
            digest.update(path.read_bytes())
    return digest.hexdigest()


_LINE = re.compile(r"^\d+ +(\w+)\((.*)\) += (-?\d+)(?:<(.*)>)?")
_RESUMED = re.compile(r"^(\d+) +<\.\.\. (\w+) resumed>(.*)$")
_UNFINISHED = re.compile(r"^(\d+) +(.*) <unfinished \.\.\.>$")
_QUOTED = re.compile(r'(?:AT_FDCWD|\d+)?(?:<([^>]*)>, )?"((?:[^"\\]|\\.)*)"')


def _read_trace(trace: Path, top: Path, commands: Sequence[tuple[str, ...]]) -> Iterator[Violation]:
    command = ""
    waiting: dict[str, str] = {}
    for line in trace.read_text(errors="replace").splitlines():
        if unfinished := _UNFINISHED.match(line):
            waiting[unfinished[1]] = unfinished[2]
            continue
        whole = line
        if resumed := _RESUMED.match(line):
            whole = f"{resumed[1]} {waiting.pop(resumed[1], '')}{resumed[3]}"
        if MARKER in whole:
            number = whole.partition(MARKER)[2].partition('"')[0]
            command = " ".join(commands[int(number)])
            continue
        is_asked_for = command.startswith("models pull") and "htons(1)" in whole
        # Lists the models of Ollama, whose address no file names.
        is_asked_for |= command == "models" and OLLAMA in whole
        if "AF_INET" in whole and command.split()[0:1] != ["serve"] and not is_asked_for:
            yield Violation("sent", command, whole[:200])
        call = _LINE.match(whole)
        if call is None or int(call[3]) < 0 or not command:
            continue
        name, arguments, opened = call[1], call[2], call[4] or ""
        if name in ("open", "openat", "openat2", "creat"):
            writes = bool(re.search(r"O_WRONLY|O_RDWR|O_CREAT|O_TRUNC", arguments))
            if writes and not _may_write(opened, top):
                yield Violation("written", command, opened)
            elif command == "watch" and os.path.isdir(opened):
                continue  # the library of events lists folders behind links; no file is read
            elif not writes and not _may_read(opened, top):
                yield Violation("read", command, opened)
        elif name not in ("connect", "sendto", "access"):
            for folder, path in _QUOTED.findall(arguments):
                place = _resolve(os.path.join(folder or str(top / "work"), path))
                if not _may_write(place, top):
                    yield Violation(name, command, place)


def _resolve(path: str) -> str:
    """Return a path whose folder has no links; the last part is what the call acts on."""
    folder, name = os.path.split(os.path.normpath(path))
    return os.path.join(os.path.realpath(folder), name)


def _may_write(path: str, top: Path) -> bool:
    if path.startswith(("/dev/null", "/dev/tty", "/proc/self/", "/dev/shm/", "/memfd:")):
        return True
    if not path.startswith("/"):  # a pipe or a socket without a name
        return True
    return any(_is_below(path, top / each) for each in _WRITABLE)


def _may_read(path: str, top: Path) -> bool:
    if path == "/dev/zero" or _is_below(path, top / "outside" / "secret.md"):
        return False
    # The user's home is outside, too: to look for folders of settings in it opens no document.
    return not _is_below(path, top / "outside") or ".local" in path or ".config" in path


def _is_below(path: str, folder: Path) -> bool:
    return path == str(folder) or path.startswith(f"{folder}/")


def _run_all(top: Path, commands: Sequence[Sequence[str]]) -> None:
    from crx import _cli as cli  # once for all commands

    for module in ("index", "search", "contextualize", "status", "verify"):
        with contextlib.suppress(ImportError):
            __import__(f"crx._cli.{module}")
    (top / "logs").mkdir()
    ended = []
    for number, command in enumerate(commands):
        log = top / "logs" / f"{number}.txt"
        pid = os.fork()
        if not pid:
            _run_one(cli, top, command, number=number, log=log)
        ended.append({"command": command, **_wait(pid, stop=command[0] in _STOPPED)})
        ended[-1]["output"] = log.read_text(errors="replace")
    (top / "ended.json").write_text(json.dumps(ended))


def _run_one(cli: object, top: Path, command: Sequence[str], *, number: int, log: Path) -> None:
    code = 99
    try:
        os.setsid()
        resource.setrlimit(resource.RLIMIT_CPU, (CPU_S + 1, CPU_S + 2))
        signal.signal(signal.SIGTERM, signal.default_int_handler)
        output = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        for stream in (1, 2):
            os.dup2(output, stream)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.chdir(top / "work")
        os.access(f"{MARKER}{number}", os.F_OK)
        code = cli.run(list(command))  # type: ignore[attr-defined]
    except BaseException:  # noqa: BLE001 - it is printed, and counts
        import traceback

        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def _wait(pid: int, *, stop: bool) -> dict[str, object]:
    """Wait for a command, which is ended if it does not end; return how it ended."""
    begun = time.monotonic()
    hung = False
    # On a machine that others use, too, a command gets a share of the processor.
    limit_s = WALL_S * max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1))
    next_stop = begun + STOP_AFTER_S
    while True:
        ended, status, usage = os.wait4(pid, os.WNOHANG)
        if ended:
            break
        now = time.monotonic()
        if stop and now > next_stop:
            os.kill(pid, signal.SIGTERM)
            next_stop = now + STOP_AFTER_S
        if now > begun + limit_s:
            hung = True
            with contextlib.suppress(ProcessLookupError):
                os.killpg(pid, signal.SIGKILL)
        time.sleep(0.005)
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)
    seconds = usage.ru_utime + usage.ru_stime
    return {"code": os.waitstatus_to_exitcode(status), "seconds": seconds, "hung": hung}


if __name__ == "__main__":
    _run_all(Path(sys.argv[1]), json.loads(sys.argv[2]))
