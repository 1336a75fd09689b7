"""The fake contextualizer, in this process and in a child process."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from crx.errors import ModelError, UsageError
from crx.protocols import Contextualizer
from crx.types import Chunk, Context, Document
from crx_runtimes.fake.contextualizer import Fake, Faults

LINES = [f"Paragraph {i} tells of heron colony {i * 37} by the river bend." for i in range(120)]
TEXT = "\n".join(LINES)
DOCUMENT = Document("file:herons.txt", TEXT, title="Heron survey")


def chunks() -> list[Chunk]:
    starts = [TEXT.index(line) for line in LINES]
    return [
        Chunk(i, start, start + len(line), 0, 0, 0, line)
        for i, (start, line) in enumerate(zip(starts, LINES, strict=True))
    ]


def expected(faults: Faults, chunk: Chunk) -> str:
    return {
        "": "ok",
        "fail": "failed:set to fail",
        "hang": "failed:silent for 1 s",
        "crash": "failed:crashed with SIGSEGV",
        "empty": "rejected:empty",
        "huge": "rejected:over length",
        "invalid": "rejected:control characters",
        "refuse": "rejected:refusal",
        "preamble": "retried",
    }[faults.of(chunk.text)]


def test_it_is_a_contextualizer() -> None:
    assert isinstance(Fake(), Contextualizer)


def test_a_fake_context_names_the_document_and_the_chunk() -> None:
    assert list(Fake().situate(DOCUMENT, chunks()[:1])) == [
        Context("Heron survey: Paragraph, colony, heron, river, 0", "ok")
    ]


def test_every_chunk_has_an_outcome_whatever_its_fault() -> None:
    faults = Faults(fail=0.1, empty=0.1, huge=0.1, invalid=0.1, refuse=0.1, preamble=0.1)
    outcomes = [c.outcome for c in Fake(faults).situate(DOCUMENT, chunks())]
    assert outcomes == [expected(faults, c) for c in chunks()]
    assert len(Counter(outcomes)) == 7


def test_a_child_that_hangs_or_crashes_costs_the_chunk_it_was_decoding() -> None:
    faults = Faults(hang=0.02, crash=0.03, fail=0.1, huge=0.1, preamble=0.1)
    fake = Fake(faults, timeout_s=1.0)
    contexts = list(fake.situate(DOCUMENT, chunks()))
    fake.close()
    assert [c.outcome for c in contexts] == [expected(faults, c) for c in chunks()]
    lost = sum(faults.of(c.text) in ("hang", "crash") for c in chunks())
    assert fake.usage.restarts == lost > 2


def test_a_child_imports_nothing_from_the_folder_it_starts_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("resource", "numpy", "crx", "orjson"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('from the folder')")
    monkeypatch.chdir(tmp_path)
    fake = Fake(Faults(crash=1e-9))
    assert [c.outcome for c in fake.situate(DOCUMENT, chunks()[:2])] == ["ok", "ok"]
    fake.close()


def test_the_texts_are_the_same_in_a_child_process() -> None:
    never = Faults(crash=1e-9)
    fake = Fake(never)
    assert list(fake.situate(DOCUMENT, chunks())) == list(Fake().situate(DOCUMENT, chunks()))
    fake.close()


def test_closing_the_iterator_leaves_no_answer_for_the_next_call() -> None:
    fake = Fake(Faults(crash=1e-9))
    contexts = fake.situate(DOCUMENT, chunks())
    first = next(contexts)
    contexts.close()  # type: ignore[attr-defined]  # a generator
    assert next(fake.situate(DOCUMENT, chunks())) == first
    fake.close()


def test_eight_crashes_in_a_row_end_the_run() -> None:
    with pytest.raises(ModelError, match="lost 8 times in a row: crashed with SIGSEGV"):
        list(Fake(Faults(crash=1.0)).situate(DOCUMENT, chunks()))


def test_settings_are_parsed_from_the_specification() -> None:
    assert Fake.of("latency=5ms,refuse=0.25").fingerprint == Fake(Faults(refuse=0.25)).fingerprint
    for wrong in ("speed=9", "fail", "fail=2", "fail=0.6,hang=0.6"):
        with pytest.raises(UsageError, match="fake: "):
            Fake.of(wrong)
