"""Prompts of folders: the nearest one is used, and a new one affects its own documents only."""

from __future__ import annotations

from pathlib import Path

import pytest

import crx
from crx._cli import run
from crx._context.sources import ContextRouter
from crx._index.handle import Index
from crx._services.prompt import Prompt
from crx.config import resolve, trust, write
from crx.context_registry import load_router
from crx.errors import UsageError
from crx_runtimes.fake.contextualizer import Fake

SETTINGS = {"embedder": "hashed", "chunk_chars": 120}
TEMPLATE = "{document} {chunk} in the words of "


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with documents in three folders, one inside another."""
    monkeypatch.chdir(tmp_path)
    for folder in ("docs/birds", "docs/legal", "docs/legal/nda"):
        (tmp_path / folder).mkdir(parents=True)
        lines = (f"In year {n} the {folder} counted {n * 37} nests.\n\n" for n in range(8))
        (tmp_path / folder / "text.md").write_text("# Survey\n\n" + "".join(lines))
    return tmp_path


def prompts(here: Path, **words: str) -> None:
    """Write `[prompts]` with a template in the words of a profession for each folder."""
    lines = []
    for folder, who in words.items():
        (here / f"{who}.txt").write_text(TEMPLATE + who)
        lines.append(f'"docs/{folder.replace("_", "/")}" = "{who}.txt"\n')
    (here / "crx.toml").write_text("[prompts]\n" + "".join(lines))
    trust(here / "crx.toml")


def indexed() -> Index:
    index = crx.open("notes.crx", settings=SETTINGS)
    index.add("docs")
    return index


def generators(index: Index, here: Path) -> dict[str, str]:
    """Return the generator of the contexts of each folder, as exported."""
    from crx._context.records import read_contexts

    index.export_contexts(here / "out.jsonl")
    made = {r.document.rpartition("/")[0]: r.generator for r in read_contexts(here / "out.jsonl")}
    return {folder: made[folder] for folder in sorted(made)}


def hash_of(who: str) -> str:
    return Prompt.of(TEMPLATE + who).hash


def test_the_prompt_of_the_nearest_folder_is_used(here: Path) -> None:
    prompts(here, legal="lawyers", legal_nda="clerks")
    index = indexed()
    outcome = index.contextualize("fake:")
    assert (outcome.coverage, outcome.notes) == (1.0, ())
    made = generators(index, here)
    assert "prompt=" not in made["docs/birds"]
    assert made["docs/legal"].endswith(f"prompt={hash_of('lawyers')}")
    assert made["docs/legal/nda"].endswith(f"prompt={hash_of('clerks')}")


def test_a_new_prompt_makes_only_its_own_folder_s_contexts_stale(here: Path) -> None:
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


def test_indexing_again_reuses_the_contexts_of_each_prompt(here: Path) -> None:
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


def test_a_folder_s_prompt_gets_the_general_glossary(here: Path) -> None:
    (here / "lawyers.txt").write_text(TEMPLATE + "lawyers")
    templates = {"/docs/legal": "lawyers.txt"}
    glossary = Prompt.of(glossary="EBIT: earnings")
    router = load_router("fake:", prompt=glossary, templates=templates)
    with_glossary = Prompt.of(TEMPLATE + "lawyers", glossary="EBIT: earnings")
    assert router.contextualizer_for("/docs/legal/a.md").fingerprint.endswith(with_glossary.hash)
    assert router.contextualizer_for("/docs/birds/a.md").fingerprint.endswith(glossary.hash)


def test_records_of_a_file_belong_to_the_file_s_folder() -> None:
    fake, other = Fake(), Fake().with_prompt(Prompt.of())
    router = ContextRouter(fake, by_folder={"/docs/legal": other})
    assert router.contextualizer_for("/docs/legal/corpus.jsonl#1") is other
    assert router.contextualizer_for("/docs/legalese/a.md") is fake
    assert router.contextualizer_for("id-7") is fake


def test_a_number_sign_in_a_folder_s_name_is_part_of_the_name() -> None:
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


def test_a_contextualizer_without_prompts_is_refused_with_folder_prompts(here: Path) -> None:
    prompts(here, legal="lawyers")
    with pytest.raises(UsageError, match=r"plain: takes no prompt; remove \[prompts\]"):
        indexed().contextualize(Plain())


def test_writing_settings_keeps_the_prompts(here: Path) -> None:
    prompts(here, legal="lawyers")
    write(here / "crx.toml", {"k": 7})
    resolved = resolve()
    assert resolved.settings.k == 7
    assert resolved.templates == {str(here / "docs/legal"): str(here / "lawyers.txt")}


@pytest.mark.parametrize("table", ['prompts = "a.txt"', '[prompts]\n"docs" = 7'])
def test_prompts_must_be_a_table_of_files(here: Path, table: str) -> None:
    (here / "crx.toml").write_text(table)
    with pytest.raises(UsageError, match=r"crx\.toml: \[prompts\] wants lines like"):
        resolve()


def test_config_lists_the_prompts(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    prompts(here, legal="lawyers")
    assert run(["config"]) == 0
    assert "prompt of docs/legal: lawyers.txt\n" in capsys.readouterr().out
