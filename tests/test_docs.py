"""The documentation: the site builds without a warning, is complete, and what it shows runs."""

from __future__ import annotations

import html
import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

import crx
import crx_evaluate
from crx import errors
from crx._cli import cli
from crx._models.store import list_models
from crx.config import ENVIRONMENT, describe, resolve, trust
from crx.registry import DEFAULT_EMBEDDER
from crx.retrieve.query_fields import split_fields

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
PAGES = sorted(DOCS.rglob("*.md"))
CONTRACT = (
    "# Supply agreement\n\nThe supplier delivers the goods within thirty days, and the buyer pays "
    "for the goods.\n\nEither party may end the agreement in writing.\n"
)
# What is typed at the prompts of a command in the tutorial.
TYPED = {
    "crx eval init": (
        "how early can Fabrikam leave its office?\nhow long does Contoso have to pay an invoice?\n"
    )
}

# Packages that the examples of a page import and that are not installed by default.
NEEDED = {"frameworks.md": ("langchain_core", "llama_index.core", "haystack")}

COPY_BOTH_FILES = """
import pathlib, shutil
for name in ("crx.db", "crx.db-wal"):
    if pathlib.Path(".crx", name).exists():
        shutil.copy(pathlib.Path(".crx", name), "restored")
"""
BACK_UP = """
import sqlite3
sqlite3.connect(".crx/crx.db").backup(sqlite3.connect("restored/crx.db"))
"""


