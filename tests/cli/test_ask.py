"""`crx ask` and `crx prompt`: what they print, and what they exit with."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from crx.cli import run

WHALES = "# Whales\n\nBlue whales eat krill.\n\n## Song\n\nHumpbacks sing for hours.\n"
BREAD = "# Bread\n\nBake at 240 degrees with steam.\n"
QUESTION = "what do blue whales eat?"


@dataclass(frozen=True)
class Done:
    code: int
    out: str
    err: str


Crx = Callable[..., Done]


@pytest.fixture
def crx(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Crx:
    """Run a command in a folder with an index of two documents."""
    for name in os.environ:
        if name.startswith("CRX_") and name != "CRX_MODELS":
            monkeypatch.delenv(name)
    monkeypatch.setenv("CRX_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("CRX_EMBEDDER", "hashed")
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "whales.md").write_text(WHALES)
    (tmp_path / "docs" / "bread.md").write_text(BREAD)
    monkeypatch.chdir(tmp_path)

    def command(*arguments: object) -> Done:
        capsys.readouterr()
        code = run([str(each) for each in arguments])
        return Done(code, *capsys.readouterr())

    assert command("index", "docs", "-q").code == 0
    return command


def ask(crx: Crx, generator: str, *more: object) -> Done:
    return crx("ask", QUESTION, "--with", generator, "-k", 1, *more)


def test_an_answer_is_printed_with_the_places_it_cites(crx: Crx) -> None:
    told = "Blue whales eat krill. [1]\n\n[1] docs/whales.md:1-7  Whales\n"
    assert ask(crx, "fake:") == Done(0, told, "")


def test_the_setting_says_what_answers(crx: Crx, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CRX_GENERATOR", "fake:")
    assert crx("ask", QUESTION).code == 0


def test_without_a_generator_one_line_says_how_to_name_one(crx: Crx) -> None:
    done = crx("ask", QUESTION)
    assert (done.code, done.out) == (2, "")
    assert done.err == (
        "crx: no generator is named; give --with llama:PATH, claude:MODEL or openai:URL#MODEL, "
        'or "crx config set generator llama:PATH" for good\n'
    )


def test_a_citation_of_nothing_is_taken_out_and_counted(crx: Crx) -> None:
    assert ask(crx, "fake:say=unknown") == Done(
        0,
        "Blue whales eat krill.\n",
        "crx: 1 citation that names no passage: taken out\n"
        "crx: the answer cites no passage: nothing in it can be checked\n",
    )


def test_what_the_documents_do_not_say_is_exit_code_1(crx: Crx) -> None:
    assert ask(crx, "fake:say=absent") == Done(1, "This is not in these documents.\n", "")


def test_nothing_found_asks_no_model(crx: Crx) -> None:
    done = ask(crx, "llama:nowhere.gguf", "--where", "lang=xx")
    assert done == Done(1, "This is not in these documents.\n", "")


def test_a_generator_that_dies_leaves_what_came(crx: Crx) -> None:
    assert ask(crx, "fake:stop=11") == Done(
        7, "Blue whales\n", "crx: fake: was told to stop after 11 characters\n"
    )


def test_an_interrupt_leaves_what_came(crx: Crx, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(self, prompt: str, *, prefix: str = ""):
        yield "Krill [1]. And"
        raise KeyboardInterrupt

    monkeypatch.setattr("crx.backends.fake.generator.FakeGenerator.generate", interrupted)
    assert ask(crx, "fake:") == Done(
        130,
        "Krill [1]. And\n\n[1] docs/whales.md:1-7  Whales\n",
        "crx: interrupted; this is what came of the answer\n",
    )


def test_json_holds_the_answer_its_citations_and_whether_it_is_whole(crx: Crx) -> None:
    done = ask(crx, "fake:", "--json")
    answer = json.loads(done.out)
    (citation,) = answer.pop("citations")
    assert citation | {"uri": "docs/whales.md"} == {
        "number": 1,
        "uri": "docs/whales.md",
        "title": "Whales",
        "start": 0,
        "end": len(WHALES),
        "lines": [1, 7],
        "pages": None,
    }
    assert answer == {
        "question": QUESTION,
        "text": "Blue whales eat krill. [1]",
        "removed": 0,
        "found": True,
        "model": "fake:say=sources,stop=-1 revision=1",
        "usage": {},
        "notes": [],
        "complete": True,
    }


def test_json_of_an_answer_that_died_says_so(crx: Crx) -> None:
    done = ask(crx, "fake:stop=11", "--json")
    answer = json.loads(done.out)
    assert (done.code, answer["text"], answer["complete"]) == (7, "Blue whales", False)


def test_a_prompt_is_what_is_asked(crx: Crx) -> None:
    done = crx("prompt", QUESTION, "-k", 1)
    assert done.code == 0
    assert WHALES in done.out
    assert BREAD not in done.out
    assert done.out.index(WHALES) < done.out.index(QUESTION)
    assert done.err.startswith("crx: passages: 1; tokens: ")
    told = json.loads(crx("prompt", QUESTION, "-k", 1, "--json").out)
    assert told["prompt"] + "\n" == done.out
    assert [each["text"] for each in told["passages"]] == [WHALES]


def test_a_prompt_from_nothing_is_nothing_found(crx: Crx) -> None:
    assert crx("prompt", QUESTION, "--where", "lang=xx") == Done(1, "", "crx: nothing found\n")


def test_the_whole_corpus_is_asked_in_a_fixed_order(crx: Crx) -> None:
    one, other = (crx("prompt", "--whole", question).out for question in (QUESTION, "steam?"))
    head = one[: one.index("Question:")]
    assert other.startswith(head)
    assert head.index(BREAD) < head.index(WHALES)
    done = crx("ask", "--whole", QUESTION, "--with", "fake:")
    assert (done.code, done.out.splitlines()[0]) == (
        0,
        "Bake at 240 degrees with steam. [1] Blue whales eat krill. [2]",
    )


def test_the_whole_corpus_and_a_choice_of_it_exclude_each_other(crx: Crx) -> None:
    done = crx("ask", "--whole", QUESTION, "--with", "fake:", "-k", 3, "--window", 1)
    assert done == Done(2, "", "crx: --whole reads everything; leave out -k and --window\n")


def test_status_says_when_the_whole_corpus_can_be_asked(crx: Crx) -> None:
    done = crx("status")
    assert "the whole corpus is 24 tokens: crx ask --whole reads all of it\n" in done.out
