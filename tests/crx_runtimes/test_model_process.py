"""A model's process: retries, suspects, faults and losses."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import asdict

import pytest

from crx.errors import ModelError
from crx.types import Context
from crx.workers.child import child_command
from crx_contexts.chunk_prompt import ChunkPrompt
from crx_runtimes.fake.contextualizer import Faults
from crx_runtimes.model_process import ModelProcess

# A child that reports a fault of all chunks in progress if "heron" is among several, reports a
# fault of all chunks for the prefix "broken", and answers an empty count out of turn.
SCRIPTED = """
from crx.workers.parent import Parent
parent, waiting = Parent(), []

def settle():
    poisoned = any("heron" in m["text"] for m in waiting)
    for m in waiting:
        parent.send({"op": "admitted", "number": m["number"]})
    for m in waiting:
        if poisoned:
            fault = {"op": "fault", "number": m["number"], "why": "NaN"}
            parent.send(fault | {"together": len(waiting) > 1})
        else:
            answer = {"op": "answer", "number": m["number"], "text": m["text"]}
            parent.send(answer | {"finished": True})
    waiting.clear()

def broken():
    parent.send({"op": "fault", "why": "no memory"})

while True:
    if waiting and not parent.has_input():
        settle()
    message = parent.receive()
    if message is None:
        break
    if message["op"] == "open":
        parent.send({"op": "ready"})
    elif message["op"] == "prefix":
        prefix = message["text"]
    elif message["op"] == "count":
        parent.send({"op": "counted"} if message["texts"] else {"op": "fault", "why": "stale"})
    elif message["op"] == "add":
        if prefix == "broken":
            broken()
        else:
            waiting.append(message)
"""
WORDS = ("heron", "egret", "bittern")


@pytest.fixture
def scripted() -> Iterator[ModelProcess]:
    supervisor = ModelProcess((sys.executable, "-c", SCRIPTED), {}, timeout_s=5.0)
    yield supervisor
    supervisor.close()


def prompts() -> list[ChunkPrompt]:
    return [ChunkPrompt(word, word, lambda text, _: Context(text)) for word in WORDS]


def test_a_chunk_that_makes_others_fail_is_found_by_sending_each_alone(
    scripted: ModelProcess,
) -> None:
    contexts = dict(scripted.situate("Birds", prompts()))
    assert contexts == {
        0: Context.failed("NaN"),
        1: Context("egret"),
        2: Context("bittern"),
    }


def test_answers_to_chunks_before_a_fault_of_all_are_not_taken_for_later_ones(
    scripted: ModelProcess,
) -> None:
    contexts = dict(scripted.situate("broken", prompts()))
    assert contexts == dict.fromkeys(range(3), Context.failed("no memory"))
    assert dict(scripted.situate("Birds", prompts()[1:])) == {
        0: Context("egret"),
        1: Context("bittern"),
    }


def test_prompts_that_are_added_while_answers_arrive_are_answered(scripted: ModelProcess) -> None:
    asked = prompts()[1:]
    texts: list[str] = []
    for number, context in scripted.situate("Birds", asked):
        texts.append(f"{number} {context.text}")
        if number < 2:
            asked += [ChunkPrompt(f"tern {number}", None, lambda text, _: Context(text))]
    assert texts == ["0 egret", "1 bittern", "2 tern 0", "3 tern 1"]


def test_prompts_that_are_added_after_a_fault_of_all_fail_too(scripted: ModelProcess) -> None:
    asked, found = prompts(), dict[int, Context]()
    for number, context in scripted.situate("broken", asked):
        found[number] = context
        if len(asked) < 4:
            asked += prompts()[:1]
    assert found == dict.fromkeys(range(4), Context.failed("no memory"))


def test_a_reply_to_something_else_is_a_loss_of_the_child(scripted: ModelProcess) -> None:
    assert scripted.call({"op": "count", "texts": ["x"]}, reply_op="counted") == {"op": "counted"}
    with pytest.raises(ModelError, match="lost twice: an answer out of turn"):
        scripted.call({"op": "count", "texts": []}, reply_op="counted")
    assert scripted.usage.restarts == 2


def test_a_retried_chunk_does_not_delay_the_others() -> None:
    opening = {"faults": asdict(Faults()), "latency_s": 0.0}
    rejections = [True]

    def validate(text: str, finished: bool) -> Context:  # noqa: FBT001
        return Context.rejected("refusal") if rejections and rejections.pop() else Context(text)

    prompts = [
        ChunkPrompt(f"the {word} colony", f"the {word} colony, again", validate) for word in WORDS
    ]
    supervisor = ModelProcess(
        child_command("crx_runtimes.fake.contextualizer"), opening, timeout_s=5.0
    )
    outcomes = [
        (number, context.outcome) for number, context in supervisor.situate("Birds", prompts)
    ]
    supervisor.close()
    assert outcomes == [(1, "ok"), (2, "ok"), (0, "retried")]
