"""Processes: interrupts, pipes, full and read-only disks."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from command_line import Crx, process

from crx._cli import COMMANDS


def test_an_interrupt_ends_with_130_and_the_same_command_resumes(
    crx: Crx, docs: Path, here: Path
) -> None:
    for n in range(20):
        (docs / f"{n}.md").write_text(f"# Note {n}\n\nWhale number {n}.\n")
    code = """
import os, signal
from crx.ingest.write import DocumentWriter
from crx._cli import main
# A test run in the background inherits that interrupts are ignored.
signal.signal(signal.SIGINT, signal.default_int_handler)
put, written = DocumentWriter.put, []
def put_and_interrupt(self, document, source):
    put(self, document, source)
    written.append(document.uri)
    if len(written) == 6:
        os.kill(os.getpid(), signal.SIGINT)
DocumentWriter.put = put_and_interrupt
main()
"""
    done = subprocess.run(
        process("index", "docs", code=code), capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (130, "")
    assert done.stderr == "crx: interrupted; the same command resumes\n"
    assert crx("search", "whale").code == 0
    assert crx("index", "docs").out.startswith(".crx: 16 files added, 6 unchanged")


def test_a_pipe_whose_reader_is_gone_is_no_error(indexed: Path) -> None:
    command = process("search", "krill", "--json", "--full")
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "wb") as gone:
        done = subprocess.run(command, stdout=gone, stderr=subprocess.PIPE, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="counts threads in /proc")
@pytest.mark.parametrize(("asked", "threads"), [("", "1"), ("2", "2")])
def test_numpy_starts_no_threads_unless_they_are_asked_for(
    asked: str, threads: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENBLAS_NUM_THREADS", raising=False)
    if asked:
        monkeypatch.setenv("OPENBLAS_NUM_THREADS", asked)
    code = """
import atexit, os
def count():
    import numpy
    print(len(os.listdir("/proc/self/task")))
