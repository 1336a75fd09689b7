"""Reading in a worker process: what a file may do to it, and what becomes of the others."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path

import pytest
from forked import call_in_fork
from pdfs import pdf
from zipped import docx, epub, odf, pptx, shape

import crx
from crx.errors import InputError, NotText, SystemFailure
from crx.ingest._worker import isolated_reader
from crx.ingest._worker.isolated_reader import IsolatedReader
from crx.ingest._worker.messages import ReadLimits
from crx.ingest.read import read_bytes

PAGE = b"<html lang=en><title>Roads</title><h1>Tar</h1><p>A road is long.</html>"
FILES = {
    "a.pdf": pdf([["Roads", "are long"], ["Tar"]], outline=[("Tar", 1)]),
    "a.html": PAGE,
    "a.docx": docx("<w:p><w:r><w:t>A road</w:t></w:r></w:p>"),
    "a.pptx": pptx({"1": shape("Roads", placeholder="title") + shape("Tar")}, notes={}),
    "a.odt": odf("<office:text><text:h>Roads</text:h><text:p>Tar</text:p></office:text>"),
    "a.epub": epub({"one.xhtml": "<h1>Roads</h1><p>Tar"}, titles={}, title="Book"),
    "a.eml": b"From: ann@example.org\nSubject: Roads\n\nTar \xf0\x9f\x9b\xa3 and stone\n",
    "a.md.gz": b"",
}


@pytest.mark.parametrize("name", [name for name, data in FILES.items() if data])
def test_a_document_arrives_as_its_reader_made_it(name: str) -> None:
    with IsolatedReader() as reader:
        assert list(reader.read(FILES[name], name=name)) == list(read_bytes(FILES[name], name=name))
        assert reader.pid is not None


def test_one_worker_reads_all_files() -> None:
    with IsolatedReader() as reader:
        pids = set()
        for name, data in FILES.items():
            if data:
                list(reader.read(data, name=name))
                pids.add(reader.pid)
        assert len(pids) == 1


@pytest.mark.skipif(not hasattr(signal, "SIGSTOP"), reason="this system stops no process")
def test_a_worker_that_reads_nothing_costs_one_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(isolated_reader, "START_S", 0.2)
    monkeypatch.setattr(isolated_reader, "_GRACE_S", 0.2)
    large = b"<p>Tar.</p>" * 200_000
    with IsolatedReader(ReadLimits(seconds=1)) as reader:
        assert list(reader.read(PAGE, name="a.html"))
        assert reader.pid is not None
        os.kill(reader.pid, signal.SIGSTOP)
        with pytest.raises(InputError, match="takes more than 1 s"):
            list(reader.read(large, name="b.html"))
        assert list(reader.read(PAGE, name="c.html"))


def test_a_worker_is_heard_by_a_process_with_many_open_files() -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard < 1200:
        pytest.skip("so many files may not be open here")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, 1200), hard))
    opened = [os.open(os.devnull, os.O_RDONLY) for _ in range(1100)]
    try:
        with IsolatedReader() as reader:
            assert len(list(reader.read(PAGE, name="a.html"))) == 1
    finally:
        for handle in opened:
            os.close(handle)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("a.txt", b"words"), ("a.md", b"# A"), ("a.py", b"a = 1"), ("a.csv", b"a,b\n1,2"),
        ("a.jsonl", b'{"text": "a"}'), ("Makefile", b"all:"), ("a.xyz", b"words"),
    ],
)  # fmt: skip
def test_plain_text_is_read_in_the_worker_too(name: str, data: bytes) -> None:
    with IsolatedReader() as reader:
        assert list(reader.read(data, name=name)) == list(read_bytes(data, name=name))
        assert reader.pid is not None


def test_files_that_are_submitted_together_are_read_by_one_worker() -> None:
    texts = [f"words {number}" for number in range(100)]
    with IsolatedReader() as reader:
        documents = [reader.submit(text.encode(), name="a.txt", max_bytes=99) for text in texts]
        assert reader.is_full
        read = []
        pids = set()
        for each in documents:
            read += [document.text for document in each]
            pids.add(reader.pid)
        assert not reader.is_full
    assert read == texts
    assert len(pids) == 1


def test_one_file_at_fault_among_many_costs_itself_alone(faulty: IsolatedReader) -> None:
    faults = {3: "segfault", 4: "exit", 20: "spin", 39: "allocate"}
    names = [f"a.{faults.get(number, 'md')}" for number in range(40)]
    submitted = [faulty.submit(b"# words", name=name, max_bytes=99) for name in names]
    outcomes = {}
    for number, documents in enumerate(submitted):
        try:
            (document,) = documents
            assert document.text == "# words"
        except InputError as why:
            outcomes[number] = str(why)
    assert outcomes == {
        3: "made its reader fail: crashed with SIGSEGV",
        4: "made its reader fail: ended with 3: no more",
        20: "takes more than 1 s to read; --set read_seconds=2 allows it",
        39: "takes more than 400 MB to read; --set read_memory_mb=800 allows it",
    }


def test_documents_are_taken_in_the_order_of_submission() -> None:
    with IsolatedReader() as reader:
        first = reader.submit(b"one", name="1.txt", max_bytes=99)
        second = reader.submit(b"two", name="2.txt", max_bytes=99)
        with pytest.raises(ValueError, match=r"2\.txt: files are read in the order"):
            next(second)
        assert [document.text for document in first] == ["one"]


def test_a_refusal_is_that_of_the_reader() -> None:
    with IsolatedReader() as reader:
        with pytest.raises(InputError, match=r"^is a damaged PDF$"):
            list(reader.read(b"%PDF-1.4 and no more", name="a.pdf"))
        with pytest.raises(NotText, match=r"^is empty$"):
            list(reader.read(b" ", name="a.html"))


@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        ("segfault", "made its reader fail: crashed with SIGSEGV"),
        ("spin", "takes more than 1 s to read; --set read_seconds=2 allows it"),
        ("hang", "takes more than 1 s to read; --set read_seconds=2 allows it"),
        ("allocate", "takes more than 400 MB to read; --set read_memory_mb=800 allows it"),
        ("exit", "made its reader fail: ended with 3: no more"),
        ("raise", "made its reader fail: KeyError: 'a part'"),
        ("recurse", "nests too deeply to be read"),
    ],
)
def test_a_file_at_fault_is_one_reason_and_the_next_is_read(
    faulty: IsolatedReader, fault: str, reason: str
) -> None:
    with pytest.raises(InputError) as raised:
        list(faulty.read(b"x", name=f"a.{fault}"))
    assert str(raised.value) == reason
    assert [d.title for d in faulty.read(PAGE, name="a.html")] == ["Roads"]


def test_endless_documents_end_at_the_limit_of_text(faulty: IsolatedReader) -> None:
    with pytest.raises(InputError, match="holds more than max_file_mb = 2 million characters"):
        list(faulty.read(b"x", name="a.flood", max_bytes=2_000_000))
    assert list(faulty.read(PAGE, name="a.html"))


def test_what_a_reader_prints_does_not_disturb_the_messages(faulty: IsolatedReader) -> None:
    assert [d.text for d in faulty.read(b"x", name="a.print")] == ["printed"]


def test_documents_before_a_crash_are_kept(faulty: IsolatedReader) -> None:
    assert list(faulty.read(PAGE, name="a.html"))
    documents = faulty.read(b"x", name="a.late")
    assert next(documents).text == "first"
    with pytest.raises(InputError, match="SIGSEGV"):
        next(documents)


def test_a_file_is_tried_again_when_an_earlier_one_may_be_at_fault(
    faulty: IsolatedReader, tmp_path: Path
) -> None:
    name = os.fsencode(tmp_path / "seen")
    assert list(faulty.read(PAGE, name="a.html"))
    (document,) = faulty.read(name, name="a.once")
    assert document.text == "read by the second worker"


def test_a_worker_that_was_killed_meanwhile_is_replaced() -> None:
    with IsolatedReader() as reader:
        list(reader.read(PAGE, name="a.html"))
        assert reader.pid is not None
        os.kill(reader.pid, signal.SIGKILL)
        assert [d.title for d in reader.read(PAGE, name="a.html")] == ["Roads"]


@pytest.mark.usefixtures("_faulty")
def test_a_worker_is_replaced_after_many_files(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("crx.ingest._worker.isolated_reader._FILES_A_WORKER", 2)
    with IsolatedReader() as reader:
        pids = [d.text for _ in range(5) for d in reader.read(b"x", name="a.pid")]
    assert [pids.count(pid) for pid in dict.fromkeys(pids)] == [2, 2, 1]


def test_a_reading_that_is_given_up_leaves_nothing_behind(faulty: IsolatedReader) -> None:
    documents = faulty.read(b"x", name="a.flood")
    next(documents)
    documents.close()  # type: ignore[attr-defined]
    assert [d.title for d in faulty.read(PAGE, name="a.html")] == ["Roads"]


def test_readers_in_several_threads_have_workers_of_their_own() -> None:
    titles: list[str] = []

    def read() -> None:
        with IsolatedReader() as reader:
            titles.extend(d.title for _ in range(5) for d in reader.read(PAGE, name="a.html"))

    threads = [threading.Thread(target=read) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert titles == ["Roads"] * 15


def test_a_fork_starts_a_worker_of_its_own() -> None:
    with IsolatedReader() as reader:
        list(reader.read(PAGE, name="a.html"))
        before = reader.pid

        def read() -> tuple[str, int | None]:
            (document,) = reader.read(PAGE, name="a.html")
            pid = reader.pid
            reader.close()
            return document.title, pid

        title, pid = call_in_fork(read)
        assert title == "Roads"
        assert pid != before
        assert list(reader.read(PAGE, name="a.html"))
        assert reader.pid == before


def test_a_worker_that_cannot_start_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "crx.ingest._worker.isolated_reader._COMMAND", (sys.executable, "-c", "raise SystemExit(9)")
    )
    with IsolatedReader() as reader, pytest.raises(SystemFailure, match="cannot be started: ended"):
        list(reader.read(PAGE, name="a.html"))


PARENT = """
import sys
from crx.ingest._worker import isolated_reader
from crx.ingest._worker.isolated_reader import IsolatedReader
from crx.ingest._worker.messages import ReadLimits
from crx.ingest._worker.messages import ReadLimits
reader = IsolatedReader(ReadLimits(seconds=600))
list(reader.read(b"<p>x", name="a.html"))
print(reader.pid, flush=True)
list(reader.read(b"x", name=sys.argv[1]))
input()
"""


@pytest.mark.usefixtures("_faulty")
@pytest.mark.parametrize("ending", [signal.SIGKILL, signal.SIGINT])
@pytest.mark.parametrize("name", ["a.hang", "a.spin", "a.html"])
def test_no_worker_outlives_its_parent(name: str, ending: int) -> None:
    parent = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(PARENT), name],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    with parent:
        assert parent.stdout is not None
        worker = int(parent.stdout.readline())
        parent.send_signal(ending)
        try:
            parent.wait(timeout=30)
        finally:
            parent.kill()
        deadline = time.monotonic() + 30
        while _is_running(worker) and time.monotonic() < deadline:
            os.sched_yield()
        assert not _is_running(worker)


def _is_running(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state != "Z"


@pytest.mark.usefixtures("_faulty")
def test_a_run_reports_a_file_at_fault_and_indexes_the_others(tmp_path: Path) -> None:
    folder = tmp_path / "files"
    folder.mkdir()
    for name in ("a.html", "b.md", "y.txt", "z.html"):
        (folder / name).write_bytes(PAGE)
    (folder / "m.segfault").write_bytes(b"x")
    (folder / "n.spin").write_bytes(b"x")
    settings = {"embedder": "hashed", "read_seconds": 1}
    with crx.open(tmp_path / "i.crx", settings=settings) as index:
        report = index.add(folder)
    assert report.added == 4
    assert [(Path(f.uri).name, f.reason) for f in report.failures] == [
        ("m.segfault", "made its reader fail: crashed with SIGSEGV"),
        ("n.spin", "takes more than 1 s to read; --set read_seconds=2 allows it"),
    ]
