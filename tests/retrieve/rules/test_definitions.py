"""A query that is a name finds the chunk that describes the name before others that say it."""

from __future__ import annotations

from pathlib import Path

import pytest

import crx

TEXT = "It sets how large the log may grow before the server writes a checkpoint."
OTHERS = {
    "keywords": "max_size\nmax_count\nmin_size\nmax_size\nmax_size\n",
    "tip": "Raise max_size if max_size is too small: max_size is what max_size says. max_size!",
}


def first(tmp_path: Path, texts: dict[str, str], query: str) -> str:
    for name, text in texts.items():
        (tmp_path / f"{name}.txt").write_text(text)
    with crx.open(tmp_path / "notes.crx", settings={"embedder": "none"}) as index:
        index.add(tmp_path)
        hits = index.search(query).hits
    assert "definitions" in hits[0].stages
    return Path(hits[0].uri).stem


@pytest.mark.parametrize(
    "line",
    ["max_size", "max_size (integer)", "- `max_size`: a size", "max_size = 3", "  max_size  SIZE"],
)
def test_a_line_that_begins_with_the_name_and_goes_on_below_describes_it(
    tmp_path: Path, line: str
) -> None:
    texts = {**OTHERS, "answer": f"Settings of the log.\n\n{line}\n    {TEXT}\n"}
    assert first(tmp_path, texts, "max_size") == "answer"


def test_an_option_is_described_after_its_short_form_and_not_in_a_synopsis(tmp_path: Path) -> None:
    texts = {
        "synopsis": f"sync [--recursive] [--all]\n[--recursive]\n{TEXT}\nSee --recursive.",
        "answer": f"Options.\n\n  -r, --recursive\n    {TEXT}\n",
    }
    assert first(tmp_path, texts, "--recursive") == "answer"


def test_a_list_of_long_names_describes_none_of_them(tmp_path: Path) -> None:
    names = ("max_size_of_the_log", "max_size_of_all_files", "max_count_of_requests", "min_count")
    texts = {
        **OTHERS,
        "list": "\n".join(["max_size", *names, "- `max_size`", *(f"- `{each}`" for each in names)]),
        "answer": f"Settings of the log. See also the list.\n\nmax_size (integer)\n    {TEXT}\n",
    }
    assert first(tmp_path, texts, "max_size") == "answer"


def test_words_before_the_name_name_its_document(tmp_path: Path) -> None:
    options = f"\n## Options\n\n--force\n:   {TEXT}\n"
    texts = {f"git-{name}": f"# git-{name}\n\nUse.\n{options}" for name in ("push", "tag", "clean")}
    texts["note"] = "git-tag --force: git-tag takes --force, as git-tag says."
    for name, text in texts.items():
        (tmp_path / f"{name}.md").write_text(text)
    with crx.open(tmp_path / "notes.crx", settings={"embedder": "none"}) as index:
        index.add(tmp_path)
        hits = index.search("git-tag --force").hits
        assert not any("definitions" in hit.stages for hit in index.search("what is force?").hits)
    named = [Path(hit.uri).stem for hit in hits if "definitions" in hit.stages]
    assert "git-tag" in named
    assert not {"git-push", "git-clean"} & set(named)


@pytest.mark.parametrize("query", ["max_size", '"max_size"', "MAX_SIZE", "--max_size"])
def test_the_name_is_found_in_any_case_and_with_quotes_or_dashes(
    tmp_path: Path, query: str
) -> None:
    name = query.strip('"-').lower()
    texts = {**OTHERS, "answer": f"Settings of the log.\n\n{name}\n    {TEXT}\n"}
    assert first(tmp_path, texts, query) == "answer"
