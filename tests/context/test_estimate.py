"""Estimates of an index before it is built, compared with the build."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import crx
from crx._backends.hashed import HashedEmbedder
from crx._cli import run
from crx._cli.plan import PRICED, load_cost_model
from crx._context.estimate import Plan
from crx._context.estimate import plan as plan_costs
from crx._services.compute_usage import ComputeUsage
from crx._services.prompt import Prompt
from crx._services.service_usage import Estimate
from crx.errors import MissingExtra, ModelError, UsageError
from crx.types import Chunk, Context, Document


def plan(
    paths: Sequence[Path],
    *,
    source: str = "",
    prompt: Prompt | None = None,
    seconds: float = 0.1,
    chunk_chars: int = 0,
    max_file_mb: int = 64,
    requests_per_minute: float = 0.0,
) -> Plan:
    return plan_costs(
        paths,
        embedder=HashedEmbedder(),
        scratch_embedder=HashedEmbedder(),
        costs=load_cost_model(source, prompt=prompt, priced=PRICED if requests_per_minute else ""),
        seconds=seconds,
        chunk_chars=chunk_chars,
        max_file_mb=max_file_mb,
        requests_per_minute=requests_per_minute,
    )


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    folder = tmp_path / "docs"
    folder.mkdir()
    for name in ("heron", "egret", "bittern"):
        lines = (f"In year {n} the {name} colony counted {n * 37} nests.\n\n" for n in range(25))
        (folder / f"{name}.md").write_text(f"# {name.title()} survey\n\n" + "".join(lines))
    return folder


def test_a_plan_has_the_counts_of_the_build(tmp_path: Path, docs: Path) -> None:
    planned = plan([docs], seconds=0.1, chunk_chars=120)
    index = crx.open(tmp_path / "i.crx", settings={"embedder": "hashed", "chunk_chars": 120})
    index.add(docs)
    counts = index.status().counts
    assert (planned.documents, planned.chunks) == (counts["documents"], counts["chunks"])
    assert planned.tokens == counts["tokens"]
    assert [rung.name for rung in planned.rungs] == ["outline"]


class Clock:
    """A clock that advances only in `sleep`."""

    def __init__(self) -> None:
        self.now = 0.0

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


def planned_and_taken(folder: Path, docs: Path) -> tuple[float, float]:
    source = "fake:latency=40ms,preamble=0.3"
    planned = plan([docs], source=source, seconds=1, chunk_chars=120)
    index = crx.open(folder / "i.crx", settings={"embedder": "hashed", "chunk_chars": 120})
    index.add(docs)
    outcome = index.contextualize(source)
    return planned.rungs[1].seconds + planned.embedding_seconds, outcome.seconds


def test_the_time_of_a_model_is_estimated_within_a_quarter(
    tmp_path: Path, docs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = Clock()
    timed = ("crx._context.estimate", "crx._context.run", "crx_runtimes.fake.contextualizer")
    for module in timed:
        monkeypatch.setattr(f"{module}.time", clock)
    estimated, taken = planned_and_taken(tmp_path, docs)
    assert taken == pytest.approx(estimated, rel=0.25)
    assert taken > 2 * 0.6, "the probe ran on a part of the documents"


class ThreeAtATime:
    """A contextualizer that reads three documents at the same time, and records which."""

    fingerprint = "three"
    width = 3
    usage = ComputeUsage()

    def __init__(self) -> None:
        self.asked: list[list[str]] = []

    def situate(self, document: Document, chunks: Sequence[Chunk]) -> Iterator[Context]:
        return (context for _, _, context in self.situate_many([(document, chunks)]))

    def situate_many(
        self, documents: Sequence[tuple[Document, Sequence[Chunk]]]
    ) -> Iterator[tuple[int, int, Context]]:
        self.asked.append(["|".join(chunk.text for chunk in chunks) for _, chunks in documents])
        for at, (document, chunks) in enumerate(documents):
            for nth in range(len(chunks)):
                yield at, nth, Context(f"Nests of {document.title}, {at} {nth}.")

    def estimate_seconds(
        self, documents: Iterable[tuple[Document, Sequence[Chunk]]], *, asks: float
    ) -> float:
        return asks * sum(len(chunks) for _, chunks in documents)


def test_a_model_of_several_documents_at_a_time_is_tried_on_as_many_places(docs: Path) -> None:
    model = ThreeAtATime()
    planned = plan_costs(
        [docs / "heron.md"],
        embedder=HashedEmbedder(),
        scratch_embedder=HashedEmbedder(),
        costs=replace(load_cost_model("", prompt=None), source="three", contextualizer=model),
        seconds=5,
        chunk_chars=120,
    )
    (alone,), others = model.asked
    assert len(others) == 3
    text = (docs / "heron.md").read_text()
    places = sorted(text.index(piece.partition("|")[0]) for piece in (alone, *others))
    assert places[0] > 0
    assert min(np.diff(places)) > len(text) / 8
    assert all(piece.count("|") == 1 for piece in (alone, *others))
    assert planned.rungs[1].seconds >= planned.chunks


@pytest.mark.slow
def test_the_time_of_a_model_is_estimated_on_this_machine(tmp_path: Path, docs: Path) -> None:
    estimated, taken = planned_and_taken(tmp_path, docs)
    assert taken == pytest.approx(estimated, rel=0.25)


def test_dollars_are_estimated_with_and_without_caching_and_batching(docs: Path) -> None:
    planned = plan([docs], source="claude:claude-haiku-4-5", seconds=0.1)
    cost = planned.estimate
    assert cost is not None
    assert planned.priced == "claude:claude-haiku-4-5"
    assert planned.service_seconds is None
    assert cost.chunks == planned.chunks
    assert cost.dollars is not None
    assert cost.dollars_batch is not None
    assert cost.dollars_uncached is not None
    assert 0 < cost.dollars_batch < cost.dollars_uncached
    assert cost.dollars <= cost.dollars_uncached


def test_the_command_prints_minutes_and_dollars(
    docs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ["--embedder", "hashed", "--with", "fake:"]
    assert run(["plan", str(docs), *options]) == 0
    said = capsys.readouterr().out
    assert said.startswith("3 documents, ")
    assert "fake:" in said
    assert run(["plan", str(docs), *options, "--requests-per-minute", "50"]) == 0
    assert "in batches" in capsys.readouterr().out
    assert run(["plan", str(docs), *options, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["documents"] == 3


@pytest.mark.parametrize("source", ["", "fake:"])
def test_prices_are_loaded_only_for_a_service_that_is_asked_for(
    docs: Path, monkeypatch: pytest.MonkeyPatch, source: str
) -> None:
    monkeypatch.setitem(sys.modules, "crx_remote.claude.pricing", None)
    planned = plan([docs], source=source, seconds=0.1)
    assert (planned.priced, planned.estimate) == ("", None)
    with pytest.raises(MissingExtra, match=r"""pip install "crx\[claude\]"""):
        plan([docs], source=source, seconds=0.1, requests_per_minute=30)


