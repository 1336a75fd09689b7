"""The fake contextualizer, and that a lost child costs the chunk in hand alone."""

import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

import pytest

from crx.backends.fake.contextualizer import Fake, Faults
from crx.backends.process.pipe import child_command
from crx.backends.process.supervisor import Ask, Supervisor
from crx.errors import ModelError, UsageError
from crx.protocols import Contextualizer
from crx.types import Chunk, Context, Document

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
        "fail": "failed:the fake was told to",
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
        Context("Heron survey: Paragraph, colony, heron, river", "ok")
    ]


def test_every_chunk_is_accounted_for_whatever_goes_wrong() -> None:
    faults = Faults(fail=0.1, empty=0.1, huge=0.1, invalid=0.1, refuse=0.1, preamble=0.1)
    outcomes = [c.outcome for c in Fake(faults).situate(DOCUMENT, chunks())]
    assert outcomes == [expected(faults, c) for c in chunks()]
    assert len(Counter(outcomes)) == 7


def test_a_child_that_hangs_or_crashes_costs_the_chunk_in_hand() -> None:
    faults = Faults(hang=0.02, crash=0.03, fail=0.1, huge=0.1, preamble=0.1)
    fake = Fake(faults, timeout_s=1.0)
    contexts = list(fake.situate(DOCUMENT, chunks()))
    fake.close()
    assert [c.outcome for c in contexts] == [expected(faults, c) for c in chunks()]
    lost = sum(faults.of(c.text) in ("hang", "crash") for c in chunks())
    assert fake.usage.restarts == lost > 2


def test_what_is_asked_for_again_keeps_no_other_waiting() -> None:
    opening = {"faults": asdict(Faults()), "latency_s": 0.0}
    turned_away = [True]

    def judge(text: str, finished: bool) -> Context:  # noqa: FBT001
        return Context.rejected("refusal") if turned_away and turned_away.pop() else Context(text)

    asks = [Ask(f"the {word} colony", f"the {word} colony, again", judge) for word in WORDS]
    supervisor = Supervisor(
        child_command("crx.backends.fake.contextualizer"), opening, timeout_s=5.0
    )
    told = [(number, context.outcome) for number, context in supervisor.situate("Birds", asks)]
    supervisor.close()
    assert told == [(1, "ok"), (2, "ok"), (0, "retried")]


# A model's process that faults everything in hand when "heron" is at work beside another, twice
# tells of a fault of all, and answers a count out of turn.
SCRIPTED = """
from crx.backends.process.pipe import Parent
parent, waiting = Parent(), []

def settle():
    poisoned = any("heron" in m["text"] for m in waiting)
    for m in waiting:
        parent.say({"op": "admitted", "number": m["number"]})
    for m in waiting:
        if poisoned:
            fault = {"op": "fault", "number": m["number"], "why": "NaN"}
            parent.say(fault | {"together": len(waiting) > 1})
        else:
            parent.say({"op": "answer", "number": m["number"], "text": m["text"], "finished": True})
    waiting.clear()

def broken():
    parent.say({"op": "fault", "why": "no memory"})

while True:
    if waiting and not parent.waiting():
        settle()
    message = parent.next()
    if message is None:
        break
    if message["op"] == "open":
        parent.say({"op": "ready"})
    elif message["op"] == "prefix":
        prefix = message["text"]
    elif message["op"] == "count":
        parent.say({"op": "counted"} if message["texts"] else {"op": "fault", "why": "stale"})
    elif message["op"] == "add":
        if prefix == "broken":
            broken()
        else:
            waiting.append(message)
"""
WORDS = ("heron", "egret", "bittern")


@pytest.fixture
def scripted() -> Iterator[Supervisor]:
    supervisor = Supervisor((sys.executable, "-c", SCRIPTED), {}, timeout_s=5.0)
    yield supervisor
    supervisor.close()


def asks() -> list[Ask]:
    return [Ask(word, word, lambda text, _: Context(text)) for word in WORDS]


def test_one_that_breaks_those_beside_it_is_found_by_asking_for_each_alone(
    scripted: Supervisor,
) -> None:
    told = dict(scripted.situate("Birds", asks()))
    assert told == {
        0: Context.failed("NaN"),
        1: Context("egret"),
        2: Context("bittern"),
    }


def test_what_was_sent_before_a_fault_of_all_is_not_heard_in_the_next_round(
    scripted: Supervisor,
) -> None:
    told = dict(scripted.situate("broken", asks()))
    assert told == dict.fromkeys(range(3), Context.failed("no memory"))
    assert dict(scripted.situate("Birds", asks()[1:])) == {
        0: Context("egret"),
        1: Context("bittern"),
    }


def test_a_reply_to_something_else_is_no_reply(scripted: Supervisor) -> None:
    assert scripted.call({"op": "count", "texts": ["x"]}, reply_op="counted") == {"op": "counted"}
    with pytest.raises(ModelError, match="lost twice: an answer out of turn"):
        scripted.call({"op": "count", "texts": []}, reply_op="counted")
    assert scripted.usage.restarts == 2


def test_a_child_imports_nothing_from_the_folder_it_starts_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("resource", "numpy", "crx", "orjson"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('from the folder')")
    monkeypatch.chdir(tmp_path)
    fake = Fake(Faults(crash=1e-9))
    assert [c.outcome for c in fake.situate(DOCUMENT, chunks()[:2])] == ["ok", "ok"]
    fake.close()


def test_in_a_child_or_not_the_texts_are_the_same() -> None:
    never = Faults(crash=1e-9)
    fake = Fake(never)
    assert list(fake.situate(DOCUMENT, chunks())) == list(Fake().situate(DOCUMENT, chunks()))
    fake.close()


def test_leaving_in_the_middle_leaves_no_child_and_no_answer_behind() -> None:
    fake = Fake(Faults(crash=1e-9))
    contexts = fake.situate(DOCUMENT, chunks())
    first = next(contexts)
    contexts.close()
    assert next(fake.situate(DOCUMENT, chunks())) == first
    fake.close()


def test_a_model_that_only_crashes_ends_the_run() -> None:
    with pytest.raises(ModelError, match="lost 8 times in a row: crashed with SIGSEGV"):
        list(Fake(Faults(crash=1.0)).situate(DOCUMENT, chunks()))


def test_settings_are_read_from_the_name() -> None:
    assert Fake.of("latency=5ms,refuse=0.25").fingerprint == Fake(Faults(refuse=0.25)).fingerprint
    for wrong in ("speed=9", "fail", "fail=2", "fail=0.6,hang=0.6"):
        with pytest.raises(UsageError, match="fake: "):
            Fake.of(wrong)
