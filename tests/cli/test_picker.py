"""`crx search -i`, driven by keys through a pipe, and what it searches meanwhile."""

from __future__ import annotations

import io
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest
from command_line import Crx, Done

import crx as package
from crx.types import Passage

pytest.importorskip("prompt_toolkit")

from prompt_toolkit.data_structures import Size
from prompt_toolkit.input import PipeInput, create_pipe_input
from prompt_toolkit.output import DummyOutput, Output
from prompt_toolkit.output.vt100 import Vt100_Output

from crx_serve.picker.application import Picker, preview
from crx_serve.picker.latest_search import Found, LatestSearch

DOWN, ENTER, CONTROL_O, ESCAPE = "\x1b[B", "\r", "\x0f", "\x1b"


@pytest.fixture
def passages(tmp_path: Path) -> list[Passage]:
    """Two passages about krill, and the files they are from."""
    for name in ("one", "two"):
        (tmp_path / f"{name}.md").write_text(f"# {name}\n\nThe krill of number {name}.\n")
    with package.open(tmp_path / "i.crx", settings={"embedder": "none"}) as index:
        index.add(tmp_path / "one.md", tmp_path / "two.md")
        return sorted(index.search("krill"), key=lambda each: each.uri)


@pytest.fixture
def keys() -> Iterator[PipeInput]:
    with create_pipe_input() as made:
        yield made


class Steps:
    """Sends the next keys once a search for the query so far is shown."""

    def __init__(self, keys: PipeInput, passages: Sequence[Passage], steps: dict[str, str]) -> None:
        self.keys, self.passages, self.steps = keys, passages, steps
        self.asked: list[str] = []
        self.told: list[tuple[str, str]] = []

    def find(self, query: str) -> Sequence[Passage]:
        self.asked.append(query)
        if "(" in query:
            raise ValueError("the pattern is not closed")
        return self.passages

    def shown(self, query: str, problem: str) -> None:
        self.told.append((query, problem))
        self.keys.send_text(self.steps.pop(query, ""))


def run(
    steps: Steps, monkeypatch: pytest.MonkeyPatch, *, output: Output | None = None
) -> tuple[Picker, list[tuple[object, ...]]]:
    """Run the picker until it ends; return it, and what it opened."""
    opened: list[tuple[object, ...]] = []
    monkeypatch.setattr("crx_serve.picker.latest_search.SETTLED_S", 0.0)
    monkeypatch.setattr(
        "crx_serve.picker.application.open_document",
        lambda uri, line, original: opened.append((Path(uri).name, line, original)),
    )
    picker = Picker(
        steps.find,
        steps.find,
        query="",
        terminal_input=steps.keys,
        terminal_output=output or DummyOutput(),
    )
    show = picker._show

    def shown(found: Found) -> None:
        show(found)
        if not found.is_quick:
            steps.shown(found.query, picker._problem)

    picker._search._on_found = shown
    guard = threading.Timer(60, end, [picker])
    guard.start()
    picker.run()
    guard.cancel()
    return picker, opened


def end(picker: Picker) -> None:
    """End a picker that waits for keys that nobody sends: the test fails then."""
    application = picker._application
    assert application.loop is not None
    error = TimeoutError(f"no key for {picker._buffer.text!r}, found {picker._found.query!r}")
    application.loop.call_soon_threadsafe(lambda: application.exit(exception=error))


def test_keys_choose_and_open_a_passage(
    keys: PipeInput, passages: list[Passage], monkeypatch: pytest.MonkeyPatch
) -> None:
    steps = Steps(
        keys, passages, {"krill": DOWN + ENTER + CONTROL_O + DOWN + "s", "krills": ESCAPE}
    )
    keys.send_text("krill")
    picker, opened = run(steps, monkeypatch)
    assert opened == [("two.md", 3, False), ("two.md", 3, True)]
    assert steps.asked[-1] == "krills"
    assert picker.chosen == passages[0]


