"""Documents that try to steer the context model, a terminal, JSON or the prompt of an answer."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from crx_process import CrxHere, make_folders
from injections import ATTACKS, COUNT, Injection, make_injections

import crx
from crx._answer.prompt import SOURCE_PATTERN, quote
from crx._cli.passages import GENERATED_CONTEXT
from crx._context.controls import has_controls
from crx._index.handle import Index
from crx._services.prompt import Prompt
from crx.types import Chunk
from crx_contexts.validate import ContextValidator

INJECTIONS = make_injections()
# What a terminal would obey or hide.
CONTROLS = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u206f\U000e0000-\U000e007f]"
)


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Index]:
    """An index of all, with contexts of a model that quotes its chunks."""
    folder = tmp_path_factory.mktemp("hostile") / "notes.crx"
    with crx.open(folder, settings={"embedder": "hashed", "reranker": ""}) as index:
        index.add_documents([each.document for each in INJECTIONS])
        index.contextualize("fake:")
        yield index


def chunk_of(injection: Injection) -> Chunk:
    text = injection.document.text
    return Chunk(0, 0, len(text), 0, 0, 0, text)


def test_the_documents_are_200_and_hold_each_attack_equally_often() -> None:
    assert len({each.document.text for each in INJECTIONS}) == COUNT == 200
    assert [each.attack for each in INJECTIONS].count("tag characters") == COUNT // len(ATTACKS)
    assert make_injections() == INJECTIONS


def test_no_context_and_no_outline_of_theirs_has_a_control_character(index: Index) -> None:
    store = index.store
    rows = [row for doc in store.documents() for row in store.chunks(store.chunk_keys(doc.doc))]
    assert sum(bool(row.context) for row in rows) > COUNT // 2
    assert [row.uri for row in rows if has_controls(row.context) or has_controls(row.outline)] == []


def test_a_model_that_answers_with_the_code_word_alone_is_rejected() -> None:
    accepted = [
        each.attack
        for each in INJECTIONS
        if ContextValidator(each.document).validate(each.word, chunk=chunk_of(each)).text
    ]
    assert accepted == []


def test_a_model_that_repeats_the_attack_is_rejected() -> None:
    accepted = [
        each.attack
        for each in INJECTIONS
        if ContextValidator(each.document)
        .validate(ATTACKS[each.attack](each.word), chunk=chunk_of(each))
        .text
    ]
    assert accepted == []


def test_no_document_closes_the_element_that_it_stands_in() -> None:
    prompt = Prompt.of()
    for each in INJECTIONS:
        whole = prompt.prefix(each.document.text) + prompt.suffix(each.document.text)
        tags = re.findall(r"</?(?:document|chunk)\b[^>]*>", whole)
        assert tags == ["<document>", "</document>", "<chunk>", "</chunk>"], each.attack


def test_the_prompt_of_an_answer_holds_each_passage_once(index: Index) -> None:
    for attack in ATTACKS:
        (query,) = {each.word for each in INJECTIONS[:20] if each.attack == attack}
        passages = index.search(f"harbour {query}", k=5).passages
        quoted = quote("which harbour?", passages)
        found = [match["text"] for match in SOURCE_PATTERN.finditer(quoted.text)]
        assert len(found) == len(passages), attack
        assert not re.search(r"\[\d+\]", "".join(found)), attack


def test_what_is_shown_is_escaped_and_contexts_are_labelled(
    index: Index, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = CrxHere(make_folders(tmp_path)[0], capsys)
    shown = labelled = 0
    for each in INJECTIONS[:60]:
        uri = each.document.uri
        text = command("show", uri, "--contexts", "--index", index.path)
        encoded = command("show", uri, "--json", "--index", index.path)
        assert (text.code, encoded.code) == (0, 0)
        assert not CONTROLS.findall(text.out + encoded.out), each.attack
        (chunk,) = json.loads(encoded.out)["chunks"]
        assert chunk["text"] == index.store.text(index.store.document(uri).doc)  # type: ignore[union-attr]
        shown += bool(chunk["context"])
        labelled += f"\n{GENERATED_CONTEXT}: " in text.out
    assert shown == labelled > 0


def test_a_search_is_escaped_valid_json_and_labels_contexts(
    index: Index, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = CrxHere(make_folders(tmp_path)[0], capsys)
    for attack in ATTACKS:
        words = ("search", "harbour", attack, "-k", "40", "--index", index.path)
        explained, encoded = command(*words, "--explain", "--full"), command(*words, "--json")
        assert (explained.code, encoded.code) == (0, 0)
        assert not CONTROLS.findall(explained.out + encoded.out), attack
        assert json.loads(encoded.out)["passages"]
        assert f"; {GENERATED_CONTEXT}: " in explained.out
