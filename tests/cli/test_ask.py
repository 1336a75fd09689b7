"""`crx ask` and `crx prompt`: what they print and exit with."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import chat_server
import pytest
from command_line import BREAD, WHALES, Crx, Done
from local_server import Fault

from crx._cli.output import print_note
from crx_remote.retry import RetryPolicy

QUESTION = "what do blue whales eat?"

pytestmark = pytest.mark.usefixtures("indexed")


def ask(crx: Crx, generator: str, *more: object) -> Done:
    return crx("ask", QUESTION, "--with", generator, "-k", 1, *more)


def test_an_answer_is_printed_with_the_passages_it_cites(crx: Crx) -> None:
    text = "Blue whales eat krill. [1]\n\n[1] docs/whales.md:3  Whales\n"
    assert ask(crx, "fake:") == Done(0, text, "")


def test_the_setting_generator_names_what_answers(
    crx: Crx, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CRX_GENERATOR", "fake:")
    assert crx("ask", QUESTION).code == 0


def test_without_a_generator_the_error_shows_how_to_name_one(crx: Crx) -> None:
    done = crx("ask", QUESTION)
    assert (done.code, done.out) == (2, "")
    assert done.err == (
        "crx: no generator is named; give --with llama:PATH, ollama:NAME, claude:MODEL or "
        'openai:URL#MODEL, or "crx config set generator llama:PATH" for good\n'
    )


def test_a_citation_of_no_passage_is_removed_and_counted(crx: Crx) -> None:
    assert ask(crx, "fake:say=unknown") == Done(
        0,
        "Blue whales eat krill.\n",
        "crx: 1 citation that names no passage: removed\n"
        "crx: the answer cites no passage, so that it cannot be checked\n",
    )


def test_an_answer_that_is_not_in_the_documents_is_exit_code_1(crx: Crx) -> None:
    assert ask(crx, "fake:say=absent") == Done(1, "This is not in these documents.\n", "")


def test_no_model_is_loaded_when_nothing_is_found(crx: Crx) -> None:
    done = ask(crx, "llama:nowhere.gguf", "--where", "lang=xx")
    nothing = "crx: nothing found: no document meets the filter\n"
    assert done == Done(1, "This is not in these documents.\n", nothing)


def test_a_generator_that_fails_leaves_its_text_so_far(crx: Crx) -> None:
    assert ask(crx, "fake:stop=11") == Done(
        7, "Blue whales\n", "crx: fake: set to stop after 11 characters\n"
    )


@pytest.mark.parametrize("status", [429, 500, 502])
def test_a_failing_server_is_told_at_once_with_the_passages_to_read(
    crx: Crx, monkeypatch: pytest.MonkeyPatch, status: int
) -> None:
    pytest.importorskip("openai", exc_type=ImportError)
    at_once = RetryPolicy((0.0,))
    monkeypatch.setattr("crx_remote.openai.generator.INTERACTIVE_RETRIES", at_once)
    server = chat_server.ChatServer()
    server.fault = lambda asked, body: Fault(status, message="overloaded")
    with chat_server.serving(server) as url:
        done = ask(crx, f"openai:{url}/v1#{chat_server.MODEL}")
    first, last = done.err.splitlines()
    assert (done.code, done.out) == (7, "")
    assert str(status) in first
    assert first.endswith("; trying again; meanwhile see docs/whales.md:3")
    assert str(status) in last


def test_passages_are_told_while_a_server_hangs(crx: Crx, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("openai", exc_type=ImportError)
    monkeypatch.setattr("crx_remote.completion.SLOW_S", 0.01)
    found = threading.Event()
    server = chat_server.ChatServer()
    server.answer = lambda body: "Krill [1]."
    server.fault = lambda asked, body: None if found.wait(30) else Fault(500)

    def note(text: str) -> None:
        print_note(text)
        if "meanwhile see" in text:
            found.set()

    monkeypatch.setattr("crx._cli.output.print_note", note)
    with chat_server.serving(server) as url:
        done = ask(crx, f"openai:{url}/v1#{chat_server.MODEL}")
    assert (done.code, done.out.splitlines()[0]) == (0, "Krill [1].")
    assert done.err == (
        f"crx: openai:{url}/v1: nothing received for 0 s yet; meanwhile see docs/whales.md:3\n"
    )


def test_a_pause_within_an_answer_is_told_on_a_line_of_its_own(
    crx: Crx, monkeypatch: pytest.MonkeyPatch
) -> None:
    def pausing(self: Any, prompt: str, *, prefix: str = "") -> Iterator[str]:
        yield "Blue whales "
        self.on_notice("nothing received for 3 s yet")
        yield "eat krill [1]."

    monkeypatch.setattr("crx_runtimes.fake.generator.FakeGenerator.generate", pausing)
    monkeypatch.setattr(
        "crx_runtimes.fake.generator.FakeGenerator.notify",
        lambda self, on_notice: setattr(self, "on_notice", on_notice),
        raising=False,
    )
    done = ask(crx, "fake:")
    assert done.out.startswith("Blue whales eat krill [1].\n")
    assert done.err == "\ncrx: nothing received for 3 s yet; meanwhile see docs/whales.md:3\n"


def test_five_passages_at_most_are_told_instead_of_an_answer(crx: Crx, here: Path) -> None:
    for at in range(9):
        (here / "docs" / f"{at}.md").write_text(f"Blue whale {at * 7919} eats krill.\n")
    crx("index", "docs", "-q")
    done = crx("ask", QUESTION, "--with", "fake:stop=0", "-k", 9)
    told, _ = done.err.splitlines()
    assert (done.code, done.out) == (7, "")
    assert told.startswith("crx: no answer; see docs/")
    assert told.count("docs/") == 5


def test_an_interrupt_leaves_the_text_so_far(crx: Crx, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(self: object, prompt: str, *, prefix: str = "") -> Iterator[str]:
        yield "Krill [1]. And"
        raise KeyboardInterrupt

    monkeypatch.setattr("crx_runtimes.fake.generator.FakeGenerator.generate", interrupted)
    assert ask(crx, "fake:") == Done(
        130,
        "Krill [1]. And\n\n[1] docs/whales.md:3  Whales\n",
        "crx: interrupted; the answer is cut off here\n",
    )


def test_json_holds_the_answer_its_citations_and_whether_it_is_complete(crx: Crx) -> None:
    done = ask(crx, "fake:", "--json")
    answer = json.loads(done.out)
    (citation,) = answer.pop("citations")
    assert citation | {"uri": "docs/whales.md"} == {
        "number": 1,
        "uri": "docs/whales.md",
        "title": "Whales",
        "start": 0,
        "end": len(WHALES),
        "line": 3,
        "lines": [1, 7],
        "pages": None,
        "fragment": "",
        "anchor": None,
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


def test_json_of_a_failed_answer_is_marked_incomplete(crx: Crx) -> None:
    done = ask(crx, "fake:stop=11", "--json")
    answer = json.loads(done.out)
    assert (done.code, answer["text"], answer["complete"]) == (7, "Blue whales", False)


def test_prompt_prints_what_ask_would_send(crx: Crx) -> None:
    done = crx("prompt", QUESTION, "-k", 1)
    assert done.code == 0
    assert WHALES in done.out
    assert BREAD not in done.out
    assert done.out.index(WHALES) < done.out.index(QUESTION)
    assert done.err.startswith("crx: passages: 1; tokens: ")
    printed = json.loads(crx("prompt", QUESTION, "-k", 1, "--json").out)
    assert printed["prompt"] + "\n" == done.out
    assert [each["text"] for each in printed["passages"]] == [WHALES]


def test_a_prompt_without_passages_is_nothing_found(crx: Crx) -> None:
    nothing = "crx: nothing found: no document meets the filter\n"
    assert crx("prompt", QUESTION, "--where", "lang=xx") == Done(1, "", nothing)


def test_the_whole_corpus_is_quoted_in_a_fixed_order(crx: Crx) -> None:
    one, other = (crx("prompt", "--whole", question).out for question in (QUESTION, "steam?"))
    head = one[: one.index("Question:")]
    assert other.startswith(head)
    assert head.index(BREAD) < head.index(WHALES)
    done = crx("ask", "--whole", QUESTION, "--with", "fake:")
    assert (done.code, done.out.splitlines()[0]) == (
        0,
        "Bake at 240 degrees with steam. [1] Blue whales eat krill. [2]",
    )


def test_whole_excludes_options_that_choose_passages(crx: Crx) -> None:
    done = crx("ask", "--whole", QUESTION, "--with", "fake:", "-k", 3, "--window", 1)
    assert done == Done(2, "", "crx: --whole reads all documents; leave out -k and --window\n")


def test_status_names_whole_if_a_prompt_can_hold_the_corpus(crx: Crx) -> None:
    done = crx("status")
    assert "a prompt can hold all 24 tokens: crx ask --whole\n" in done.out


def test_the_words_of_a_question_need_no_quotes(crx: Crx) -> None:
    whole = crx("ask", QUESTION, "--with", "fake:")
    assert crx("ask", *QUESTION.split(), "--with", "fake:") == whole