def test_a_problem_is_shown_and_the_picker_goes_on(
    keys: PipeInput, passages: list[Passage], monkeypatch: pytest.MonkeyPatch
) -> None:
    steps = Steps(keys, passages, {"re:(": "\x7f", "re:": ESCAPE})
    keys.send_text("re:(")
    picker, _ = run(steps, monkeypatch)
    assert steps.told[-2:] == [("re:(", "the pattern is not closed"), ("re:", "")]
    assert picker.chosen == passages[0]


@pytest.mark.parametrize(("columns", "line"), [(20, "─"), (59, "─"), (60, "│")])
def test_on_a_narrow_terminal_the_preview_is_below_the_list(
    columns: int,
    line: str,
    keys: PipeInput,
    passages: list[Passage],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    screen = io.StringIO()
    output = Vt100_Output(screen, get_size=lambda: Size(rows=20, columns=columns))
    keys.send_text("krill")
    run(Steps(keys, passages, {"krill": ESCAPE}), monkeypatch, output=output)
    assert {each for each in screen.getvalue() if each in "─│"} == {line}


def test_a_preview_begins_above_the_line_that_answers_and_marks_words(
    passages: list[Passage],
) -> None:
    pieces = preview(passages[0], query="krill")
    assert pieces[0] == ("bold", "one\n\n")
    assert ("bold underline", "krill") in pieces
    assert "".join(piece[1] for piece in pieces[1:]).startswith("# one\n\nThe krill")


def test_only_the_latest_query_is_searched_and_told(passages: list[Passage]) -> None:
    begun, told, done = threading.Event(), list[Found](), threading.Event()
    typed = threading.Event()

    def slow(query: str) -> Sequence[Passage]:
        if query == "a":
            begun.set()
            assert typed.wait(30)
        return passages

    def tell(found: Found) -> None:
        told.append(found)
        if not found.is_quick:
            done.set()

    search = LatestSearch(slow, slow, tell)
    search.ask("a")
    assert begun.wait(30)
    search.ask("ab")
    search.ask("abc")
    typed.set()
    assert done.wait(30)
    search.close()
    assert [(found.query, found.is_quick) for found in told] == [("abc", True), ("abc", False)]


def test_files_are_opened_before_a_key_is_pressed(passages: list[Passage]) -> None:
    opened, told = threading.Event(), list[Found]()

    def quick(query: str) -> Sequence[Passage]:
        opened.set()
        return passages

    search = LatestSearch(quick, quick, told.append)
    assert opened.wait(30)
    search.close()
    assert told == []


@pytest.mark.usefixtures("indexed")
def test_the_picker_wants_a_terminal_and_its_package(
    crx: Crx, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert crx("search", "-i") == Done(2, "", "crx: -i wants a terminal\n")
    missing = 'crx: QUERY is missing; crx search "QUESTION", or crx search -i\n'
    assert crx("search") == Done(2, "", missing)
    monkeypatch.setattr(sys.stdin, "isatty", lambda: True, raising=False)
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    monkeypatch.setenv("TERM", "dumb")
    assert crx("search", "-i").err == (
        "crx: -i moves the cursor, which this terminal cannot (TERM=dumb)\n"
    )
    monkeypatch.setenv("TERM", "xterm")
    ran: list[tuple[str, int, int]] = []

    def run(
        quick: Callable[[str], Sequence[Passage]],
        full: Callable[[str], Sequence[Passage]],
        *,
        query: str,
    ) -> None:
        ran.append((query, len(quick("krill path:docs/whales.md")), len(full("krill steam"))))

    monkeypatch.setattr("crx_serve.picker.application.run_picker", run)
    assert crx("search", "-i", "whales").code == 0
    assert ran == [("whales", 1, 2)]
    refused = "crx: -i shows a list; leave out -n, --more, --full, --explain and --format\n"
    for options in (("-n", 1), ("--explain",), ("--json",)):
        assert crx("search", "-i", *options) == Done(2, "", refused)
    monkeypatch.setitem(sys.modules, "crx_serve.picker.application", None)
    told = crx("search", "-i").err
    assert told.startswith("crx: -i: the package ")
    assert told.endswith(' is not installed; pip install "crx[picker]"\n')