def name_of(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def fenced(text: str, language: str) -> list[tuple[str, str]]:
    """Return the blocks of a language: what follows its name, and the text."""
    pattern = rf"^```{language}\b(.*)\n((?:.*\n)*?)^```$"
    return re.findall(pattern, text, re.MULTILINE)


def shown_commands(text: str) -> Iterator[str]:
    for _, block in fenced(text, "console"):
        for line in block.splitlines():
            if line.startswith("$ crx "):
                yield line.removeprefix("$ crx ")


def every_command(
    command: click.Command = cli, name: str = "crx"
) -> Iterator[tuple[str, click.Command]]:
    yield name, command
    if isinstance(command, click.Group):
        context = click.Context(command)
        for member in command.list_commands(context):
            found = command.get_command(context, member)
            assert found is not None
            yield from every_command(found, f"{name} {member}")


COMMANDS = dict(every_command())


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with documents and an empty question set, and settings of its own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CRX_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("CRX_EMBEDDER", "hashed")
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "contract.md").write_text(CONTRACT)
    (tmp_path / "questions").mkdir()
    return tmp_path


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, built from the pages as they are."""
    if sys.version_info < (3, 11):
        pytest.skip("the site generator needs Python 3.11")
    into = tmp_path_factory.mktemp("docs")
    command = [sys.executable, str(DOCS / "build.py"), "--into", str(into)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return into / "site"


def shown(page: Path) -> str:
    """Return the text of a page as a browser shows it."""
    return html.unescape(re.sub(r"<[^>]+>", "", page.read_text(encoding="utf-8")))


def test_every_command_and_option_is_on_the_site(site: Path) -> None:
    page = (site / "reference" / "cli.md").read_text(encoding="utf-8")
    sections = dict(re.findall(r"^#+ (crx.*)\n((?:(?!#+ crx).*\n)*)", page, re.MULTILINE))
    assert list(sections) == list(COMMANDS)
    for name, command in COMMANDS.items():
        options = {option for each in command.params for option in each.opts if option[0] == "-"}
        assert {option for option in options if option not in sections[name]} <= {"-h", "--help"}
    text = shown(site / "reference" / "cli.html")
    assert {name for name in COMMANDS if f"{name}¶" not in text} == set()


def test_every_setting_and_variable_is_on_the_site(site: Path) -> None:
    text = shown(site / "reference" / "settings.html")
    words = set(re.findall(r"\w+(?:\.\w+)*", text))
    assert {each.name for each in describe()} | {each.name for each in ENVIRONMENT} <= words


def test_every_exit_code_is_on_the_site(site: Path) -> None:
    text = shown(site / "reference" / "exit-codes.html")
    failures = [each for each in vars(errors).values() if isinstance(each, type)]
    named = {
        each.__name__ for each in failures if issubclass(each, errors.CrxError) and each.exit_code
    }
    assert {name for name in named - {"CrxError"} if f"crx.errors.{name}" not in text} == set()


def test_every_public_name_is_on_the_site(site: Path) -> None:
    text = (site / "reference" / "python.html").read_text(encoding="utf-8")
    anchors = set(re.findall(r'id="crx\.(?:errors\.)?(\w+)"', text))
    assert set(crx.__all__) <= anchors
    assert set(crx_evaluate.__all__) <= set(re.findall(r'id="crx_evaluate\.(?:\w+\.)*(\w+)"', text))


def test_the_site_asks_for_nothing_outside_itself(site: Path) -> None:
    loads = re.compile(r"<(?:link|script|img|iframe|source)\b[^>]*?=[\"']?(?:https?:)?//[^\s>]*")
    found = {(page.name, *loads.findall(page.read_text())) for page in site.rglob("*.html")}
    assert {each for each in found if len(each) > 1} == set()


def test_llms_txt_lists_every_page_and_each_has_a_copy(site: Path) -> None:
    listed = re.findall(r"\]\((.+\.md)\)", (site / "llms.txt").read_text(encoding="utf-8"))
    pages = {page.relative_to(site).with_suffix(".md").as_posix() for page in site.rglob("*.html")}
    assert set(listed) == pages - {"404.md"}
    whole = (site / "llms-full.txt").read_text(encoding="utf-8")
    assert all((site / page).read_text(encoding="utf-8") in whole for page in listed)
    assert "::: " not in whole
    assert "### crx.Index.search(self, query: str = '', " in whole
    assert "### crx.protocols.Embedder.embed(self, texts: Sequence[str], " in whole


@pytest.mark.parametrize("page", [*PAGES, *sorted(ROOT.glob("*.md"))], ids=name_of)
def test_every_command_that_is_shown_can_be_parsed(page: Path, folder: Path) -> None:
    text = page.read_text(encoding="utf-8")
    for line in shown_commands(text):
        parse(shlex.split(line, comments=True))
    for line in re.findall(r"`crx ([^`]+)`", text):
        options_exist(shlex.split(line))


def parse(arguments: list[str]) -> None:
    """Parse a command line down to its last command; raises what crx would say of it."""
    context = cli.make_context("crx", arguments)
    while isinstance(context.command, click.Group):
        rest = [*context._protected_args, *context.args]
        if not rest:
            return
        name, command, rest = context.command.resolve_command(context, rest)
        assert command is not None
        context = command.make_context(name, rest, parent=context)


def options_exist(words: list[str]) -> None:
    """Check that a command has the options it is shown with; its arguments may be missing."""
    name = "crx"
    while words and f"{name} {words[0]}" in COMMANDS:
        name = f"{name} {words.pop(0)}"
    assert name != "crx" or words[0].startswith("-"), words
    known = {option for each in COMMANDS[name].params for option in each.opts} | {"--help"}
    assert {word for word in words if word.startswith("-")} <= known, name


@pytest.mark.parametrize("page", [p for p in PAGES if fenced(p.read_text(), "python")], ids=name_of)
def test_every_example_in_python_runs(page: Path, folder: Path) -> None:
    for package in NEEDED.get(page.name, ()):
        pytest.importorskip(package)
    for _, block in fenced(page.read_text(encoding="utf-8"), "python"):
        exec(compile(block, name_of(page), "exec"), {})


def test_the_fields_of_people_that_are_shown_find_a_mail(folder: Path) -> None:
    people = "From: Zofia Nowak <zofia@x.org>\nTo: Ole Berg <ole@y.org>\n"
    (folder / "docs" / "a.eml").write_text(f"{people}Subject: Budget\n\nThe budget is spent.\n")
    guide = (DOCS / "guides" / "commands.md").read_text(encoding="utf-8")
    shown = re.findall(r"`((?:from|to):[^`]+)`", guide)
    with crx.open(folder / "a.crx") as index:
        index.add([folder / "docs"])
        for field in shown:
            where = split_fields(f"budget {field}").where(here=str(folder))
            assert [hit.title for hit in index.search("budget", where=where).hits] == ["Budget"]
    assert len(shown) == 2


def test_the_table_of_prompts_that_is_shown_is_read(folder: Path) -> None:
    ((_, table),) = fenced((DOCS / "guides" / "contexts.md").read_text(), "toml")
    (folder / "crx.toml").write_text(table)
    trust(folder / "crx.toml")
    assert resolve(folder=folder).templates == {
        str(folder / "docs/legal"): str(folder / "legal.txt")
    }


def test_the_question_set_that_is_shown_is_read(folder: Path) -> None:
    guide = (DOCS / "guides" / "evaluation.md").read_text()
    (_, corpus), (_, queries), (_, listed), (_, translated) = fenced(guide, "json")
    (folder / "questions" / "corpus.jsonl").write_text(corpus)
    (folder / "questions" / "queries.jsonl").write_text(queries)
    assert [query.text for query in crx_evaluate.read_set(folder / "questions").queries] == [
        "when does the lease end?"
    ]
    own = folder / "own"
    (own / "contracts").mkdir(parents=True)
    (own / "questions.jsonl").write_text(listed + translated)
    (own / "contracts" / "lease.md").write_text(json.loads(corpus)["text"])
    query, french = crx_evaluate.read_questions(own).queries
    assert query.gold[0].any[0].doc_id == "contracts/lease.md"
    assert french.lang == "fr > en"


def test_the_tutorial_runs_and_prints_what_it_shows(folder: Path) -> None:
    text = (DOCS / "tutorial.md").read_text(encoding="utf-8")
    for title, block in fenced(text, "markdown"):
        path = folder / title.partition('"')[2].removesuffix('"')
        path.parent.mkdir(exist_ok=True)
        path.write_text(block)
    with_model = DEFAULT_EMBEDDER in list_models()
    environ = {
        **os.environ,
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
    }
    if with_model:
        del environ["CRX_EMBEDDER"]
    (folder / "questions").rmdir()
    for _, block in fenced(text, "console"):
        for part in re.split(r"^\$ ", block, flags=re.M)[1:]:
            command, _, expected = part.partition("\n")
            typed = next((t for begin, t in TYPED.items() if command.startswith(begin)), "")
            done = subprocess.run(
                ["bash", "-c", command],
                input=typed,
                env=environ,
                capture_output=True,
                text=True,
                check=False,
            )
            assert done.returncode == 0, done.stderr
            if expected and with_model:
                assert done.stdout.strip() == expected.strip()


@pytest.mark.parametrize(
    "program", [COPY_BOTH_FILES, BACK_UP], ids=["both files", "sqlite's backup"]
)
def test_an_index_is_restored_from_a_backup_as_the_guide_makes_it(
    program: str, folder: Path
) -> None:
    with crx.open(".crx") as index:
        index.add("docs")
    (folder / "restored").mkdir()
    # In a process of its own: two libraries of SQLite must not open one file in the same.
    subprocess.run([sys.executable, "-c", program], check=True)
    with crx.open("restored", create=False) as index:
        assert index.verify().faults == ()
        assert "Either party may end" in index.search("end the agreement")[0].text
