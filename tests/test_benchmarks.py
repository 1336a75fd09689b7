"""`BENCHMARKS.md` and its drawing are those of the committed results."""

from __future__ import annotations

import json
import os
import sys
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest

from crx.registry import load_embedder

ROOT = Path(__file__).parent.parent


@pytest.fixture
def report(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(ROOT / "benches")
    return import_module("report")


def test_the_tables_and_the_drawing_are_those_of_the_results(report: ModuleType) -> None:
    assert (ROOT / "BENCHMARKS.md").read_text(encoding="utf-8") == report.report()
    for section in (each for each in report.SECTIONS if each.drawing):
        drawn = (report.RESULTS / section.drawing).read_text(encoding="utf-8")
        assert drawn == report.drawing(section)


def test_every_result_names_machine_and_commit_and_is_shown(report: ModuleType) -> None:
    shown = [file for section in report.SECTIONS for file in section.files]
    # Shares of questions found, which depend on no machine and are in a section of their own, and
    # gains of rules, which have a page.
    shares, rules = "recall.json", "rules.json"
    results = [*report.RESULTS.glob("*.json"), *report.AVX2.glob("*.json")]
    kept = [path.relative_to(report.RESULTS).as_posix() for path in results]
    assert sorted([*shown, shares, rules]) == sorted(kept)
    assert report.load(shares)["commit"]
    assert f"## {report.RECALL}" in report.report()
    for run in map(report.load, shown):
        assert all(run[fact] for fact in ("processor", "commit", "rounds"))


def test_a_rival_that_is_ahead_needs_a_reason(report: ModuleType) -> None:
    columns = (report.Column("s", "seconds"),)
    section = report.Section("Races", (), columns, about="")
    figures = {"crx": {"s": 2.0}, "hare": {"s": 1.0}, "tortoise": {"s": 1.99}}
    results = {"benchmark": "races", "figures": figures}
    with pytest.raises(KeyError, match="hare"):
        list(report.rivals_ahead(section, results))
    assert list(report.rivals_ahead(replace(section, others=("hare",)), results)) == []


def test_an_exponent_is_the_slope_of_the_logarithms(report: ModuleType) -> None:
    assert report.exponent([(10, 5), (100, 50), (1000, 500)]) == pytest.approx(1)
    assert report.exponent([(10, 3), (1000, 30)]) == pytest.approx(0.5)


def test_the_page_on_scale_shows_what_the_simulation_gives(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(ROOT / "benches")
    scale_sim = import_module("scale_sim")
    committed = json.loads((scale_sim.RESULTS / "simulated.json").read_text())["figures"]
    points = json.loads((scale_sim.RESULTS / "points.json").read_text())["figures"]
    page = (ROOT / "docs" / "scale.md").read_text(encoding="utf-8")
    assert [name for name, table in scale_sim.tables(committed).items() if table not in page] == []
    again = scale_sim.results(points)
    assert scale_sim.tables(again) == scale_sim.tables(committed)
    assert max(map(abs, scale_sim.predicted_errors(again))) < scale_sim.TOLERANCE


def test_a_law_goes_through_its_points_and_refuses_points_on_no_such_curve(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.syspath_prepend(ROOT / "benches")
    scale_sim = import_module("scale_sim")
    sizes = (10_000, 300_000, 4_000_000)
    law = scale_sim.power_and_constant(sizes, [0.1 + 2e-5 * n**0.8 for n in sizes])
    assert law(1_000_000) == pytest.approx(0.1 + 2e-5 * 1_000_000**0.8)
    assert scale_sim.power((10, 1000), (2, 200))(100) == pytest.approx(20)
    with pytest.raises(ValueError, match="no power between 0 and 1"):
        scale_sim.power_and_constant(sizes, [1, 2, 900])


@pytest.mark.skipif(sys.platform == "win32", reason="the program is a shell script")
def test_an_error_of_ripgrep_ends_a_benchmark(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.syspath_prepend(ROOT / "benches")
    harness = import_module("harness")
    program = tmp_path / "rg"
    program.write_text('#!/bin/sh\necho "found $1"\necho "no such folder" >&2\nexit $2\n')
    program.chmod(0o700)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    assert harness.run_ripgrep("word", "0", folder=tmp_path) == "found word\n"
    assert harness.run_ripgrep("word", "1", folder=tmp_path) == "found word\n"
    with pytest.raises(SystemExit, match="rg: no such folder"):
        harness.run_ripgrep("word", "2", folder=tmp_path)


def test_rivals_get_long_paragraphs_in_pieces_that_an_embedder_reads_whole(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.syspath_prepend(ROOT / "benches")
    first_answer = import_module("first_answer")
    embedder = load_embedder("hashed")
    text = "short\n\n" + " ".join(f"wörd{number}" for number in range(1000))
    pieces = list(first_answer.pieces(text, embedder))
    assert "".join(pieces) == text.replace("\n\n", "")
    assert max(len(embedder.token_starts(each)) for each in pieces) <= first_answer.MAX_TOKENS
