"""A local model in groups of chunks: the form of its answers, and its work."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from nest_survey import CHUNKS, DOCUMENT

from crx._services.prompt import Prompt
from crx.errors import UsageError
from crx_contexts.chunk_groups import lines_grammar

if TYPE_CHECKING:
    from crx_runtimes.llama.session import Session


def separate_session(path: Path, *, slots: int, max_tokens: int) -> Session:
    from crx._services.compute_usage import ComputeUsage
    from crx_runtimes.llama.model import LlamaModel, NativeLog
    from crx_runtimes.llama.session import Session

    model = LlamaModel(
        str(path), gpu_layers=0, extra_buffers=True, log=NativeLog(), heartbeat=lambda: None
    )
    return Session(
        model,
        capacity=2048,
        slots=slots,
        kv="f16",
        threads=1,
        max_tokens=max_tokens,
        counts=ComputeUsage(),
        shares=True,
        separate=True,
        heartbeat=lambda: None,
    )


def test_a_local_model_writes_the_form_that_the_grammar_asks_for(models: Path) -> None:
    pytest.importorskip("gguf")
    session = separate_session(models / "random.gguf", slots=2, max_tokens=700)
    model = session.model
    session.set_prefix(model.tokenize("The heron waits for"))
    suffixes = [(n, model.tokenize(text)) for n, text in enumerate((" a fish", " the frog"))]
    answers = session.admit(suffixes, grammars={0: lines_grammar(2)})
    while session.busy:
        answers += session.step()
    session.close()
    texts = {answer.number: model.text(answer.tokens) for answer in answers}
    first, second = texts[0].split("\n")
    assert (first[:4], second[:4]) == ("[1] ", "[2] ")
    assert min(len(first), len(second)) > 20
    assert not texts[1].startswith("[1]")


def test_llama_cpp_computes_each_step_of_separate_sequences_at_once(
    models: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("gguf")
    from crx_runtimes.llama import session as module

    batches: list[list[int]] = []
    fill = module._Batch.fill

    def record(batch: module._Batch, rows: Sequence[module.Row]) -> None:
        batches.append([row.sequence for row in rows])
        fill(batch, rows)

    monkeypatch.setattr(module._Batch, "fill", record)
    session = separate_session(models / "parrot.gguf", slots=3, max_tokens=12)
    model = session.model
    prefix, suffix = model.tokenize("The heron waits for"), model.tokenize(" a fish")
    session.set_prefix(prefix)
    answers = session.admit([(0, suffix), (1, suffix)])
    answers += session.step()
    answers += session.admit([(2, suffix)])
    number = 3
    while session.busy:
        answers += session.step()
        if session.free and number < 9:
            answers += session.admit([(number, suffix)])
            number += 1
    session.close()
    assert sorted(answer.number for answer in answers) == list(range(9))
    assert len({answer.tokens for answer in answers}) == 1
    prompts = [batch for batch in batches if len(batch) >= module.TILE]
    steps = [batch for batch in batches if len(batch) < module.TILE]
    assert all(len(set(batch)) == 1 and len(batch) % module.TILE == 0 for batch in prompts)
    assert len(prompts) == 9
    # A slot that holds the prompt computes the last token of the same prompt.
    assert session.counts.prefilled == 3 * len(prefix + suffix) + 6
    # In order, without gaps, and at least two.
    assert all(step == list(range(step[0], step[0] + len(step))) for step in steps)
    assert {len(step) for step in steps} == {2, 3}


def test_every_chunk_has_an_outcome_and_is_read_about_once(models: Path) -> None:
    pytest.importorskip("gguf")
    from crx_runtimes.llama.contextualizer import Llama
    from crx_runtimes.llama.options import LlamaOptions

    settings = LlamaOptions(threads=1, prompt="window")
    with Llama(models / "random.gguf", settings=settings) as model:
        assert model.estimate_seconds([(DOCUMENT, CHUNKS)], asks=1) == 0
        assert len(list(model.situate(DOCUMENT, CHUNKS))) == 8
        assert list(model.situate(DOCUMENT, [])) == []
        once = model.estimate_seconds([(DOCUMENT, CHUNKS)], asks=1)
        assert 0 < once < model.estimate_seconds([(DOCUMENT, CHUNKS)] * 2, asks=1)
        assert " prompt=window:" in model.fingerprint


def test_groups_of_several_documents_are_decoded_together(models: Path) -> None:
    pytest.importorskip("gguf")
    from crx_runtimes.llama.contextualizer import Llama
    from crx_runtimes.llama.options import LlamaOptions

    documents = [(replace(DOCUMENT, uri=f"{n}.txt"), CHUNKS[n : n + 2]) for n in range(6)]
    with Llama(models / "random.gguf", settings=LlamaOptions(threads=1, prompt="window")) as model:
        found = {(at, nth) for at, nth, _ in model.situate_many([*documents, (DOCUMENT, [])])}
        assert found == {(at, nth) for at in range(6) for nth in range(2)}
        assert model.usage.restarts == 0
        together = model.usage.decode
        for document, chunks in documents:
            assert len(list(model.situate(document, chunks))) == 2
        alone = model.usage.decode
    steps = alone.steps - together.steps
    assert together.tokens / together.steps > 1.5 * (alone.tokens - together.tokens) / steps


@pytest.mark.parametrize("faithful", [True, False])
def test_a_model_whose_slots_do_not_reuse_a_prompt_faithfully_shares_nothing(
    models: Path, monkeypatch: pytest.MonkeyPatch, *, faithful: bool
) -> None:
    pytest.importorskip("gguf")
    from crx.workers.messages import Message
    from crx.workers.parent import Parent
    from crx_runtimes.llama import session
    from crx_runtimes.llama.child import Worker
    from crx_runtimes.llama.options import LlamaOptions

    class Recorder(Parent):
        def __init__(self) -> None:
            self.sent: list[Message] = []

        def send(self, message: Message) -> None:
            self.sent.append(message)

        def send_heartbeat(self) -> None:
            pass

    if not faithful:
        # What a slot holds is taken for the beginning of any prompt.
        monkeypatch.setattr(session, "_common_prefix", lambda one, other: min(len(one), len(other)))
    parent = Recorder()
    opening = {
        **asdict(LlamaOptions(threads=1, prompt="window", slots=8)),
        "path": str(models / "sliding.gguf"),
        "extra_buffers": True,
        "max_tokens": 480,
        "usual_tokens": 1980,
    }
    Worker(parent)._open(opening)
    assert parent.sent[-1]["op"] == "ready"
    assert (parent.sent[-1]["shares"], parent.sent[-1]["slots"]) == (faithful, 8 if faithful else 1)


def test_groups_without_memory_for_separate_sequences_are_read_from_one_buffer(
    models: Path,
) -> None:
    pytest.importorskip("gguf")
    from crx_runtimes.llama.contextualizer import Llama
    from crx_runtimes.llama.options import LlamaOptions

    # A token takes 2 * 2 * 128 * 2 bytes.
    settings = LlamaOptions(threads=1, prompt="window", kv_bytes=3072 * 1024)
    with Llama(models / "random.gguf", settings=settings) as model:
        assert {context.status for context in model.situate(DOCUMENT, CHUNKS)} <= {
            "ok",
            "retried",
            "rejected",
        }
        pace = model.usage.decode
        assert pace.tokens / pace.steps < 2


def test_a_template_beside_the_group_prompt_is_an_error(models: Path) -> None:
    pytest.importorskip("gguf")
    from crx_runtimes.llama.contextualizer import Llama
    from crx_runtimes.llama.options import LlamaOptions

    settings = LlamaOptions(threads=1, prompt="window")
    template = Prompt.of("{document} {chunk} Say it.")
    with pytest.raises(UsageError, match="prompt=window has a template of its own"):
        Llama(models / "random.gguf", prompt=template, settings=settings)
    with Llama(models / "random.gguf", settings=settings) as model:
        assert model.with_prompt(Prompt.of(glossary="x")).fingerprint != model.fingerprint
        with pytest.raises(UsageError, match="prompt=window has a template of its own"):
            model.with_prompt(template)


@pytest.mark.usefixtures("accept_generic_contexts")
def test_the_estimated_work_of_groups_is_within_a_quarter_of_the_work_done(
    models: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("gguf")
    from crx._services.compute_usage import Pace
    from crx_runtimes.llama.contextualizer import Llama
    from crx_runtimes.llama.options import LlamaOptions
    from crx_runtimes.pace import Work

    settings = LlamaOptions(threads=1, prompt="window")
    with Llama(models / "random.gguf", settings=settings) as model:
        assert len(list(model.situate(DOCUMENT, CHUNKS))) == 8
        used = model.usage
        estimated: list[Work] = []

        def record(_: Pace, work: Work) -> float:
            estimated.append(work)
            return 1.0

        monkeypatch.setattr("crx_runtimes.pace.seconds_of", record)
        model.estimate_seconds([(DOCUMENT, CHUNKS)], asks=1)
    read, written = estimated
    assert read.tokens == pytest.approx(used.prefill.tokens, rel=0.25)
    assert written.tokens == pytest.approx(used.decode.tokens, rel=0.25)
