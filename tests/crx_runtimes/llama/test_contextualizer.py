"""Contexts from a local model, and models that fail."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from crx._services.prompt import Prompt
from crx.errors import ModelError, UsageError
from crx.protocols import Contextualizer
from crx.types import Chunk, Context, Document

pytest.importorskip("llama_cpp")
pytest.importorskip("gguf")

import tiny_gguf

from crx._backends.hashed import HashedEmbedder
from crx._cli.plan import load_cost_model
from crx._context.estimate import plan
from crx._services.compute_usage import Pace
from crx.context_registry import load_contextualizer
from crx.registry import load_generator
from crx_runtimes.llama import contextualizer as llama
from crx_runtimes.llama.contextualizer import Llama
from crx_runtimes.llama.options import LlamaOptions
from crx_runtimes.pace import Work

pytestmark = pytest.mark.usefixtures("accept_generic_contexts")

SENTENCE = "This tells how it begins."
ONE_THREAD = LlamaOptions(threads=1, max_tokens=24)


def heron_chunks(text: str) -> list[Chunk]:
    starts = [0, *(i + 1 for i, c in enumerate(text) if c == "\n" and i + 1 < len(text))]
    ends = [*starts[1:], len(text)]
    return [
        Chunk(i, a, b, 0, 0, 0, text[a:b])
        for i, (a, b) in enumerate(zip(starts, ends, strict=True))
    ]


TEXT = "".join(f"Paragraph {i} of the heron survey, on colony {i * 37}.\n" for i in range(12))
DOCUMENT = Document("file:herons.txt", TEXT)
CHUNKS = heron_chunks(TEXT)


@pytest.fixture
def parrot(models: Path) -> Iterator[Llama]:
    with Llama(models / "parrot.gguf", settings=ONE_THREAD) as llama:
        yield llama


def test_contexts_come_in_order_and_the_document_is_computed_once(parrot: Llama) -> None:
    assert isinstance(parrot, Contextualizer)
    assert list(parrot.situate(DOCUMENT, CHUNKS)) == [Context(SENTENCE)] * 12
    usage = parrot.usage
    assert usage.reused > 10 * len(TEXT) / 2
    assert usage.prompt == usage.prefilled + usage.reused
    assert usage.decoded == 12 * len(tiny_gguf.SENTENCE)


# Parts of a document begin alike, with the frame and headings, which are computed once.
@pytest.mark.parametrize(("window", "alike"), [(0, 0.0), (700, 0.12)])
def test_the_estimated_work_is_the_work_done(
    models: Path, window: int, alike: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = LlamaOptions(threads=1, max_tokens=24, token_limit=window, slots=4)
    document, chunks = Document("u", TEXT * 3), heron_chunks(TEXT * 3)
    with Llama(models / "parrot.gguf", settings=settings) as model:
        assert model.estimate_seconds([(document, chunks)], asks=1) == 0, "nothing is known yet"
        assert len([*model.situate(document, chunks)]) == 36
        used = model.usage
        estimated: list[Work] = []

        def record(_: Pace, work: Work) -> float:
            estimated.append(work)
            return 1.0

        monkeypatch.setattr("crx_runtimes.pace.seconds_of", record)
        assert model.estimate_seconds([(document, chunks)], asks=1) == 2
    read, written = estimated
    assert used.prefilled == used.prefill.tokens
    assert 0 <= read.tokens / used.prefill.tokens - 1 <= alike
    assert read.cells == pytest.approx(used.prefill.cells, rel=0.01 + alike)
    assert written.tokens == used.decode.tokens
    assert written.cells == pytest.approx(used.decode.cells, rel=0.02)
    assert written.steps == pytest.approx(used.decode.steps, rel=0.05)
    assert used.seconds > 0


def test_a_document_longer_than_the_window_is_shared_in_parts(models: Path) -> None:
    settings = LlamaOptions(threads=1, max_tokens=24, token_limit=700)
    with Llama(models / "parrot.gguf", settings=settings) as llama:
        text = TEXT * 3
        chunks = heron_chunks(text)
        assert [*llama.situate(Document("u", text), chunks)] == [Context(SENTENCE)] * 36
        assert llama.usage.reused > 0


@pytest.mark.parametrize("window", [0, 4096])
def test_without_a_gpu_contexts_are_written_from_excerpts_unless_a_window_is_set(
    models: Path, window: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(llama, "CPU_TOKEN_LIMIT", 700)
    settings = LlamaOptions(threads=1, max_tokens=24, token_limit=window, gpu_layers=0)
    chunks = heron_chunks(TEXT * 3)
    with Llama(models / "parrot.gguf", settings=settings) as model:
        assert [*model.situate(Document("u", TEXT * 3), chunks)] == [Context(SENTENCE)] * 36
        assert (model.usage.prompt > 36 * 700) == (window > 0)


def test_a_prompt_that_cannot_fit_is_a_failure_of_its_chunk(models: Path) -> None:
    settings = LlamaOptions(threads=1, max_tokens=24, token_limit=600)
    with Llama(models / "parrot.gguf", settings=settings) as llama:
        long = Chunk(1, 0, len(TEXT), 0, 0, 0, TEXT)
        good, failed = llama.situate(DOCUMENT, [CHUNKS[0], long])
        assert good == Context(SENTENCE)
        assert failed.outcome.startswith("failed:the prompt takes ")


def test_with_little_memory_fewer_chunks_are_decoded_together(models: Path) -> None:
    tokens = 2048  # the document and about two chunks; a token takes 2 * 2 * 128 * 2 bytes
    settings = LlamaOptions(threads=1, max_tokens=24, kv_bytes=tokens * 1024)
    short = Document("short", TEXT[: CHUNKS[4].end])
    with Llama(models / "parrot.gguf", settings=settings) as llama:
        # The short one leaves room for more chunks at once than the long one after it.
        assert [*llama.situate(short, CHUNKS[:5])] == [Context(SENTENCE)] * 5
        before = llama.usage
        assert [*llama.situate(DOCUMENT, CHUNKS)] == [Context(SENTENCE)] * 12
        pace = llama.usage.decode
    tokens_a_step = (pace.tokens - before.decode.tokens) / (pace.steps - before.decode.steps)
    assert 1 <= tokens_a_step < before.decode.tokens / before.decode.steps


def test_a_chunk_with_a_rejected_answer_is_asked_for_again(models: Path, tmp_path: Path) -> None:
    words = ("I", "Ġcannot", "Ġtell", ".", "<|im_end|>")
    path = tiny_gguf.parrot(tmp_path / "refuses.gguf", words=words)
    with Llama(path, settings=ONE_THREAD) as llama:
        assert [*llama.situate(DOCUMENT, CHUNKS[:2])] == [Context.rejected("refusal")] * 2
        assert llama.usage.decoded == 2 * 2 * len(words)


def test_reasoning_that_the_template_begins_is_no_context(tmp_path: Path) -> None:
    template = "User: {{ messages[0].content }}\\nAssistant: <think>{{ '\\n' }}"
    aloud = tiny_gguf.parrot(tmp_path / "thinks.gguf", template=template)
    with Llama(aloud, settings=ONE_THREAD) as llama:
        assert [*llama.situate(DOCUMENT, CHUNKS[:1])] == [Context.rejected("thinking")]


def test_a_killed_child_is_replaced(parrot: Llama) -> None:
    contexts = parrot.situate(DOCUMENT, CHUNKS)
    assert next(contexts) == Context(SENTENCE)
    assert parrot._process._supervisor.child is not None
    os.kill(parrot._process._supervisor.child.pid, signal.SIGKILL)
    failed = [c for c in contexts if c != Context(SENTENCE)]
    # None, unless the child died with a single chunk in hand.
    assert failed in ([], [Context.failed("killed, perhaps for want of memory")])
    assert [*parrot.situate(DOCUMENT, CHUNKS[:2])] == [Context(SENTENCE)] * 2
    assert parrot.usage.restarts == 1


def test_a_repeated_run_gives_the_same_texts(models: Path) -> None:
    texts = []
    for places in (2, 5):
        settings = LlamaOptions(threads=1, max_tokens=24, slots=places)
        with Llama(models / "random.gguf", settings=settings) as llama:
            texts.append([*llama.situate(DOCUMENT, CHUNKS[:4])])
    assert texts[0] == texts[1]


def test_the_fingerprint_changes_with_what_changes_the_text(models: Path) -> None:
    def fingerprint(name: str, prompt: Prompt | None = None, **settings: int) -> str:
        chosen = LlamaOptions(threads=1, **settings)  # type: ignore[arg-type]
        with Llama(models / name, prompt=prompt, settings=chosen) as llama:
            return llama.fingerprint

    same = fingerprint("parrot.gguf")
    assert fingerprint("parrot.gguf", slots=2) == same
    changed = [
        fingerprint("random.gguf"),
        fingerprint("parrot.gguf", Prompt.of(glossary="x")),
        fingerprint("parrot.gguf", max_tokens=9),
    ]
    assert len({same, *changed}) == 4


def test_nothing_reaches_the_terminal(models: Path, capfd: pytest.CaptureFixture[str]) -> None:
    with Llama(models / "parrot.gguf", settings=ONE_THREAD) as llama:
        assert [*llama.situate(DOCUMENT, CHUNKS[:1])] == [Context(SENTENCE)]
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("name", "fact"),
    [
        ("absent", "no such model"),
        ("words", "not a GGUF file"),
        ("header", "cannot be loaded: failed to read key-value pairs"),
        ("truncated", "model is corrupted or incomplete"),
        ("embedder", 'a model of kind "bert" writes no text'),
        ("template", "the model's chat template"),
    ],
)
def test_a_file_that_is_not_a_usable_model_is_named(
    models: Path, tmp_path: Path, name: str, fact: str
) -> None:
    path = tmp_path / f"{name}.gguf"
    whole = (models / "parrot.gguf").read_bytes()
    match name:
        case "words":
            path.write_text("once upon a time")
        case "header":
            path.write_bytes(whole[:5000])
        case "truncated":
            path.write_bytes(whole[:3_000_000])
        case "embedder":
            path.write_bytes((models / "embedder.gguf").read_bytes())
        case "template":
            tiny_gguf.parrot(path, template="{{ messages[0].content.__class__.__mro__ }}")
    with pytest.raises(ModelError) as error:
        Llama(path, settings=ONE_THREAD)
    assert str(error.value).startswith(f"{path}: ")
    assert fact in str(error.value)
    assert "\n" not in str(error.value)


CRASHES_WITH_EXTRA_BUFFERS = """
import os, signal
from crx.workers.parent import Parent
parent = Parent()
if parent.receive()["extra_buffers"]:
    os.kill(os.getpid(), signal.SIGSEGV)
