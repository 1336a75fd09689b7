"""The report of an ablation: the rows that matter first, and no sideways scrolling."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

from crx_evaluate.commands.report import table_rows
from crx_evaluate.first_rows import MOST, choose_first_rows
from crx_evaluate.html_report import render_report
from crx_evaluate.pipeline_config import build_grid
from crx_evaluate.recommend import recommend
from crx_evaluate.results import METRICS, IndexingStats, Results

SOURCES = ("none", "outline", "outline+contexts-of-a-large-model.jsonl")


@pytest.fixture(scope="module")
def results() -> Results:
    """Results of 33 rows, whose recall grows from the first to the last."""
    rows = build_grid(SOURCES, rerank=True)
    thresholds = np.linspace(0.5, 0.9, len(rows))[:, None]
    values = (np.linspace(0, 1, 200)[None, :] < thresholds).astype(float)
    stats = IndexingStats(chunks=100, seconds=60.0, embedded=100, windowed=0)
    return Results(
        set="set",
        documents=10,
        queries=tuple(map(str, range(200))),
        rows=tuple(rows),
        indexed=dict.fromkeys(SOURCES, stats),
        values=dict.fromkeys(METRICS, values),
    )


def test_six_rows_are_first_with_what_is_compared_recommended_and_best(results: Results) -> None:
    found = recommend(results)
    first = choose_first_rows(results, found)
    assert len(first) == MOST
    roles = {role: row for row in first for role in row.roles}
    assert roles["compared with"].name == "none dense"
    assert roles["compared with"].difference is None
    assert roles["recommended"].name == found.row.name
    assert roles["best"].name == found.best.name
    assert [row.name for row in first] == [
        row.name for row in results.rows if row.name in {each.name for each in first}
    ]


def test_another_row_of_comparison_is_shown_and_compared_with(results: Results) -> None:
    against = results.rows[5]
    first = choose_first_rows(results, recommend(results), baseline=against)
    assert [row.name for row in first if row.difference is None] == [against.name]


def test_the_report_draws_intervals_on_one_scale_and_folds_all_rows(results: Results) -> None:
    html = render(results)
    assert html.count("<svg") == MOST - 1
    zeros = {part.partition('"')[0] for part in html.split('<line x1="')[1::2]}
    assert len(zeros) == 1
    assert html.index("All 33 rows") > html.index('table class="first"')
    assert "<details open" not in html


@pytest.mark.parametrize("width", [360, 768, 1280, 1920])
def test_no_width_of_a_screen_makes_the_report_overflow(
    width: int, results: Results, tmp_path: Path
) -> None:
    webdriver = pytest.importorskip("selenium.webdriver")
    browser, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if not (browser and driver):
        pytest.skip("Chromium or its driver is not installed")
    (tmp_path / "report.html").write_text(render(results), encoding="utf-8")
    options = webdriver.ChromeOptions()
    options.binary_location = browser
    for each in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"):
        options.add_argument(each)
    shown = webdriver.Chrome(options=options, service=webdriver.ChromeService(driver))
    try:
        size = {"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": width < 1000}
        shown.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        shown.get((tmp_path / "report.html").as_uri())
        shown.execute_script("document.querySelectorAll('details').forEach(e => e.open = true)")
        wide = "return [...document.querySelectorAll('html, .scroll')].map(e => e.scrollWidth)"
        html, *tables = shown.execute_script(wide)
    finally:
        shown.quit()
    assert html <= width
    if width >= 1280:
        assert max(tables) <= width


def render(results: Results) -> str:
    return render_report(
        title="set",
        notes=[],
        first=choose_first_rows(results, recommend(results)),
        rows=table_rows(results),
        by_language=[],
        recommendation="",
        failures=[],
        figures={},
    )
