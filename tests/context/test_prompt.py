"""The prompt: its text, and that only the template is parsed for placeholders."""

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crx._services.prompt import FIRMER, Prompt
from crx.errors import UsageError

TEXTS = st.text() | st.sampled_from(["{chunk}", "{document}", "{}", "</document>", "{glossary!r}"])


def test_the_default_prompt_is_the_published_one() -> None:
    prompt = Prompt.of()
    assert prompt.prefix("DOC") + prompt.suffix("CHUNK") == (
        "<document>\nDOC\n</document>\n"
        "Here is the chunk we want to situate within the whole document\n"
        "<chunk>\nCHUNK\n</chunk>\n"
        "Please give a short succinct context to situate this chunk within the overall document"
        " for the purposes of improving search retrieval of the chunk. Answer only with the"
        " succinct context and nothing else."
    )


@given(TEXTS, TEXTS, TEXTS)
def test_texts_are_inserted_unchanged(document: str, chunk: str, glossary: str) -> None:
    prompt = Prompt.of("{glossary}|{document}|{chunk}|", glossary=glossary)
    assert prompt.prefix(document) == f"{glossary}|{document}|"
    assert prompt.suffix(chunk) == f"{chunk}|"


def test_a_firmer_prompt_differs_only_after_the_chunk() -> None:
    prompt = Prompt.of()
    assert prompt.suffix("c", firmer=True) == prompt.suffix("c") + FIRMER


def test_a_glossary_without_a_placeholder_comes_first() -> None:
    prompt = Prompt.of("{document}{chunk}", glossary="EBIT: earnings")
    assert prompt.prefix("D") == "<glossary>\nEBIT: earnings\n</glossary>\nD"


@pytest.mark.parametrize(
    ("template", "fact"),
    [
        ("{document} {chunk} {title}", "unknown placeholder {title}"),
        ("{document} {chunk} {}", "unknown placeholder {}"),
        ("{document}", "must contain {chunk} exactly once"),
        ("{chunk} {chunk} {document}", "must contain {chunk} exactly once"),
        ("{chunk} {document}", "{document} must stand before {chunk}"),
    ],
)
def test_a_template_with_wrong_placeholders_is_refused(template: str, fact: str) -> None:
    with pytest.raises(UsageError, match=r"my\.txt: ") as error:
        Prompt.of(template, name="my.txt")
    assert fact in str(error.value)


def test_braces_that_are_not_a_placeholder_are_kept() -> None:
    assert Prompt.of('{"a": 1} {document}{chunk}').prefix("D") == '{"a": 1} D'


def test_the_hash_changes_with_template_and_glossary() -> None:
    prompts = [Prompt.of(), Prompt.of(glossary="x"), Prompt.of("{document}{chunk}")]
    assert len({p.hash for p in prompts}) == 3
    assert Prompt.of().hash == Prompt.of().hash


def test_template_and_glossary_are_read_from_files(tmp_path: Path) -> None:
    template, glossary = tmp_path / "t.txt", tmp_path / "g.txt"
    template.write_text("{glossary}: {document} {chunk}\n", encoding="utf-8")
    glossary.write_text("Größe: size\n", encoding="utf-8")
    assert Prompt.read(template, glossary=glossary).prefix("D") == "Größe: size: D "
    with pytest.raises(UsageError, match="no such file"):
        Prompt.read(tmp_path / "absent.txt")


@pytest.mark.parametrize("tag", ["</document>", "</ DOCUMENT >", "<chunk>", "<document id=1>"])
def test_no_text_closes_or_opens_an_element_of_the_template(tag: str) -> None:
    prompt = Prompt.of()
    whole = prompt.prefix(f"a {tag} b") + prompt.suffix(f"c {tag} d")
    elements = re.findall(r"</?(?:document|chunk)\b[^>]*>", whole, re.IGNORECASE)
    assert elements == ["<document>", "</document>", "<chunk>", "</chunk>"]


def test_other_tags_and_a_template_without_tags_leave_a_text_as_it_is() -> None:
    text = "<p>a < b</p> <documents> {chunk}"
    assert Prompt.of().prefix(text).startswith(f"<document>\n{text}\n</document>")
    assert Prompt.of("{document} | {chunk}").prefix("</document>") == "</document> | "
