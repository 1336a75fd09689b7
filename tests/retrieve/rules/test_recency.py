"""Ranking by time: a bounded raise of newer documents, after fusion."""

from __future__ import annotations

import os
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command_line import Crx

import crx
from crx.retrieve.rules.recency import Recency, boost_recent, parse_time
from crx.types import Ranking

DAY = 86_400.0
YEARLY = Recency(reads=150, weight=0.2, half_life_days=365, field="date")


def ranking(*scores: float) -> Ranking:
    return Ranking(np.arange(1, len(scores) + 1), np.array(scores, np.float32))


def test_the_newest_gets_the_whole_raise_and_one_half_life_later_half_of_it() -> None:
    times = {1: 0.0, 2: 365 * DAY, 3: 730 * DAY}
    boosted = boost_recent(ranking(1.0, 1.0, 1.0), times, YEARLY)
    assert boosted.ranking.keys.tolist() == [3, 2, 1]
    np.testing.assert_allclose(boosted.ranking.scores, [1.2, 1.1, 1.05], rtol=1e-6)
    assert boosted.ages.keys.tolist() == [3, 2, 1]
    np.testing.assert_allclose(boosted.ages.scores, [0.2, 0.1, 0.05], rtol=1e-6)
    assert boosted.notes == ()


def test_no_age_makes_up_for_more_than_the_weight() -> None:
    times = {1: 0.0, 2: 100 * 365 * DAY}
    better = boost_recent(ranking(1.0, 0.83), times, YEARLY).ranking
    assert better.keys.tolist() == [1, 2]
    assert boost_recent(ranking(1.0, 0.84), times, YEARLY).ranking.keys.tolist() == [2, 1]


def test_the_order_depends_on_differences_of_age_alone() -> None:
    scores = ranking(0.9, 0.8, 0.7)
    times = {1: 0.0, 2: 50 * DAY, 3: 400 * DAY}
    later = {key: time + 3000 * DAY for key, time in times.items()}
    first, second = (boost_recent(scores, each, YEARLY).ranking for each in (times, later))
    assert first.keys.tolist() == second.keys.tolist()
    np.testing.assert_allclose(first.scores, second.scores)


def test_a_candidate_without_a_date_keeps_its_score_and_is_counted() -> None:
    boosted = boost_recent(ranking(1.0, 0.5, -0.1), {2: 0.0, 3: 0.0}, YEARLY)
    np.testing.assert_allclose(boosted.ranking.scores, [1.0, 0.6, -0.1], rtol=1e-6)
    note = "recency: 1 of 3 candidates do not have a date in the field date"
    assert boosted.notes == (note,)
    assert boost_recent(ranking(1.0), {}, YEARLY).ranking.keys.tolist() == [1]


@pytest.mark.parametrize(
    ("value", "date"),
    [
        (2024, (2024, 1, 1)),
        ("2024", (2024, 1, 1)),
        ("2024-05", (2024, 5, 1)),
        (" 2024-05-02 ", (2024, 5, 2)),
        ("2024-05-02T00:00:00Z", (2024, 5, 2)),
        ("2024-05-02T02:00:00+02:00", (2024, 5, 2)),
        (1714608000, (2024, 5, 2)),
    ],
)
def test_dates_are_read_in_the_forms_that_metadata_have(
    value: object, date: tuple[int, int, int]
) -> None:
    assert parse_time(value) == datetime(*date, tzinfo=timezone.utc).timestamp()


@pytest.mark.parametrize("value", [None, True, "", "soon", "2024-13", ["2024"], {"year": 2024}])
def test_what_is_no_date_is_none(value: Any) -> None:
    assert parse_time(value) is None


def make(folder: Path, **settings: object) -> crx.Index:
    return crx.open(folder, settings={"embedder": "hashed", **settings})


def test_documents_with_dates_are_raised_only_if_the_setting_is_on(tmp_path: Path) -> None:
    documents = [
        crx.Document(uri=f"note:{year}", text="The harbour opens in May.", metadata={"date": year})
        for year in (2019, 2024, 2021)
    ]
    with make(tmp_path / "notes.crx") as index:
        index.add_documents(documents)
        best = index.search("harbour").hits[0]
        assert best.uri == "note:2019"
        assert "recency" not in best.stages
    with make(
        tmp_path / "notes.crx", **{"rank.recency.weight": 0.2, "rank.recency.field": "date"}
    ) as index:
        hits = index.search("harbour").hits
        by_age = {hit.uri: hit.stages["recency"].rank for hit in hits}
        assert by_age == {"note:2024": 1, "note:2021": 2, "note:2019": 3}
        assert hits[0].uri == "note:2024"
        assert hits[0].stages["recency"].score == pytest.approx(0.2)


def test_files_have_their_own_time(tmp_path: Path) -> None:
    for at, name in enumerate(("old.md", "new.md", "older.md")):
        (tmp_path / name).write_text("The harbour opens in May.\n")
        os.utime(tmp_path / name, (0, (5, 9, 1)[at] * 365 * DAY))
    with make(tmp_path / "notes.crx", **{"rank.recency.weight": 0.3}) as index:
        index.add(*tmp_path.glob("*.md"))
        hits = index.search("harbour").hits
        by_age = {Path(hit.uri).name: hit.stages["recency"].rank for hit in hits}
        assert by_age == {"new.md": 1, "old.md": 2, "older.md": 3}


def test_the_raise_is_shown_by_explain(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "harbour.md").write_text("The harbour opens in May.\n")
    run = Crx(capsys)
    assert run("index", "harbour.md", "-q", "--embedder", "hashed").code == 0
    shown = run("search", "harbour", "--explain", "--set", "rank.recency.weight=0.2").out
    assert "recency 1 (0.200)" in shown
    assert "recency" not in run("search", "harbour", "--explain").out
