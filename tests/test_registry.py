"""Plugins that installed distributions bring, by name and by the scheme of an address."""

from __future__ import annotations

import re
import sys
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

import crx
from crx import context_registry, plugins
from crx._cli import run
from crx.errors import MissingExtra, ModelError, UsageError

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]

MODULE = """
from crx.types import Context


class Motto:
    def __init__(self, words):
        self.words = words

    @property
    def fingerprint(self):
        return f"motto:{self.words}"

    def situate(self, document, chunks):
        for chunk in chunks:
            yield Context(f"{self.words} {chunk.ordinal}")
"""


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A distribution as an installer leaves it: a module beside its *.dist-info."""
    site = tmp_path / "site"
    info = site / "crx_motto-1.0.dist-info"
    info.mkdir(parents=True)
    (site / "crx_motto.py").write_text(MODULE)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: crx-motto\nVersion: 1.0\n")
    group = "[crx.contextualizers]\nmotto = crx_motto:Motto\n"
    (info / "entry_points.txt").write_text(group)
    monkeypatch.syspath_prepend(str(site))
    monkeypatch.setenv("CRX_HOME", str(tmp_path / "home"))


def test_an_installed_contextualizer_is_named_as_a_source(
    tmp_path: Path, installed: None, capsys: pytest.CaptureFixture[str]
) -> None:
    place = tmp_path / "notes.crx"
    with crx.open(place, settings={"embedder": "hashed"}) as index:
        index.add_documents([crx.Document("a", "One.\n\nTwo.", chunks=((0, 6), (6, 10)))])
        assert index.contextualize("motto:We say").made == {"ok": 2}
        hits = index.search("we say", legs=["bm25"]).hits
        assert sorted(hit.context for hit in hits) == ["We say 0", "We say 1"]
    source = ["contextualize", "--index", str(place), "--with", "motto:Again"]
    assert run(source) == 0
    assert run([*source, "--budget", "$1"]) == 2
    assert "costs no dollars" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("address", "scheme"),
    [
        ("postgresql://u@h/d", "postgresql"),
        ("Milvus-Lite:notes.db", "milvus-lite"),
        ("C:/notes.crx", ""),
        ("notes.crx", ""),
        ("notes=postgresql://h/d", ""),
    ],
)
def test_an_address_has_a_scheme_and_a_path_has_none(address: str, scheme: str) -> None:
    assert plugins.scheme_of(address) == scheme


def test_a_missing_package_of_an_address_is_named_with_what_installs_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    installed = {"ray": EntryPoint("ray", "crx_memory:open", "crx.workers")}
    monkeypatch.setattr("crx.plugins.find_plugins", lambda group: installed)
    hidden = 'ray://h: the package crx_memory is not installed; pip install "crx[ray]"'
    with pytest.raises(UsageError, match=re.escape(hidden)):
        plugins.load_for_scheme("crx.workers", "ray", shown="ray://h")
    none = "s3://b: no installed package opens s3: addresses; install one that does; known: ray"
    with pytest.raises(UsageError, match=re.escape(none)):
        plugins.load_for_scheme("crx.workers", "s3", shown="s3://b")


@pytest.mark.parametrize(
    "source", ["from crx._context.window_prompt import Motto", "from crx.types import Motto"]
)
def test_a_plugin_for_another_version_is_said_to_be_one(
    source: str, tmp_path: Path, installed: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(sys.modules, "crx_motto", raising=False)
    (tmp_path / "site" / "crx_motto.py").write_text(source)
    with pytest.raises(ModelError, match='"motto" is for another version of crx'):
        context_registry.load_contextualizer("motto:")


def test_what_is_shipped_is_what_the_entry_points_name() -> None:
    declared = {
        group: {name: target for name, (target, _) in each.items()}
        for group, each in plugins.SHIPPED.items()
    }
    # A plugin of another program is found by that program.
    of_others = {"llm": {"crx": "crx_serve.integrations.llm_plugin"}}
    assert {**declared, **of_others} == PROJECT["entry-points"]


def test_each_extra_of_what_is_shipped_exists() -> None:
    named = {extra for each in plugins.SHIPPED.values() for _, extra in each.values()}
    assert named <= set(PROJECT["optional-dependencies"])


def test_the_extra_all_is_those_of_the_packages_beside_crx() -> None:
    extras = PROJECT["optional-dependencies"]
    wings = ("bundle", "code", "convert", "formats", "mcp", "serve")
    assert set(extras["all"]) == {each for wing in wings for each in extras[wing]}


@pytest.mark.parametrize("name", plugins.SHIPPED["crx.commands"])
def test_a_command_whose_package_is_missing_names_the_extra(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    target, extra = plugins.SHIPPED["crx.commands"][name]
    package = target.partition(".")[0]
    for module in [target.partition(":")[0], *sys.modules]:
        if module.partition(".")[0] == package:
            monkeypatch.setitem(sys.modules, module, None)
    for arguments in ([name], [name, "--help"], [name, "--port", "80", "x"]):
        assert run(arguments) == 2
        error = capsys.readouterr().err
        assert error.endswith(f'is not installed; pip install "crx[{extra}]"\n')


@pytest.mark.parametrize(
    ("group", "name"), [(group, name) for group, each in plugins.SHIPPED.items() for name in each]
)
def test_what_a_missing_package_adds_names_the_extra(
    group: str, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    target, extra = plugins.SHIPPED[group][name]
    module = target.partition(":")[0]
    for each in (module.partition(".")[0], module):
        monkeypatch.setitem(sys.modules, each, None)
    with pytest.raises(MissingExtra, match=re.escape(f'pip install "crx[{extra}]"')):
        plugins.load_shipped(group, name)


def test_a_package_of_another_version_is_said_to_be_one(monkeypatch: pytest.MonkeyPatch) -> None:
    old = {"search": ("crx_serve.search_client:ask_older_server", "serve")}
    monkeypatch.setitem(plugins.SHIPPED, "crx.served", old)
    other = r'crx_serve is of another version than crx; pip install "crx\[serve\]"'
    with pytest.raises(UsageError, match=other):
        plugins.load_shipped("crx.served", "search")
