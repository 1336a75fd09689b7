"""Word and PowerPoint files of before 2007, which LibreOffice converts."""

from __future__ import annotations

import gzip
import json
import os
import stat
import sys
import tempfile
import textwrap
import threading
import time
from collections.abc import Iterator
from email.message import EmailMessage
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest
from zipped import docx, odf, zipped

from crx.errors import InputError, NotText
from crx.ingest._worker.isolated_reader import IsolatedReader
from crx.ingest._worker.messages import ReadLimits
from crx.ingest.read import read_bytes
from crx.ingest.readers.binary import OLE
from crx.types import Document
from crx_formats.libreoffice.convert import convert
from crx_formats.libreoffice.program import find_program

DATA = Path(__file__).parent.parent / "data" / "office"
needs_libreoffice = pytest.mark.skipif(not find_program(), reason="needs LibreOffice")


def real(name: str) -> bytes:
    """Return a file that LibreOffice 7.4 wrote in the format of Office 97."""
    return gzip.decompress((DATA / f"{name}.gz").read_bytes())


def one(reader: IsolatedReader, data: bytes, name: str) -> Document:
    (document,) = reader.read(data, name=name)
    return document


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of temporary files."""
    folder = tmp_path / "t"
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    monkeypatch.setattr(tempfile, "tempdir", None)
    return folder


class OfficeStandIn:
    """A `soffice` that writes one text for every document, in the only folder of PATH.

    It notes how it was called. It sleeps for a document that holds "slow", after it has started
    another program that does, and writes nothing for one that holds "damaged".
    """

    SCRIPT = """\
        #!{python}
        import json, os, pathlib, subprocess, sys, time
        source = pathlib.Path(sys.argv[-1])
        target = sys.argv[sys.argv.index("--convert-to") + 1]
        called = {{
            "words": sys.argv[1:], "variables": dict(os.environ), "folder": os.getcwd(),
            "pid": os.getpid(), "mode": os.stat(source.parent.parent).st_mode & 0o777,
        }}
        if b"slow" in source.read_bytes():
            sleeper = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(100)"])
            called["sleeper"] = sleeper.pid
        pathlib.Path({calls!r}).write_text(json.dumps(called))
        if "sleeper" in called:
            time.sleep(100)
        if b"damaged" not in source.read_bytes():
            source.with_suffix("." + target).write_bytes(bytes.fromhex({converted!r}[target]))
        """

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self._calls = folder / "calls.json"
        body = "<office:text><text:h>Roads</text:h><text:p>Tar</text:p></office:text>"
        heading = '<w:p><w:pPr><w:outlineLvl w:val="0"/></w:pPr><w:r><w:t>Roads</w:t></w:r></w:p>'
        word = docx(f"{heading}<w:p><w:r><w:t>Tar</w:t></w:r></w:p>")
        converted = {"docx": word.hex(), "odp": odf(body).hex(), "odt": odf(body).hex()}
        source = textwrap.dedent(self.SCRIPT).format(
            python=sys.executable, calls=str(self._calls), converted=converted
        )
        self.path = write_program(folder / "bin" / "soffice", source)
        monkeypatch.setenv("PATH", str(self.path.parent))

    def call(self) -> dict[str, object]:
        """Return how it was called last."""
        called: dict[str, object] = json.loads(self._calls.read_text())
        return called


def write_program(path: Path, source: str) -> Path:
    path.parent.mkdir(exist_ok=True)
    path.write_text(source)
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


@pytest.fixture
def stand_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, temporary: Path) -> OfficeStandIn:
    return OfficeStandIn(tmp_path, monkeypatch)


def runs(pid: object) -> bool:
    assert isinstance(pid, int)
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def wait_until_gone(pid: object, folder: Path) -> None:
    """Wait for the end of a process, and for that of what it has left in a folder."""
    deadline = time.monotonic() + 10
    while runs(pid) or list(folder.iterdir()):
        assert time.monotonic() < deadline, f"{pid} runs, or {list(folder.iterdir())} are left"


@needs_libreoffice
def test_a_word_document_is_read_with_its_headings_and_tables(temporary: Path) -> None:
    with IsolatedReader() as reader:
        document = one(reader, real("memo.doc"), "memo.doc")
    assert document.title == "Maintenance of the northern bridges"
    assert document.metadata == {"ext": "doc", "format": "doc"}
    assert [(mark.label, mark.level) for mark in document.marks] == [
        ("Inspection", 1), ("Bearings", 2), ("Costs", 1),
    ]  # fmt: skip
    assert "before the salt season ends — naïve façade." in document.text
    assert "\n- grease the rollers\n" in document.text
    assert "\nGrey Weir\t1931\nFen Gate\t1958\n" in document.text


@needs_libreoffice
def test_slides_are_read_with_their_notes() -> None:
    with IsolatedReader() as reader:
        document = one(reader, real("talk.ppt"), "talk.ppt")
    assert document.metadata["format"] == "ppt"
    slides = [m for m in document.marks if m.kind == "slide"]
    assert [document.text[m.start : m.end].split("\n")[0] for m in slides] == [
        "Why ferries are late", "What to do",
    ]  # fmt: skip
    assert "Notes: Mention the winter of 1963." in document.text


class _NotedRequests(HTTPServer):
    """A web server that has nothing, and notes what it is asked for."""

    def __init__(self, port: int) -> None:
        self.paths: list[str] = []
        super().__init__(("127.0.0.1", port), _NoteRequest)


class _NoteRequest(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        assert isinstance(self.server, _NotedRequests)
        self.server.paths.append(self.path)
        self.send_error(404)

    do_OPTIONS = do_HEAD = do_GET  # noqa: N815 -- the names that the server calls

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def linked_server() -> Iterator[_NotedRequests]:
    """The server of the picture that linked.doc links to."""
    try:
        server = _NotedRequests(8765)
    except OSError:
        pytest.skip("port 8765 is in use")
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


@needs_libreoffice
def test_a_picture_that_a_document_links_to_is_not_requested(
    linked_server: _NotedRequests,
) -> None:
    data = real("linked.doc")
    assert b"http://127.0.0.1:8765/pic.png" in data
    with IsolatedReader() as reader:
        assert one(reader, data, "linked.doc").text == "Before\n\nold"
    assert linked_server.paths == []


@needs_libreoffice
def test_a_damaged_document_is_refused() -> None:
    with IsolatedReader() as reader, pytest.raises(InputError, match="cannot be converted"):
        one(reader, OLE + bytes(5000), "a.doc")


def test_without_libreoffice_the_reason_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(InputError, match="not on PATH: install it, or save the file"):
        list(read_bytes(real("memo.doc"), name="memo.doc"))


@pytest.mark.parametrize("path", ["", ".", "bin:.", ":/nonexistent"])
def test_a_program_in_the_current_folder_is_not_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    write_program(tmp_path / "soffice", "#!/bin/sh\n")
    write_program(tmp_path / "bin" / "soffice", "#!/bin/sh\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", path)
    assert find_program() == ""
    monkeypatch.setenv("PATH", f"{path}:{tmp_path}/bin")
    assert find_program() == str(tmp_path / "bin" / "soffice")


def test_libreoffice_works_in_a_private_folder_that_is_deleted(
    stand_in: OfficeStandIn, temporary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SECRET_KEY", "x")
    with IsolatedReader() as reader:
        document = one(reader, OLE, "--help.doc")
        (folder,) = temporary.glob("crx-office-*")
        assert [each.name for each in folder.iterdir() if each.name.startswith("tmp")] == []
        profile = (folder / "profile/user/registrymodifications.xcu").read_text()
    assert document.text == "Roads\n\nTar"
    call = stand_in.call()
    words, variables = call["words"], call["variables"]
    assert isinstance(words, list)
    assert isinstance(variables, dict)
    assert words[0] == f"-env:UserInstallation={(folder / 'profile').as_uri()}"
    assert "--headless" in words
    assert Path(words[-1]).name == "document.doc"
    assert call["mode"] == 0o700
    assert str(call["folder"]).startswith(str(folder))
    assert variables["HOME"] == variables["TMPDIR"] == str(folder / "home")
    assert "SECRET_KEY" not in variables
    assert 'oor:name="DisableMacrosExecution" oor:op="fuse"><value>true' in profile
    wait_until_gone(call["pid"], temporary)


def test_a_conversion_that_takes_too_long_ends_with_all_that_it_started(
    stand_in: OfficeStandIn, temporary: Path
) -> None:
    with IsolatedReader(ReadLimits(seconds=2)) as reader:
        with pytest.raises(InputError, match="takes more than 2 s"):
            one(reader, OLE + b"slow", "a.doc")
        assert one(reader, OLE, "b.doc").text == "Roads\n\nTar"
    wait_until_gone(stand_in.call()["pid"], temporary)


def test_what_libreoffice_started_ends_with_the_reading_process(
    stand_in: OfficeStandIn, temporary: Path
) -> None:
    reader = IsolatedReader(ReadLimits(seconds=2))
    with pytest.raises(InputError, match="takes more than 2 s"):
        one(reader, OLE + b"slow", "a.doc")
    wait_until_gone(stand_in.call()["sleeper"], temporary)
    reader.close()


def test_a_silent_libreoffice_ends_with_all_that_it_started(
    stand_in: OfficeStandIn, temporary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("crx_formats.libreoffice.convert._SILENT_S", 2.0)
    with pytest.raises(InputError, match="silent for 2 s"):
        convert(OLE + b"slow", suffix=".doc", target="odt")
    wait_until_gone(stand_in.call()["sleeper"], temporary)


def test_a_libreoffice_that_cannot_be_run_leaves_nothing(
    stand_in: OfficeStandIn, temporary: Path
) -> None:
    stand_in.path.write_text("#!/nonexistent/sh\n")
    with pytest.raises(InputError, match="made LibreOffice fail"):
        convert(OLE, suffix=".doc", target="odt")
    assert list(temporary.iterdir()) == []


def test_a_document_that_cannot_be_converted_costs_itself_alone(stand_in: OfficeStandIn) -> None:
    archive = zipped({"a.doc": OLE + b"damaged", "b.ppt": OLE})
    found: list[Document] = []
    with IsolatedReader() as reader, pytest.raises(InputError, match=r"a\.doc cannot be conv"):
        found += reader.read(archive, name="x.zip")
    mail = EmailMessage()
    mail["Subject"] = "Roads"
    mail.set_content("See the file.")
    mail.add_attachment(OLE, maintype="application", subtype="msword", filename="roads.doc")
    with IsolatedReader() as reader:
        found += reader.read(mail.as_bytes(), name="a.eml")
    assert [each.uri for each in found][-1] == "a.eml#1-roads.doc"
    assert found[-1].text == "Roads\n\nTar"


@pytest.mark.parametrize("name", ["README.doc", "graph.dot", "messages.pot"])
def test_a_text_with_such_a_suffix_is_read_as_text(name: str) -> None:
    (document,) = read_bytes(b"digraph roads { a -> b }\n", name=name)
    assert document.text == "digraph roads { a -> b }\n"
    assert document.metadata["format"] == "text"


def test_a_template_is_known_by_its_content(stand_in: OfficeStandIn) -> None:
    with IsolatedReader() as reader:
        assert one(reader, OLE, "letter.dot").metadata["format"] == "dot"


def test_another_binary_file_with_such_a_suffix_is_no_text() -> None:
    with pytest.raises(NotText, match="is a binary file"):
        list(read_bytes(b"\0\1\2\3" * 100, name="a.doc"))
