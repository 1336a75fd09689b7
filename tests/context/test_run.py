"""Runs of a contextualizer over an index: stored at once, resumed, reused after edits."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from surveys import SETTINGS, contexts_by_chunk, survey

import crx
from crx import context_registry, deadline
from crx._cli import run
from crx._context import run as run_module
from crx._context.report import ContextProgress
from crx._index import handle
from crx._services.prompt import Prompt
from crx.errors import ModelError, UsageError
from crx.protocols import Contextualizer
from crx.types import Chunk, Context, Document
from crx_runtimes.fake.contextualizer import Fake, Faults


def test_every_chunk_gets_a_context_that_is_searched(index: crx.Index) -> None:
    outcome = index.contextualize("fake:")
    assert outcome.made == {"ok": outcome.chunks}
    assert outcome.coverage == 1.0
    assert outcome.embedded == outcome.chunks
    hit = index.search("heron survey", legs=["bm25"]).hits[0]
    assert hit.context.startswith("Heron survey: ")
    assert index.status().counts["pending"] == 0


def test_a_second_run_makes_no_context(index: crx.Index) -> None:
    first = index.contextualize("fake:")
    again = index.contextualize("fake:")
    assert (again.made, again.reused, again.embedded) == ({}, first.chunks, 0)


def test_every_chunk_has_an_outcome_whatever_the_model_does(tmp_path: Path) -> None:
    index = crx.open(tmp_path / "notes.crx", settings=SETTINGS)
    index.add_documents([Document("heron", survey("heron", 16), title="Heron survey")])
    shares = dict.fromkeys(("hang", "crash", "empty", "huge", "invalid", "refuse"), 0.1)
    faults = Faults(**shares)
    with closing(Fake(faults, timeout_s=0.5)) as fake:
        outcome = index.contextualize(fake)
    expected = {
        "": "ok",
        "hang": "failed:silent for 0.5 s",
        "crash": "failed:crashed with SIGSEGV",
        "empty": "rejected:empty",
        "huge": "rejected:over length",
        "invalid": "rejected:control characters",
        "refuse": "rejected:refusal",
    }
    store = index.store
    texts = [row.text for d in store.documents() for row in store.chunks(store.chunk_keys(d.doc))]
    assert outcome.made == Counter(expected[faults.of(chunk)] for chunk in texts)
    assert Counter(outcome for _, outcome in contexts_by_chunk(index).values()) == outcome.made
    assert outcome.coverage == outcome.made["ok"] / len(texts)


def test_failed_chunks_are_tried_again_and_rejected_ones_are_not(index: crx.Index) -> None:
    class Tired(Fake):
        """Fails as the fake does, until `rested` is set."""

        rested = False

        @property
        def fingerprint(self) -> str:
            return "tired"

        def situate(self, document, chunks):  # type: ignore[no-untyped-def]
            for chunk, context in zip(chunks, super().situate(document, chunks), strict=True):
                yield (
                    next(Fake().situate(document, [chunk]))
                    if self.rested and context.status == "failed"
                    else context
                )

    tired = Tired(Faults(fail=0.3, refuse=0.3))
    first = index.contextualize(tired)
    tired.rested = True
    again = index.contextualize(tired)
    failed = first.made["failed:set to fail"]
    assert failed > 0
    assert again.made == {"ok": failed}
    assert again.reused == first.chunks - failed


def test_rejected_contexts_are_asked_for_again_on_request_and_then_kept(index: crx.Index) -> None:
    class Better(Fake):
        """Refuses the half that the fake does, until `better` is set."""

        better = False

        @property
        def fingerprint(self) -> str:
            return "better"

        def situate(self, document, chunks):  # type: ignore[no-untyped-def]
            fake = Fake() if self.better else Fake(Faults(refuse=0.5))
            return fake.situate(document, chunks)

    model = Better()
    rejected = index.contextualize(model).made["rejected:refusal"]
    assert index.contextualize(model, retry_rejected=True).made == {"rejected:refusal": rejected}
    model.better = True
    assert index.contextualize(model).made == {}
    assert index.contextualize(model, retry_rejected=True).made == {"ok": rejected}
    assert index.contextualize(model, retry_rejected=True).made == {}
    assert all(text for text, _ in contexts_by_chunk(index).values())


def test_a_rejected_context_does_not_replace_an_accepted_one(index: crx.Index) -> None:
    index.contextualize("fake:")
    before = contexts_by_chunk(index)
    index.contextualize("fake:refuse=1")
    assert contexts_by_chunk(index) == before


def test_a_time_budget_stops_the_run_and_the_next_run_continues(index: crx.Index) -> None:
    some = index.contextualize("fake:latency=20ms", budget="0.05s")
    assert some.stopped == "the budget of 0.05 s is spent"
    assert 0 < sum(some.made.values()) < some.chunks
    rest = index.contextualize("fake:")
    assert sum(rest.made.values()) + sum(some.made.values()) == some.chunks
    assert rest.coverage == 1.0


def test_a_time_budget_begins_before_anything_is_loaded(
    index: crx.Index, monkeypatch: pytest.MonkeyPatch
) -> None:
    load, clock = context_registry.load_router, time.monotonic

    def load_for_an_hour(*given: Any, **named: Any) -> object:
        # Of these modules alone: a server in another thread waits by the clock of all.
        later = SimpleNamespace(monotonic=lambda: clock() + 3600)
        for module in (handle, run_module, deadline):
            monkeypatch.setattr(module, "time", later)
        return load(*given, **named)

    monkeypatch.setattr("crx.context_registry.load_router", load_for_an_hour)
    some = index.contextualize("fake:", budget="20m")
    assert (some.stopped, some.made) == ("the budget of 1200 s is spent", {"ok": 1})


def test_coverage_below_the_minimum_is_an_error(index: crx.Index) -> None:
    with pytest.raises(ModelError, match=r"of the chunks have a context, less than 99.0%"):
        index.contextualize("fake:refuse=0.5", min_coverage=0.99)


def test_a_run_stops_if_most_of_its_first_contexts_are_rejected(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with crx.open(tmp_path / "notes.crx", settings=SETTINGS) as index:
        index.add_documents([Document("heron", survey("heron", 200), title="Heron survey")])
    place = ["--index", str(tmp_path / "notes.crx")]
    assert run(["contextualize", *place, "--with", "fake:refuse=0.8"]) == 7
    error = capsys.readouterr().err
    assert "this model is not up to the task: " in error
    assert "of 50 contexts rejected: refusal " in error
    assert "use a larger instruct model, or the outline alone" in error
    with crx.open(tmp_path / "notes.crx") as index:
        assert sum(bool(context) for context, _ in contexts_by_chunk(index).values()) > 0
        assert index.contextualize("fake:refuse=0.2").coverage > 0.7


def test_a_run_that_goes_on_is_judged_by_what_is_stored_too(tmp_path: Path) -> None:
    class Worsening:
        """Has all contexts rejected but the first hundred; is killed once, at the 98th."""

        fingerprint = "worsening"

        def __init__(self, *, killed: bool) -> None:
            self.asked = 0
            self.killed = killed

        def situate(self, document: Document, chunks: Sequence[Chunk]) -> Iterator[Context]:
            for chunk in chunks:
                self.asked += 1
                if self.killed and self.asked == 98:
                    raise KeyboardInterrupt
                is_rejected = self.asked > 100
                yield Context.rejected("refusal") if is_rejected else Context(f"{chunk.start}.")

    def contextualize(name: str, *, killed: bool) -> int:
        with crx.open(tmp_path / name, settings=SETTINGS) as index:
            index.add_documents([Document("heron", survey("heron", 200), title="Heron survey")])
            model = Worsening(killed=killed)
            if killed:
                with pytest.raises(KeyboardInterrupt):
                    index.contextualize(model)
            index.contextualize(model)
            return sum(bool(text) for text, _ in contexts_by_chunk(index).values())

    whole = contextualize("whole.crx", killed=False)
    # The answer in flight is asked for a second time.
    assert contextualize("killed.crx", killed=True) == whole - 1


def test_rejected_contexts_are_reported_with_their_reasons(
    tmp_path: Path, index: crx.Index, capsys: pytest.CaptureFixture[str]
) -> None:
    place = ["--index", str(tmp_path / "notes.crx")]
    assert run(["contextualize", *place, "--with", "fake:refuse=1"]) == 3
    rejected = f"100.0% of {index.status().counts['chunks']} contexts rejected: refusal "
    printed = capsys.readouterr().out
    assert rejected in printed
    assert "; --retry-rejected asks again\n" in printed
    # Nothing is asked for again, and they are still without contexts.
    assert run(["contextualize", *place, "--with", "fake:refuse=1"]) == 3
    printed = capsys.readouterr().out
    assert "0 contexts made" in printed
    assert rejected in printed
    assert run(["contextualize", *place, "--with", "fake:", "--retry-rejected"]) == 0
    assert "contexts rejected" not in capsys.readouterr().out
    assert run(["contextualize", *place, "--with", "fake:refuse=1"]) == 3
    assert run(["status", *place]) == 0
    assert rejected in capsys.readouterr().out


@pytest.mark.parametrize(
    ("name", "made"),
    [
        ("PUBLISH_SECONDS", 0.0),
        # The end of the budget is near: what is embedded after it would exceed it.
        ("seconds_left", lambda: 0.0),
    ],
)
def test_new_contexts_are_searchable_during_the_run(
    tmp_path: Path, index: crx.Index, monkeypatch: pytest.MonkeyPatch, name: str, made: object
) -> None:
    monkeypatch.setattr(f"crx._context.run.{name}", made)
    seen = []

    class Migrant(Fake):
        def situate(self, document, chunks):  # type: ignore[no-untyped-def]
            yield from (Context("Of migratory birds.") for _ in chunks)

    def look(now: ContextProgress) -> None:
        if now.done == 3:
            with crx.open(tmp_path / "notes.crx") as other:
                seen.append(len(other.search("migratory", legs=["bm25"]).hits))

    index.contextualize(Migrant(), on_progress=look)
    assert seen[0] == 3


def test_an_interrupted_run_loses_only_the_chunk_in_flight(index: crx.Index) -> None:
    class Stopped(Fake):
        def situate(self, document, chunks):  # type: ignore[no-untyped-def]
            for at, context in enumerate(super().situate(document, chunks)):
                if at == 2:
                    raise KeyboardInterrupt
                yield context

    with pytest.raises(KeyboardInterrupt):
        index.contextualize(Stopped())
    rest = index.contextualize("fake:")
    assert (rest.reused, rest.coverage) == (2, 1.0)


def test_an_edit_makes_only_the_neighbouring_contexts_stale(index: crx.Index, docs: Path) -> None:
    path = docs / "heron.md"
    path.write_text(survey("heron", 60))
    index.add(docs)
    first = index.contextualize("fake:")
    path.write_text(path.read_text() + "One more line about the herons, at the very end.\n")
    index.add(docs)
    kept = [name for name, (context, _) in contexts_by_chunk(index).items() if context]
    assert first.chunks - 9 <= len(kept) < first.chunks
    assert index.contextualize("fake:").coverage == 1.0


def test_a_copied_file_reuses_the_contexts(index: crx.Index, docs: Path) -> None:
    index.contextualize("fake:")
    copy = docs.parent / "other"
    copy.mkdir()
    (copy / "renamed.md").write_text((docs / "heron.md").read_text())
    index.add(copy)
    again = index.contextualize("fake:")
    assert (again.made, again.coverage) == ({}, 1.0)


def test_a_looser_refresh_reuses_contexts_of_a_stricter_one(index: crx.Index) -> None:
    index.contextualize("fake:", refresh="document")
    assert index.contextualize("fake:", refresh="never").made == {}


def test_a_budget_in_dollars_is_refused_for_a_free_model(index: crx.Index) -> None:
    with pytest.raises(UsageError, match="costs no dollars"):
        index.contextualize("fake:", budget="$2")


def test_a_contextualizer_object_brings_its_own_cap_and_prompt(index: crx.Index) -> None:
    with pytest.raises(UsageError, match="pass the cap to the contextualizer"):
        index.contextualize(Fake(), budget="$2")
    with pytest.raises(UsageError, match="pass the prompt to the contextualizer"):
        index.contextualize(Fake(), prompt=Prompt.of())
    assert index.contextualize(Fake(), budget="20m").coverage == 1.0


def test_one_command_indexes_and_contextualizes(
    tmp_path: Path, docs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place = str(tmp_path / "one.crx")
    assert (
        run(["index", str(docs), "--index", place, "--contexts", "fake:", "--embedder", "hashed"])
        == 0
    )
    assert run(["status", "--index", place]) == 0
    assert "100.0% of the chunks have a model's context" in capsys.readouterr().out


def test_a_spent_budget_and_missing_coverage_have_different_exit_codes(
    tmp_path: Path, index: crx.Index
) -> None:
    place = ["--index", str(tmp_path / "notes.crx")]
    assert run(["contextualize", *place, "--with", "fake:latency=20ms", "--budget", "0.05s"]) == 0
    assert run(["contextualize", *place, "--with", "fake:refuse=1", "--min-coverage", "0.9"]) == 7
    assert run(["contextualize", *place, "--with", "fake:", "--budget", "0m"]) == 2


def test_failed_chunks_set_the_exit_code(
    tmp_path: Path, docs: Path, index: crx.Index, capsys: pytest.CaptureFixture[str]
) -> None:
    place = ["--index", str(tmp_path / "notes.crx")]
    failing = ["contextualize", *place, "--with", "fake:fail=1"]
    said = (
        f"crx: {index.status().counts['chunks']} chunks failed; the same command tries them again\n"
    )
    for command in (failing, ["index", str(docs), *place, "--contexts", "fake:fail=1"]):
        assert run(command) == 3
        assert capsys.readouterr().err == said
    assert run([*failing, "--min-coverage", "0.9"]) == 7


@pytest.mark.usefixtures("accept_generic_contexts")
def test_a_local_model_contextualizes_an_index_and_reports_reused_tokens(
    tmp_path: Path, index: crx.Index
) -> None:
    pytest.importorskip("llama_cpp", exc_type=ImportError)
    from tiny_gguf import parrot

    advances: list[ContextProgress] = []
    model = parrot(tmp_path / "parrot.gguf")
    outcome = index.contextualize(f"llama:{model}:places=4", on_progress=advances.append)
    assert outcome.made == {"ok": outcome.chunks}
    assert (advances[-1].tokens_reused or 0) > 0


@pytest.mark.usefixtures("accept_generic_contexts")
@pytest.mark.parametrize("batch", [False, True])
def test_a_service_stops_at_its_budget_in_dollars(index: crx.Index, *, batch: bool) -> None:
    pytest.importorskip("anthropic", exc_type=ImportError)
    from messages_server import KEY, MessagesServer, serving
    from remote_contexts import make_claude

    def claude(url: str, cap_dollars: float) -> Contextualizer:
        model = "claude-haiku-4-5"
        return make_claude(
            model, cap_dollars=cap_dollars, batch=batch, key=KEY, url=url, poll_s=0.01
        )

    with serving(MessagesServer()) as url:
        some = index.contextualize(claude(url, 0.005))
        assert some.stopped.startswith("$0.005: ")
        rest = index.contextualize(claude(url, 9.0))
    assert sum(some.made.values()) < some.chunks
    assert rest.coverage == 1.0
