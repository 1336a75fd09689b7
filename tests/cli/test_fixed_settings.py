"""Settings that an index fixes: defaults are for new indexes, arguments must agree."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path

import pytest
from command_line import BREAD, Crx, Done

import crx as crx_package
from crx.config import Settings, trust
from crx_serve.served_index import open_indexes
from crx_serve.service import SearchService

FIXED = [each for each in fields(Settings) if each.metadata["scope"] == "index"]
BUILT = {"embedder": "hashed"}
COMMANDS = (
    ("search", "krill"),
    ("search", "krill", "--format", "vimgrep"),
    ("status",),
    ("index", "-q"),
    ("index", "docs", "-q"),
    ("prompt", "krill"),
    ("show", "docs/whales.md"),
    ("verify",),
    ("export", "contexts.jsonl"),
)


def other_value(name: str) -> str:
    """Return a value of a setting that the index of a test was not built with."""
    setting = next(each for each in FIXED if each.name == name)
    built = BUILT.get(name, setting.default)
    if isinstance(built, int):
        return str(built + 7)
    known: tuple[str, ...] = setting.metadata["harmless"] or ()
    return next(each for each in (*known, "other") if each != built)


def set_default(source: str, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Set another default of a setting in one of its sources."""
    value = other_value(name)
    line = f"{name} = {value}\n" if value.isdigit() else f'{name} = "{value}"\n'
    if source == "variable":
        monkeypatch.setenv(f"CRX_{name.upper()}", value)
    elif source == "user":
        (Path(os.environ["CRX_HOME"]) / "config.toml").write_text(line)
    else:
        Path("crx.toml").write_text(line)
        trust(Path("crx.toml"))


def without_times(commands: Sequence[Done]) -> list[tuple[int, str]]:
    """Return the codes and the answers, but for the minute in which `crx index` last wrote."""
    return [(done.code, re.sub("(?m)^last written on .*", "", done.out)) for done in commands]


every_setting = pytest.mark.parametrize("name", [each.name for each in FIXED])
every_source = pytest.mark.parametrize("source", ["user", "project", "variable"])


@every_source
@every_setting
def test_another_default_changes_nothing_about_an_index(
    crx: Crx, indexed: Path, monkeypatch: pytest.MonkeyPatch, source: str, name: str
) -> None:
    before = [crx(*command) for command in COMMANDS]
    assert {done.code for done in before} == {0}
    set_default(source, name, monkeypatch)
    after = [crx(*command) for command in COMMANDS]
    assert without_times(after) == without_times(before)


@every_source
@every_setting
def test_a_server_opens_an_index_with_its_own_settings(
    crx: Crx, indexed: Path, monkeypatch: pytest.MonkeyPatch, source: str, name: str
) -> None:
    set_default(source, name, monkeypatch)
    service = SearchService(open_indexes([f"notes={indexed}"]))
    index = service.index("notes")
    assert str(getattr(index.configuration, name)) == index.settings[name] != other_value(name)
    assert index.search("krill").passages[0].uri.endswith("whales.md")


@every_setting
def test_a_refresh_cuts_as_the_index_was_made(
    crx: Crx, docs: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    long = "\n\n".join(BREAD.replace("240", str(number)) for number in range(200))
    (docs / "long.md").write_text(long)
    assert crx("index", docs, "-q", "--index", "whole.crx").code == 0
    (docs / "long.md").unlink()
    assert crx("index", docs, "-q", "--index", "grown.crx").code == 0
    set_default("user", name, monkeypatch)
    (docs / "long.md").write_text(long)
    assert crx("index", "-q", "--index", "grown.crx").code == 0
    stored = []
    for place in ("whole.crx", "grown.crx"):
        with crx_package.open(place, create=False) as index:
            hits = index.search("bake", k=1000, window=0).hits
            stored.append(sorted((hit.text, hit.outline) for hit in hits))
    assert stored[0] == stored[1]


@every_setting
def test_a_refresh_says_that_a_default_is_for_new_indexes(
    crx: Crx, indexed: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    set_default("variable", name, monkeypatch)
    with crx_package.open(indexed, create=False) as index:
        built = index.settings[name]
    done = crx("index", "-q")
    assert done.err == (
        f"crx: {name} = {other_value(name)} (from CRX_{name.upper()}) is for new indexes; "
        f"this one was built with {built}\n"
    )


@every_setting
@pytest.mark.parametrize(
    "command", [("search", "krill"), ("index", "docs"), ("prompt", "krill"), ("watch",)]
)
def test_an_argument_that_contradicts_an_index_is_refused(
    crx: Crx, indexed: Path, command: tuple[str, ...], name: str
) -> None:
    done = crx(*command, "--set", f"{name}={other_value(name)}")
    assert (done.code, done.out) == (4, "")
    assert f"built with {name} = " in done.err
    assert f"not {other_value(name)}; leave it out, or index into a new folder" in done.err


@every_setting
def test_an_argument_that_says_what_the_index_has_wins_over_a_default(
    crx: Crx, indexed: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    set_default("user", name, monkeypatch)
    with crx_package.open(indexed, create=False) as index:
        built = index.settings[name]
    assert crx("search", "krill", "--set", f"{name}={built}").code == 0


@every_setting
def test_setting_a_default_says_that_it_is_for_new_indexes(crx: Crx, name: str) -> None:
    done = crx("config", "set", name, other_value(name))
    assert (done.code, done.err) == (
        0,
        "crx: for new indexes; one that exists keeps what it was made with\n",
    )
