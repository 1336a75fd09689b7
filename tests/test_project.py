"""The files around the code: workflow, issue forms, hooks, changelog, package metadata."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
SCHEMAS = {
    "vendor.github-workflows": sorted(ROOT.glob(".github/workflows/*.yml")),
    "vendor.github-actions": sorted(ROOT.glob(".github/actions/*/action.yml")),
    "vendor.github-issue-forms": sorted(ROOT.glob(".github/ISSUE_TEMPLATE/[!c]*.yml")),
    "vendor.github-issue-config": [ROOT / ".github" / "ISSUE_TEMPLATE" / "config.yml"],
}


def read_yaml(path: Path) -> Any:
    yaml = pytest.importorskip("yaml")
    # `on` is a boolean in YAML 1.1; nothing here reads it.
    return yaml.safe_load(path.read_text(encoding="utf-8"))


def run(module: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    pytest.importorskip(module)
    command = [sys.executable, "-m", module, *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("schema", SCHEMAS)
def test_files_for_the_forge_match_their_schemas(schema: str) -> None:
    assert SCHEMAS[schema]
    files = map(str, SCHEMAS[schema])
    done = run("check_jsonschema", "--builtin-schema", schema, *files)
    assert done.returncode == 0, done.stdout


def test_the_hooks_are_valid_and_those_of_make_lint() -> None:
    done = run("pre_commit", "validate-config")
    assert done.returncode == 0, done.stdout
    (local,) = read_yaml(ROOT / ".pre-commit-config.yaml")["repos"]
    entries = [hook["entry"].replace(".venv/bin", "$(BIN)") for hook in local["hooks"]]
    tools = {" ".join(entry.split(" --")[0].split()) for entry in entries}
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8").replace("$(CARGO)", "cargo")
    recipes = re.findall(r"^lint-\w+: build\n((?:\t.*\n)*)", makefile, re.MULTILINE)
    assert len(recipes) == 2
    # Compiling is left to `make lint`.
    slow = {"cargo clippy", "$(BIN)/python -m mypy.stubtest crx._native"}
    assert tools | slow == {
        re.split(r" --| \.", line.strip())[0] for line in "".join(recipes).splitlines()
    }


@pytest.mark.parametrize("page", ["README.md", "CONTRIBUTING.md"])
def test_every_make_target_that_is_named_exists(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    named = set(re.findall(r"^(?:\$ )?make ([\w-]+)", text, re.MULTILINE))
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert named
    assert named <= set(re.findall(r"^([\w-]+):", makefile, re.MULTILINE))


def test_the_changelog_begins_with_the_version_of_the_package() -> None:
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    (newest, *_) = re.findall(r"^## (.+)$", changelog, re.MULTILINE)
    assert PROJECT["version"] in newest
    cargo = tomllib.loads((ROOT / "Cargo.toml").read_text(encoding="utf-8"))
    assert cargo["package"]["version"] == PROJECT["version"]


def test_every_link_between_files_of_the_repository_leads_somewhere() -> None:
    pages = [*ROOT.glob("*.md"), *ROOT.glob("*/README.md"), *ROOT.glob("models/*/README.md")]
    dead = {
        (page.name, link)
        for page in pages
        for link in re.findall(r"\]\(([^)#\s]+)", page.read_text(encoding="utf-8"))
        if "://" not in link and not (page.parent / link).exists()
    }
    assert dead == set()


def test_the_oldest_python_is_the_one_that_the_classifiers_begin_with() -> None:
    versions = [
        line.rpartition(" ")[2]
        for line in PROJECT["classifiers"]
        if re.fullmatch(r"Programming Language :: Python :: 3\.\d+", line)
    ]
    assert PROJECT["requires-python"] == f">={versions[0]}"
