"""A run that gives an index its contexts: kept at once, taken up again, reused after edits."""

from __future__ import annotations

import random
import subprocess
import sys
from collections import Counter
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

import crx
from crx.backends.fake.contextualizer import Fake, Faults
from crx.cli import run
from crx.context.budget import parse_budget
from crx.context.cache import REFRESH, Origin, Refresh, context_keys
from crx.context.priority import estimate_need
from crx.context.prompt import Prompt
from crx.context.report import ContextProgress
from crx.errors import ModelError, UsageError
from crx.ingest.split import split
from crx.registry import ContextSpec, load_contextualizer, parse_contexts
from crx.types import Context, Document, Mark

SETTINGS = {"embedder": "hashed", "chunk_chars": 120}
NO_TOKENS = np.empty(0, dtype=np.uint32)
NAMES = ("heron", "egret", "bittern", "stork", "crane", "ibis", "spoonbill", "grebe")


def text(name: str, paragraphs: int) -> str:
    lines = (
        f"In section {n} the {name} colony counted {n * 37} nests near the river bend.\n\n"
        for n in range(paragraphs)
    )
    return f"# {name.title()} survey\n\n" + "".join(lines)


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    folder = tmp_path / "docs"
    folder.mkdir()
    for name in NAMES[:3]:
        (folder / f"{name}.md").write_text(text(name, 12))
    return folder


@pytest.fixture
def index(tmp_path: Path, docs: Path) -> crx.Index:
    index = crx.open(tmp_path / "notes.crx", settings=SETTINGS)
    index.add(docs)
    return index


def rows(index: crx.Index) -> dict[tuple[str, int], tuple[str, str]]:
    """Return (text, outcome) of the context of each chunk."""
    store = index.store
    return {
        (Path(row.uri).name, row.ordinal): (row.context, row.outcome)
        for document in store.documents()
        for row in store.chunks(store.chunk_keys(document.doc))
    }


def test_every_chunk_gets_a_context_that_is_searched(index: crx.Index) -> None:
    outcome = index.contextualize("fake:")
    assert outcome.made == {"ok": outcome.chunks}
    assert outcome.coverage == 1.0
    assert outcome.embedded == outcome.chunks
    hit = index.search("heron survey", legs=["bm25"]).hits[0]
    assert hit.context.startswith("Heron survey: ")
    assert index.status().counts["pending"] == 0


def test_a_second_run_makes_nothing(index: crx.Index) -> None:
    first = index.contextualize("fake:")
    again = index.contextualize("fake:")
    assert (again.made, again.reused, again.embedded) == ({}, first.chunks, 0)


def test_each_chunk_is_accounted_for_whatever_the_model_does(tmp_path: Path) -> None:
    index = crx.open(tmp_path / "notes.crx", settings=SETTINGS)
    index.add_documents([Document("heron", text("heron", 16), title="Heron survey")])
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
    assert Counter(outcome for _, outcome in rows(index).values()) == outcome.made
    assert outcome.coverage == outcome.made["ok"] / len(texts)


def test_failed_chunks_are_tried_again_and_rejected_ones_are_not(index: crx.Index) -> None:
    class Tired(Fake):
        """Fails where the fake would, until it has rested."""

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
    failed = first.made["failed:the fake was told to"]
    assert failed > 0
    assert again.made == {"ok": failed}
    assert again.reused == first.chunks - failed


def test_a_higher_rung_that_says_nothing_leaves_the_lower_one_s_context(index: crx.Index) -> None:
    index.contextualize("fake:")
    before = rows(index)
    index.contextualize("fake:refuse=1")
    assert rows(index) == before


def test_a_budget_of_time_stops_the_run_and_the_next_goes_on(index: crx.Index) -> None:
    some = index.contextualize("fake:latency=20ms", budget="0.05s")
    assert some.stopped == "the budget of 0.05 s is spent"
    assert 0 < sum(some.made.values()) < some.chunks
    rest = index.contextualize("fake:")
    assert sum(rest.made.values()) + sum(some.made.values()) == some.chunks
    assert rest.coverage == 1.0