ready = {"op": "ready", "token_limit": 512, "head": 0, "tail": 0, "shares": True}
ready |= {"gpu": False, "slots": 1, "step_tokens": 512, "template": "chatml"}
parent.send({**ready, "starts_in_reasoning": False})
parent.receive()
"""


def test_a_model_that_crashes_with_special_weight_layouts_is_loaded_without_them(
    models: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(llama, "COMMAND", (sys.executable, "-c", CRASHES_WITH_EXTRA_BUFFERS))
    with Llama(models / "parrot.gguf") as model:
        assert model.notes == (
            "without the processor's own weight layouts: llama.cpp crashed with SIGSEGV",
        )


def test_a_model_without_a_chat_template_has_a_note(tmp_path: Path) -> None:
    path = tiny_gguf.parrot(tmp_path / "plain.gguf", template="")
    with Llama(path, settings=ONE_THREAD) as model:
        assert model.notes == ("no chat template in the file; use an instruct model",)
        assert [*model.situate(DOCUMENT, CHUNKS[:1])] == [Context(SENTENCE)]


def test_an_estimate_grows_with_the_documents_and_has_the_models_notes(tmp_path: Path) -> None:
    path = tiny_gguf.parrot(tmp_path / "plain.gguf", template="")
    (tmp_path / "docs").mkdir()
    seconds = []
    for n in range(2):
        (tmp_path / "docs" / f"{n}.txt").write_text(f"Survey {n}.\n" + TEXT * (1 + 4 * n))
        costs = load_cost_model(f"llama:{path}:threads=1,max_tokens=24")
        assert isinstance(costs.contextualizer, Llama)
        with costs.contextualizer:
            planned = plan(
                [tmp_path / "docs"],
                embedder=HashedEmbedder(),
                scratch_embedder=HashedEmbedder(),
                costs=costs,
                seconds=0.2,
                chunk_chars=120,
            )
        seconds.append(planned.rungs[1].seconds)
    assert 0 < 2 * seconds[0] < seconds[1]
    assert planned.notes == ("no chat template in the file; use an instruct model",)


def test_too_little_memory_for_the_model_is_a_model_error(models: Path) -> None:
    settings = LlamaOptions(threads=1, memory_bytes=80 << 20)
    with pytest.raises(ModelError, match=r"parrot\.gguf: "):
        Llama(models / "parrot.gguf", settings=settings)


def test_an_option_out_of_range_is_a_usage_error() -> None:
    with pytest.raises(UsageError, match=r'^llama: kv is "f16", "q8_0" or "f32", not "q9"$'):
        load_contextualizer("llama:model.gguf:kv=q9")
    with pytest.raises(UsageError, match=r"^llama: max_tokens and timeout_s are above 0$"):
        load_generator("llama:model.gguf:max_tokens=0")
