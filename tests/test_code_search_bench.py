"""Questions about source packages: made from comments and names, which the indexed copy lacks."""

from __future__ import annotations

import shutil
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parent.parent
KETTLE = """// Copyright 2020 The kettle authors

// Everything that makes tea in the kitchen.

package tea

// Boil heats the water until small bubbles rise.
func HeatWater(k *Kettle) int {
	return k.Heat(100)
}
"""


@pytest.fixture
def module(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(ROOT / "benches")
    return import_module("code_search")


@pytest.mark.skipif(not shutil.which("ctags"), reason="needs universal-ctags")
def test_what_a_question_is_made_from_is_not_in_the_indexed_copy(
    module: ModuleType, tmp_path: Path
) -> None:
    (tmp_path / "files").mkdir()
    (tmp_path / "changelogs").mkdir()
    source = tmp_path / "files/tea.go"
    source.write_text(KETTLE)
    (tmp_path / "changelogs/NEWS").write_text("* Let HeatWater stop when it boils\n")
    package = module.PACKAGES[0].__class__("debian", "tea", "1", "Go", "MIT", "choose", "")

    questions = {each.kind: each for each in module.make_questions(tmp_path, package)}

    assert questions["comment"].text == "Boil heats the water until small bubbles rise."
    assert questions["purpose"].text == "Everything that makes tea in the kitchen."
    assert questions["symbol"].text == "HeatWater"
    assert questions["change"].text == "Let HeatWater stop when it boils"
    assert {each.files for each in questions.values()} == {("tea.go",)}
    copy = source.read_text()
    assert "bubbles" not in copy
    assert "kitchen" not in copy
    _, first, last = questions["symbol"].lines
    assert copy.splitlines()[first - 1 : last] == KETTLE.splitlines()[7:10]


def test_ndcg_falls_with_the_rank_of_the_answer(module: ModuleType) -> None:
    assert module.ndcg([True, False], 1) == 1.0
    assert module.ndcg([False, True], 1) == pytest.approx(0.6309, abs=1e-4)
    assert module.ndcg([False] * 10 + [True], 1) == 0.0