def test_too_little_coverage_is_an_error_that_says_so(index: crx.Index) -> None:
    with pytest.raises(ModelError, match=r"of the chunks have a context, less than 99.0%"):
        index.contextualize("fake:refuse=0.5", min_coverage=0.99)


def test_the_index_is_searched_with_its_new_contexts_while_the_run_goes_on(
    tmp_path: Path, index: crx.Index, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("crx.context.run.PUBLISH_SECONDS", 0.0)
    seen = []

    class Migrant(Fake):
        def situate(self, document, chunks):  # type: ignore[no-untyped-def]
            yield from (Context("Of migratory birds.") for _ in chunks)

    def look(now: ContextProgress) -> None:
        if now.done == 3:
            with crx.open(tmp_path / "notes.crx") as other:
                seen.append(len(other.search("migratory", legs=["bm25"]).hits))

    index.contextualize(Migrant(), on_progress=look)
    assert seen[0] == 2


def test_an_interrupted_run_loses_the_chunk_in_flight_alone(index: crx.Index) -> None:
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


def test_an_edit_costs_its_neighbourhood_and_index_keeps_the_rest(
    index: crx.Index, docs: Path
) -> None:
    path = docs / "heron.md"
    path.write_text(text("heron", 60))
    index.add(docs)
    first = index.contextualize("fake:")
    path.write_text(path.read_text() + "One more line about the herons, at the very end.\n")
    index.add(docs)
    kept = [name for name, (context, _) in rows(index).items() if context]
    assert first.chunks - 9 <= len(kept) < first.chunks
    assert index.contextualize("fake:").coverage == 1.0


def test_a_removed_and_added_again_or_copied_file_costs_nothing(
    index: crx.Index, docs: Path
) -> None:
    index.contextualize("fake:")
    copy = docs.parent / "other"
    copy.mkdir()
    (copy / "renamed.md").write_text((docs / "heron.md").read_text())
    index.add(copy)
    again = index.contextualize("fake:")
    assert (again.made, again.coverage) == ({}, 1.0)


def test_a_looser_refresh_uses_what_a_stricter_one_has_kept(index: crx.Index) -> None:
    index.contextualize("fake:", refresh="document")
    assert index.contextualize("fake:", refresh="never").made == {}


def pages(count: int) -> Document:
    """Return a document of 300 or so pages: sections of 6 paragraphs, all in words of their own."""
    parts, marks, at = [], [], 0
    for section in range(count // 2):
        heading = f"## Section {section}\n\n"
        paragraphs = [
            f"Paragraph {section}.{n} tells of {NAMES[n % 8]} number {section * 6 + n}. "
            + "The ringing station kept its records through the winter, day by day. " * 10
            + "\n\n"
            for n in range(6)
        ]
        body = heading + "".join(paragraphs)
        marks.append(Mark("heading", at, at + len(body), f"Section {section}", 2))
        parts.append(body)
        at += len(body)
    return Document("pages.md", "".join(parts), title="Ringing records", marks=tuple(marks))


@pytest.mark.parametrize(("refresh", "most"), [("never", 1), ("section", 6), ("document", 900)])
def test_a_line_edited_in_300_pages_costs_few_contexts(refresh: Refresh, most: int) -> None:
    def keys(document: Document) -> list[bytes]:
        chunks = split(document, token_starts=NO_TOKENS, budget=800, in_chars=True)
        return context_keys(document, chunks, origin=Origin("fake", refresh))

    document = pages(300)
    before = keys(document)
    line = "number 600."
    edited = Document(
        "pages.md",
        document.text.replace(line, "number 606."),
        "Ringing records",
        "",
        {},
        document.marks,
    )
    cost = len(set(keys(edited)) - set(before))
    assert 0 < cost <= min(most, len(before))
    assert (cost == len(before)) == (refresh == "document")


def test_chunks_with_one_text_have_keys_of_their_own() -> None:
    document = Document("a", "same\n\nsame\n\n", chunks=((0, 6), (6, 12)))
    chunks = split(document, token_starts=NO_TOKENS, budget=6)
    for refresh in REFRESH:
        assert len(set(context_keys(document, chunks, origin=Origin("x", refresh)))) == 2


def test_a_chunk_that_leans_on_what_was_said_before_needs_a_context_most() -> None:
    plain = ["The heron nests in trees."] * 4
    leaning = ["It nests in trees."] * 4
    assert estimate_need(leaning) > estimate_need(plain)
    assert estimate_need(plain * 10) > estimate_need(plain)


@pytest.mark.parametrize(
    ("text", "spec"),
    [
        ("none", ContextSpec(outline=False)),
        ("outline", ContextSpec(outline=True)),
        ("contexts.jsonl", ContextSpec(outline=False, source="contexts.jsonl")),
        ("outline+contexts.jsonl", ContextSpec(outline=True, source="contexts.jsonl")),
        ("llama:model.gguf", ContextSpec(outline=True, source="llama:model.gguf")),
        ("none+llama:model.gguf", ContextSpec(outline=False, source="llama:model.gguf")),
    ],
)
def test_a_specification_names_the_outline_and_a_source(text: str, spec: ContextSpec) -> None:
    assert parse_contexts(text) == spec


@pytest.mark.parametrize(
    ("source", "says"),
    [
        ("nowhere.jsonl", "no such contexts file"),
        ("fake:sleepy=1", "is no setting"),
        ("llama:nowhere.gguf", "no such model"),
        ("llama:x.gguf:places=many", "wants int"),
    ],
)
def test_a_source_that_cannot_be_had_is_named(source: str, says: str) -> None:
    with pytest.raises((UsageError, ModelError), match=says):
        load_contextualizer(source)


@pytest.mark.parametrize("text", ["0m", "$0", "20", "m", "-3m", "20 minutes", ""])
def test_a_budget_of_nothing_and_one_that_is_none_are_refused(text: str) -> None:
    with pytest.raises(UsageError):
        parse_budget(text)


def test_dollars_are_no_budget_for_what_costs_none(index: crx.Index) -> None:
    with pytest.raises(UsageError, match="costs no dollars"):
        index.contextualize("fake:", budget="$2")


def test_a_contextualizer_takes_no_cap_and_no_prompt_from_the_run(index: crx.Index) -> None:
    with pytest.raises(UsageError, match="give the cap to the contextualizer itself"):
        index.contextualize(Fake(), budget="$2")
    with pytest.raises(UsageError, match="give the prompt to the contextualizer itself"):
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
    assert "100.0% of the chunks have a context" in capsys.readouterr().out


def test_exit_codes_tell_a_spent_budget_from_missing_coverage(
    tmp_path: Path, index: crx.Index
) -> None:
    place = ["--index", str(tmp_path / "notes.crx")]
    assert run(["contextualize", *place, "--with", "fake:latency=20ms", "--budget", "0.05s"]) == 0
    assert run(["contextualize", *place, "--with", "fake:refuse=1", "--min-coverage", "0.9"]) == 7
    assert run(["contextualize", *place, "--with", "fake:", "--budget", "0m"]) == 2


def test_chunks_that_failed_are_told_by_the_exit_code_and_rejected_ones_are_not(
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
    assert run(["contextualize", *place, "--with", "fake:refuse=1"]) == 0


def test_a_local_model_situates_an_index_and_says_what_it_reused(
    tmp_path: Path, index: crx.Index
) -> None:
    pytest.importorskip("llama_cpp", exc_type=ImportError)
    from tiny_gguf import parrot

    advances: list[ContextProgress] = []
    model = parrot(tmp_path / "parrot.gguf")
    outcome = index.contextualize(f"llama:{model}:places=4", on_progress=advances.append)
    assert outcome.made == {"ok": outcome.chunks}
    assert (advances[-1].tokens_reused or 0) > 0


@pytest.mark.parametrize("batch", [False, True])
def test_a_service_is_asked_by_document_and_stops_at_its_dollars(
    index: crx.Index, *, batch: bool
) -> None:
    pytest.importorskip("anthropic", exc_type=ImportError)
    from messages_server import KEY, MessagesServer, serving

    from crx.backends.claude.contextualizer import Claude

    def claude(url: str, cap_dollars: float) -> Claude:
        model = "claude-haiku-4-5"
        return Claude(model, cap_dollars=cap_dollars, batch=batch, key=KEY, url=url, poll_s=0.01)

    with serving(MessagesServer()) as url:
        some = index.contextualize(claude(url, 0.005))
        assert some.stopped.startswith("$0.005: ")
        rest = index.contextualize(claude(url, 9.0))
    assert sum(some.made.values()) < some.chunks
    assert rest.coverage == 1.0


VICTIM = """
import sys
from crx.backends.fake.contextualizer import Fake
import crx

class Told(Fake):
    def situate(self, document, chunks):
        for chunk, context in zip(chunks, super().situate(document, chunks), strict=True):
            print("asked", document.title, chunk.start, flush=True)
            yield context

index = crx.open(sys.argv[1])
print("opened", flush=True)
index.contextualize(Told(), on_progress=lambda now: print("now", now.embedded, flush=True))
print("done", flush=True)
"""


def contextualize_until_killed(place: Path, *, after: int) -> tuple[list[str], bool]:
    """Run in a process that is killed after so many lines; return what it asked, and the end."""
    command = [sys.executable, "-c", VICTIM, str(place)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        lines = []
        for line in process.stdout:
            lines.append(line.strip())
            if len(lines) > after:
                process.kill()
        asked = [line for line in lines if line.startswith("asked")]
        return asked, lines[-1] == "done"


def survives(index: crx.Index, place: Path, *, kills: int, lines: int) -> None:
    import shutil

    whole = place.with_name("whole.crx")
    shutil.copytree(place, whole)
    chance = random.Random(kills)
    committed: dict[tuple[str, int], tuple[str, str]] = {}
    for _ in range(kills):
        with crx.open(place) as before:
            committed = {at: row for at, row in rows(before).items() if row[0]}
            starts = {
                f"asked {row.title} {row.start}"
                for d in before.store.documents()
                for row in before.store.chunks(before.store.chunk_keys(d.doc))
                if row.context
            }
        asked, _ = contextualize_until_killed(place, after=chance.randrange(lines))
        assert not starts & set(asked), "a committed context was made again"
        with crx.open(place) as after:
            assert committed.items() <= rows(after).items(), "a committed context was lost"
    contextualize_until_killed(place, after=10**9)
    with crx.open(place) as ended, crx.open(whole) as expected:
        expected.contextualize("fake:")
        assert rows(ended) == rows(expected)
        assert ended.store.stats()["contexts"] == expected.store.stats()["contexts"]
        for query in ("heron nests", "river bend", "section 7"):
            hits = [[(h.key, h.score) for h in i.search(query).hits] for i in (ended, expected)]
            assert hits[0] == hits[1]
        assert ended.verify().faults == ()


def test_a_run_that_is_killed_again_and_again_ends_as_if_it_never_was(
    tmp_path: Path, index: crx.Index
) -> None:
    index.close()
    survives(index, tmp_path / "notes.crx", kills=5, lines=30)


@pytest.mark.slow
def test_fifty_kills_change_nothing(tmp_path: Path, docs: Path) -> None:
    for name in NAMES[3:]:
        (docs / f"{name}.md").write_text(text(name, 100))
    index = crx.open(tmp_path / "notes.crx", settings=SETTINGS)
    index.add(docs)
    index.close()
    survives(index, tmp_path / "notes.crx", kills=50, lines=24)
