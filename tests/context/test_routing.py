"""Prompts of folders: the nearest wins, and another one costs its own documents alone."""

from __future__ import annotations

from pathlib import Path

import pytest

import crx
from crx.backends.fake.contextualizer import Fake
from crx.cli import run
from crx.config import resolve, write
from crx.context.prompt import Prompt
from crx.context.routing import ContextRouter
from crx.errors import UsageError
from crx.index import Index
from crx.registry import load_router

SETTINGS = {"embedder": "hashed", "chunk_chars": 120}
TEMPLATE = "{document} {chunk} in the words of "


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with documents in three folders, one in another."""
    monkeypatch.setenv("CRX_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    for folder in ("docs/birds", "docs/legal", "docs/legal/nda"):
        (tmp_path / folder).mkdir(parents=True)
        lines = (f"In year {n} the {folder} counted {n * 37} nests.\n\n" for n in range(8))
        (tmp_path / folder / "text.md").write_text("# Survey\n\n" + "".join(lines))
    return tmp_path


def prompts(here: Path, **words: str) -> None:
    """Write `[prompts]`: the words of which profession for which folder."""
    lines = []
    for folder, who in words.items():
        (here / f"{who}.txt").write_text(TEMPLATE + who)
        lines.append(f'"docs/{folder.replace("_", "/")}" = "{who}.txt"\n')
    (here / "crx.toml").write_text("[prompts]\n" + "".join(lines))


def indexed() -> Index:
    index = crx.open("notes.crx", settings=SETTINGS)
    index.add("docs")
    return index


def generators(index: Index, here: Path) -> dict[str, str]:
    """Return what made the contexts of each folder, by what is written of it on export."""
    from crx.context.records import read_contexts

    index.export_contexts(here / "out.jsonl")
    made = {r.document.rpartition("/")[0]: r.generator for r in read_contexts(here / "out.jsonl")}
    return {folder: made[folder] for folder in sorted(made)}


def hash_of(who: str) -> str:
    return Prompt.of(TEMPLATE + who).hash


def test_the_nearest_folder_s_prompt_wins(here: Path) -> None:
    prompts(here, legal="lawyers", legal_nda="clerks")
    index = indexed()
    outcome = index.contextualize("fake:")
    assert (outcome.coverage, outcome.notes) == (1.0, ())
    made = generators(index, here)
    assert "prompt=" not in made["docs/birds"]
    assert made["docs/legal"].endswith(f"prompt={hash_of('lawyers')}")
    assert made["docs/legal/nda"].endswith(f"prompt={hash_of('clerks')}")


def test_another_prompt_costs_its_own_folder_s_contexts_alone(here: Path) -> None:
    prompts(here, legal="lawyers", legal_nda="clerks")
    with indexed() as index:
        whole = index.contextualize("fake:").chunks
    prompts(here, legal="judges", legal_nda="clerks")
    with crx.open("notes.crx") as index:
        changed = index.contextualize("fake:")
        assert (changed.made, changed.reused) == ({"ok": whole // 3}, whole - whole // 3)
        made = generators(index, here)
        assert made["docs/legal"].endswith(hash_of("judges"))
        assert made["docs/legal/nda"].endswith(hash_of("clerks"))
        assert index.contextualize("fake:").made == {}


def test_indexing_anew_keeps_what_each_folder_s_prompt_made(here: Path) -> None:
    prompts(here, legal="lawyers")
    with indexed() as index:
        index.contextualize("fake:")
        made = generators(index, here)
        index.remove(*(row.uri for row in index.store.documents()))
        index.add("docs")
        assert generators(index, here) == made


def test_a_folder_without_documents_is_named(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    prompts(here, legl="lawyers")
    indexed().close()
    assert run(["contextualize", "--index", "notes.crx", "--with", "fake:"]) == 0
    folder = here / "docs" / "legl"
    said = f"crx: {folder}: no document lies in it; its prompt was not used\n"
    assert said in capsys.readouterr().err


def test_an_unknown_placeholder_of_a_folder_s_prompt_is_one_line(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    prompts(here, legal="lawyers")
    (here / "lawyers.txt").write_text("{document} {chunk} {client}")
    indexed().close()
    assert run(["contextualize", "--index", "notes.crx", "--with", "fake:"]) == 2
    assert capsys.readouterr().err == (
        f"crx: {here / 'lawyers.txt'}: unknown placeholder {{client}}; "
        "use {document}, {chunk} and, optionally, {glossary}\n"
    )


def test_a_folder_s_prompt_has_the_glossary_of_all(here: Path) -> None:
    (here / "lawyers.txt").write_text(TEMPLATE + "lawyers")
    templates = {"/docs/legal": "lawyers.txt"}
    glossary = Prompt.of(glossary="EBIT: earnings")
    router = load_router("fake:", prompt=glossary, templates=templates)
    with_glossary = Prompt.of(TEMPLATE + "lawyers", glossary="EBIT: earnings")
    assert router.contextualizer_for("/docs/legal/a.md").fingerprint.endswith(with_glossary.hash)
    assert router.contextualizer_for("/docs/birds/a.md").fingerprint.endswith(glossary.hash)


def test_records_of_a_file_lie_in_the_file_s_folder() -> None:
    fake, other = Fake(), Fake().with_prompt(Prompt.of())
    router = ContextRouter(fake, by_folder={"/docs/legal": other})
    assert router.contextualizer_for("/docs/legal/corpus.jsonl#1") is other
    assert router.contextualizer_for("/docs/legalese/a.md") is fake
    assert router.contextualizer_for("id-7") is fake


def test_a_folder_called_c_sharp_is_no_part_of_its_sibling() -> None:
    fake, sharp, plain = Fake(), Fake().with_prompt(Prompt.of()), Fake().with_prompt(Prompt.of())
    router = ContextRouter(fake, by_folder={"/docs/C": plain, "/docs/C#": sharp})
    assert router.contextualizer_for("/docs/C#/a.md") is sharp
    assert router.contextualizer_for("/docs/C#/corpus.jsonl#a/1") is sharp
    assert router.contextualizer_for("/docs/C/a.md") is plain
    assert router.contextualizer_for("/docs/C#sharp/a.md") is fake


class Plain:
    """A contextualizer that takes no prompt."""

    fingerprint = "plain"

    def situate(self, document, chunks):  # type: ignore[no-untyped-def]
        yield from ()


def test_what_takes_no_prompt_is_named(here: Path) -> None:
    prompts(here, legal="lawyers")
    with pytest.raises(UsageError, match=r"plain: takes no prompt; take \[prompts\] out"):
        indexed().contextualize(Plain())


def test_settings_written_beside_them_leave_prompts_alone(here: Path) -> None:
    prompts(here, legal="lawyers")
    write(here / "crx.toml", {"k": 7})
    resolved = resolve()
    assert resolved.settings.k == 7
    assert resolved.templates == {str(here / "docs/legal"): str(here / "lawyers.txt")}


@pytest.mark.parametrize("table", ['prompts = "a.txt"', '[prompts]\n"docs" = 7'])
def test_prompts_that_are_no_table_of_files_are_refused(here: Path, table: str) -> None:
    (here / "crx.toml").write_text(table)
    with pytest.raises(UsageError, match=r"crx\.toml: \[prompts\] wants lines like"):
        resolve()


def test_config_shows_them(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    prompts(here, legal="lawyers")
    assert run(["config"]) == 0
    assert "prompt of docs/legal: lawyers.txt\n" in capsys.readouterr().out
