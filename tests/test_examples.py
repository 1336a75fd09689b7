"""The programs in examples/ run and print what they promise."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from _pytest.mark import ParameterSet
from optional import installed

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).parent.parent
EXAMPLES = ROOT / "examples"
PROGRAMS = sorted(path.relative_to(EXAMPLES).as_posix() for path in EXAMPLES.rglob("*.py"))
PLUGIN = EXAMPLES / "plugin"

# Lines of what each prints.
PRINTED = {
    "search.py": (
        "2 documents, 6 chunks",
        "The buyer pays each invoice within forty-five days. Late amounts bear",
    ),
    "own_documents.py": ("ticket:T-18 Printing in colour comes out grey on the second floor.",),
    "ask.py": ("THE TENANT PAYS FOR SMALL REPAIRS [1].", "  [1] fabrikam.md:(1, 12)"),
    "evaluate.py": (
        "none bm25       recall@1 0.33",
        "outline bm25    recall@1 1.00",
        "outline for BM25: +0.67, 95% interval +0.00 to +1.00",
    ),
    "json_output.py": ("added: 2", "exit code: 1 True", "exit code: 2 True"),
    "frameworks/langchain_retriever.py": (
        "northwind.md, lines 9-12",
        "The buyer pays each invoice within forty-five days. Late amounts bear",
    ),
    "frameworks/llamaindex_retriever.py": (
        "northwind.md, lines 9-12",
        "The buyer pays each invoice within forty-five days. Late amounts bear",
    ),
    "frameworks/haystack_pipeline.py": (
        "northwind.md, lines 9-12",
        "The buyer pays each invoice within forty-five days. Late amounts bear",
    ),
    "short/dates.py": ("note:1 The dredger budget was passed.",),
    "short/own_embedder.py": ("A whale eats krill.",),
    "short/rag.py": ("  [1] fabrikam.md, line 11",),
    "short/streaming.py": (
        "['message:north']",
        "['message:east', 'message:north', 'message:south']",
        "0 chunks without a vector",
    ),
    "short/threads.py": ("True", "['text:0', 'text:1', 'text:2', 'text:3']"),
    "plugin/demo.py": (
        "contexts: 100% of 2 chunks",
        "Reciprocal Rank Fusion outperforms Condorcet and individual Rank Learning Methods",
        f"memory:papers: 2 documents; {PLUGIN}/papers.bib#cormack2009",
    ),
}


# Programs of packages that take long to import, and are not installed by default.
FRAMEWORKS = {
    "frameworks/langchain_retriever.py": "langchain_core",
    "frameworks/llamaindex_retriever.py": "llama_index",
    "frameworks/haystack_pipeline.py": "haystack",
}


def marked(program: str) -> ParameterSet:
    """Return a program as a parameter: one of a framework is slow and needs its package."""
    package = FRAMEWORKS.get(program)
    return pytest.param(program, marks=[pytest.mark.slow, installed(package)] if package else [])


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    """Settings of its own, and the plugin as `pip install examples/plugin` would have it."""
    project = tomllib.loads((PLUGIN / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    info = tmp_path / f"crx_example-{project['version']}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Name: {project['name']}\nVersion: {project['version']}\n")
    groups = [
        "\n".join([f"[{group}]", *(f"{name} = {value}" for name, value in entries.items())])
        for group, entries in project["entry-points"].items()
    ]
    (info / "entry_points.txt").write_text("\n".join(groups))
    paths = (str(tmp_path), str(PLUGIN), os.environ.get("PYTHONPATH", ""))
    own = {
        "CRX_EMBEDDER": "hashed",
        "CRX_HOME": str(tmp_path / "home"),
        "PYTHONPATH": os.pathsep.join(filter(None, paths)),
    }
    return {**os.environ, **own}


@pytest.mark.parametrize("program", [marked(p) for p in PROGRAMS if "crx_example" not in p])
def test_an_example_prints_what_it_promises(
    program: str, environ: dict[str, str], tmp_path: Path
) -> None:
    command = [sys.executable, "-W", "error", str(EXAMPLES / program)]
    done = subprocess.run(
        command, env=environ, cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert set(PRINTED[program]) <= set(done.stdout.splitlines())


def test_the_table_of_examples_lists_every_program() -> None:
    listed = re.findall(r"`python examples/(\S+)`", (EXAMPLES / "README.md").read_text())
    assert sorted(listed) == [program for program in PROGRAMS if "crx_example" not in program]


def test_a_short_program_has_under_25_lines() -> None:
    lengths = [len(path.read_text().splitlines()) for path in (EXAMPLES / "short").glob("*.py")]
    assert len(lengths) == 5
    assert max(lengths) < 25


def test_the_example_of_an_engine_is_short() -> None:
    lines = (PLUGIN / "crx_example" / "memory.py").read_text(encoding="utf-8").splitlines()
    assert len(lines) < 150


def test_the_agreements_are_those_of_the_tutorial() -> None:
    tutorial = (ROOT / "docs" / "tutorial.md").read_text(encoding="utf-8")
    shown = dict(re.findall(r'^```markdown title="(.+)"\n((?:.*\n)*?)```$', tutorial, re.M))
    kept = EXAMPLES.glob("agreements/*.md")
    assert shown == {f"agreements/{path.name}": path.read_text(encoding="utf-8") for path in kept}