@pytest.mark.parametrize(
    "source", ["", "fake:", "claude:claude-haiku-4-5", "openai:http://127.0.0.1:9/v1#m"]
)
def test_the_minutes_of_a_service_follow_from_the_given_rate(docs: Path, source: str) -> None:
    if source.startswith("openai"):
        pytest.importorskip("openai", exc_type=ImportError)
    planned = plan([docs], source=source, seconds=0.1, requests_per_minute=30)
    assert planned.estimate is not None
    assert planned.estimate.usage.requests == planned.chunks
    assert planned.service_seconds == planned.chunks * 2


def test_options_after_a_model_s_name_change_the_estimate(docs: Path) -> None:
    (docs / "heron.md").write_text("In this year the colony counted its nests again.\n\n" * 400)

    def cost(source: str) -> Estimate:
        estimate = plan([docs], source=source, seconds=0.1).estimate
        assert estimate is not None
        return estimate

    priced = cost("claude:claude-nine:price=1/5")
    assert priced.dollars is not None
    assert cost("claude:claude-nine:price=2/10").dollars == pytest.approx(2 * priced.dollars)
    assert cost("claude:claude-nine:price=1/5,window=8000").usage.prompt < priced.usage.prompt
    with pytest.raises(ModelError, match="bacth: no such option"):
        cost("claude:claude-nine:bacth=1")


def test_unknown_dollars_are_reported_as_unknown(
    docs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["plan", str(docs), "--embedder", "hashed", "--with", "claude:claude-nine"]) == 0
    assert "dollars unknown; " in capsys.readouterr().out


def test_prices_are_printed_only_if_a_service_is_named(
    docs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["plan", str(docs), "--embedder", "hashed"]) == 0
    assert run(["plan", str(docs), "--embedder", "hashed", "--with", "fake:"]) == 0
    assert "$" not in capsys.readouterr().out


def test_a_plan_reports_the_contexts_that_were_rejected_in_the_trial(
    docs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    planned = plan([docs], source="fake:refuse=1", seconds=10, chunk_chars=120)
    assert list(planned.trial) == ["rejected:refusal"]
    assert planned.trial["rejected:refusal"] > 30
    assert run(["plan", str(docs), "--embedder", "hashed", "--with", "fake:refuse=1"]) == 0
    assert "trial: 100.0% of 6 contexts rejected: refusal 6\n" in capsys.readouterr().out


def test_an_empty_folder_takes_no_time(tmp_path: Path) -> None:
    (tmp_path / "none").mkdir()
    planned = plan([tmp_path / "none"], source="fake:", seconds=0.1)
    assert (planned.chunks, planned.embedding_seconds, planned.rungs[1].seconds) == (0, 0.0, 0.0)


def test_a_file_that_cannot_be_read_is_named(docs: Path) -> None:
    (docs / "noise.txt").write_bytes(bytes(range(256)) * 20)
    planned = plan([docs], seconds=0.1)
    assert [Path(failure.uri).name for failure in planned.failures] == ["noise.txt"]


def test_a_plan_skips_and_refuses_the_files_that_a_build_does(tmp_path: Path, docs: Path) -> None:
    (docs / "heron.png").write_bytes(b"\x89PNG\r\n\x1a\n\x00\x01")
    (docs / "__init__.py").write_text("")
    (docs / "large.md").write_text("# Large\n\n" + "A tern. " * 150_000)
    (docs / "birds.jsonl").write_text('{"_id": "a", "text": "A heron."}\n{"_id": "b"\n')
    settings = {"embedder": "hashed", "chunk_chars": 120, "max_file_mb": 1}
    planned = plan([docs], seconds=0.1, chunk_chars=120, max_file_mb=1)
    with crx.open(tmp_path / "i.crx", settings=settings) as index:
        report = index.add(docs)
        counts = index.status().counts
    assert (planned.documents, planned.chunks) == (counts["documents"], counts["chunks"])
    assert planned.failures == report.failures
    assert len(planned.failures) == 2


def test_a_model_without_any_answer_is_an_error(docs: Path) -> None:
    with pytest.raises(ModelError, match=r"none of \d+ trials has an answer: set to fail"):
        plan([docs], source="fake:fail=1", seconds=0.01)


def test_a_missing_path_is_a_usage_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no such file or folder"):
        plan([tmp_path / "nowhere"])