atexit.register(count)
from crx.__main__ import main
main()
"""
    done = subprocess.run(
        process("--version", code=code), capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines()[-1] == threads


def test_the_process_exits_with_the_code(here: Path) -> None:
    done = subprocess.run(process("search", "x"), capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("arguments", [("search", "krill"), ("status",), ("--help",)])
def test_a_closed_standard_output_is_no_error(indexed: Path, arguments: tuple[str, ...]) -> None:
    words = [sys.executable, "-m", "crx", *arguments]
    command = f"{shlex.join(words)} >&-"
    done = subprocess.run(command, shell=True, stderr=subprocess.PIPE, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("name", [name for name in COMMANDS if name != "help"])
def test_the_process_of_every_command_ends_without_a_traceback(here: Path, name: str) -> None:
    done = subprocess.run(process(name, "--help"), capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


# disks


def _may_mount() -> bool:
    if not shutil.which("mount") or not hasattr(os, "geteuid") or os.geteuid() != 0:
        return False
    with tempfile.TemporaryDirectory() as place, contextlib.suppress(OSError):
        command = ["mount", "-t", "tmpfs", "tmpfs", place]
        if subprocess.run(command, capture_output=True, check=False).returncode == 0:
            subprocess.run(["umount", place], check=True)
            return True
    return False


needs_mount = pytest.mark.skipif(not _may_mount(), reason="may not mount a file system here")


class Disk:
    """A small file system of its own."""

    def __init__(self, place: Path) -> None:
        self.place = place

    def mount(self, options: str) -> None:
        subprocess.run(
            ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(self.place)], check=True
        )


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Disk]:
    place = tmp_path / "disk"
    place.mkdir()
    disk = Disk(place)
    disk.mount("size=3m")
    yield disk
    subprocess.run(["umount", "--lazy", str(place)], check=True)


def test_a_limit_of_cpu_time_for_all_processes_of_a_user_leaves_files_readable(
    docs: Path, here: Path
) -> None:
    words = f"ulimit -t 25; {shlex.join(process('index', 'docs'))}"
    done = subprocess.run(
        ["sh", "-c", words], cwd=here, check=False, text=True, capture_output=True
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith(".crx: 2 files added")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")
@pytest.mark.parametrize(
    ("command", "code", "said"),
    [
        ("config >/dev/full", 6, "crx: output: no space left on device\n"),
        ("config >/dev/full 2>/dev/full", 6, ""),
        ("serach 2>/dev/full", 2, ""),
    ],
)
def test_an_output_on_a_full_disk_is_told_by_the_exit_code(
    command: str, code: int, said: str, here: Path
) -> None:
    words = ["sh", "-c", f"{sys.executable} -m crx {command}"]
    done = subprocess.run(words, cwd=here, check=False, text=True, capture_output=True)
    assert (done.returncode, done.stderr) == (code, said)


@needs_mount
def test_a_full_disk_loses_nothing_and_the_same_command_resumes(
    crx: Crx, docs: Path, disk: Disk
) -> None:
    place = disk.place / "i.crx"
    assert crx("index", docs, "--index", place).code == 0
    for n in range(150):
        (docs / f"{n}.txt").write_text(f"Whale {n}. " + " ".join(f"w{n}x{i}" for i in range(1500)))
    done = crx("index", docs, "--index", place, "--quiet")
    assert (done.code, done.err.count("\n")) == (6, 1)
    told = r"full; about (\d+) MB more are needed; free some space and run the same command again"
    needed = re.search(told, done.err)
    assert needed, done.err
    found = crx("search", "krill", "--index", place)
    assert found.code == 0
    assert "changes behind: " in found.err
    disk.mount(f"remount,size={3 + int(needed[1])}m")
    assert crx("index", docs, "--index", place).code == 0
    assert crx("verify", "--index", place).code == 0
    counts = json.loads(crx("status", "--json", "--index", place).out)["counts"]
    assert (counts["documents"], counts["pending"]) == (152, 0)


@needs_mount
def test_a_full_disk_with_nothing_to_do_names_no_bytes(crx: Crx, docs: Path, disk: Disk) -> None:
    place = disk.place / "i.crx"
    assert crx("index", docs, "--index", place).code == 0
    with contextlib.suppress(OSError), (disk.place / "filler").open("wb", buffering=0) as filler:
        while True:
            filler.write(bytes(4096))
    again = crx("index", docs, "--index", place)
    assert (again.code, again.err.count("\n")) == (6, 1)
    assert "full; free some space and run the same command again" in again.err


@needs_mount
def test_a_read_only_disk_can_be_searched_and_not_written(crx: Crx, docs: Path, disk: Disk) -> None:
    place = disk.place / "i.crx"
    assert crx("index", docs, "--index", place).code == 0
    disk.mount("remount,ro")
    found = crx("search", "krill", "-k", 1, "--index", place)
    assert (found.code, found.err) == (0, "")
    (docs / "new.md").write_text("new")
    refused = crx("index", docs, "--index", place)
    assert refused.code == 6
    assert "read-only" in refused.err.lower()
    assert " MB more" not in refused.err
    assert "cannot be written to" in crx("doctor", "--index", place).out
    assert crx("index", docs, "--index", disk.place / "other.crx").code == 6


READING = (
    ("search", "krill"),
    ("search", "--literal", "krill"),
    ("status",),
    ("status", "--skipped"),
    ("show", "DOC"),
    ("verify", "--deep"),
    ("prompt", "krill"),
)
WRITING = (
    ("index",),
    ("embed",),
    ("remove", "DOC"),
    ("rebuild",),
    ("gc",),
    ("contextualize", "--with", "fake:"),
)


@needs_mount
def test_an_index_on_a_read_only_disk_is_read_by_each_command_and_its_writers_say_one_line(
    crx: Crx, docs: Path, disk: Disk
) -> None:
    place = disk.place / "i.crx"
    assert crx("index", docs, "--index", place).code == 0
    disk.mount("remount,ro")
    for command in READING:
        words = [str(docs / "whales.md") if word == "DOC" else word for word in command]
        done = crx(*words, "--index", place)
        assert (done.code, bool(done.out) or command[-1] == "--skipped") == (0, True), done
    for command in WRITING:
        words = [str(docs / "whales.md") if word == "DOC" else word for word in command]
        done = crx(*words, "--index", place)
        assert (done.code, done.out, done.err.count("\n")) == (6, "", 1), done
        assert "read-only file system" in done.err.lower()


@needs_mount
def test_an_index_without_derived_files_on_a_read_only_disk_says_so_in_one_line(
    crx: Crx, docs: Path, disk: Disk
) -> None:
    place = disk.place / "i.crx"
    assert crx("index", docs, "--index", place).code == 0
    shutil.rmtree(place / "derived")
    disk.mount("remount,ro")
    assert crx("show", docs / "whales.md", "--index", place).code == 0
    for command in (("search", "krill"), ("status",), ("verify",)):
        done = crx(*command, "--index", place)
        assert (done.code != 0, done.out, done.err.count("\n")) == (True, "", 1), done
        assert "read-only file system" in done.err.lower()
