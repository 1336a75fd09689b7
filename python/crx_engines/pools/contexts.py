"""Contexts from workers: the job that each of them runs, and the pool that is given documents."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator, Sequence
from dataclasses import asdict, astuple, dataclass, replace
from typing import Generic

from crx import context_registry
from crx._context.documents import DocumentTask, Request
from crx._services.compute_usage import ComputeUsage
from crx._services.destination import Destination
from crx._services.prompt import Prompt
from crx.errors import Incompatible, ModelError
from crx.ingest._worker.messages import decode_document, encode_document
from crx.protocols import BatchContextualizer, Contextualizer, Metered, Promptable
from crx.types import Chunk, Context, Document
from crx.workers.child import child_command
from crx.workers.messages import Message
from crx_engines.pools.job import serve_job, use_threads
from crx_engines.pools.pool import MAX_LOSSES, WAIT_S, TaskAnswer, TaskLost, WorkerPool

# A worker is silent while it reads a document. The process of a local model, which the worker
# supervises, is replaced much sooner.
_SILENT_S = 3600.0
_CHARS_A_SECOND = 10

# Documents that a worker is given: the one that it works on, and the next.
DOCUMENTS_AHEAD = 2
# Chunks in a row that fail because workers are lost at them: no single chunk is at fault.
MAX_LOST_CHUNKS = 3


@dataclass(frozen=True, slots=True)
class NumberedTask:
    """A task with the number of its document in the run."""

    number: int
    task: DocumentTask

    @property
    def chars(self) -> int:
        """Characters of the document."""
        return self.task.chars

    def part(self, positions: Iterable[int]) -> NumberedTask:
        """Return the task of some of its chunks."""
        chunks = {at: self.task.chunks[at] for at in positions}
        return NumberedTask(self.number, replace(self.task, chunks=chunks))


@dataclass(frozen=True, slots=True)
class WrittenContext:
    """The context of the chunk at a position, and all computation of its worker so far."""

    position: int
    context: Context
    usage: ComputeUsage | None = None


@dataclass(frozen=True, slots=True)
class ContextJob:
    """What a worker loads: a contextualizer's specification, with each of several prompts.

    The first prompt is the general one, None for that of the contextualizer. `fingerprints` are
    those of the contextualizers, in the same order.
    """

    source: str
    prompts: tuple[Prompt | None, ...]
    fingerprints: tuple[str, ...]
    threads: int = 1

    @property
    def command(self) -> Sequence[str]:
        return child_command("crx_engines.pools.contexts")

    def with_threads(self, threads: int) -> ContextJob:
        return replace(self, threads=threads)

    def load(self) -> ContextWorker:
        return ContextWorker(self)

    def count_answers(self, task: NumberedTask) -> int:
        return len(task.task.chunks)

    def silent_s(self, chars: int) -> float:
        return _SILENT_S + chars / _CHARS_A_SECOND

    def remaining(self, task: NumberedTask, answer: WrittenContext) -> NumberedTask:
        return task.part(at for at in task.task.chunks if at != answer.position)

    def suspects(self, task: NumberedTask) -> Sequence[tuple[int, int]]:
        """Return the number of the document and the position of its first chunk left."""
        return [(task.number, next(iter(task.task.chunks)))]

    def divide(self, task: NumberedTask, *, losses: int) -> Sequence[NumberedTask]:
        """Return the chunks that are left; after a second loss the first of them alone."""
        first, *others = task.task.chunks
        if losses == 1 or not others:
            return [task]
        return [task.part([first]), task.part(others)]

    def encode(self) -> Message:
        return asdict(self)

    def encode_task(self, task: NumberedTask) -> Message:
        chunks = {at: astuple(chunk)[:-1] for at, chunk in task.task.chunks.items()}
        return {
            "number": task.number,
            "document": encode_document(task.task.document),
            "chunks": list(chunks.items()),
            "contextualizer": task.task.contextualizer,
        }

    def decode_task(self, message: Message) -> NumberedTask:
        document = decode_document(message["document"])
        chunks = {at: _decode_chunk(fields, document) for at, fields in message["chunks"]}
        task = DocumentTask(document, chunks, message["contextualizer"])
        return NumberedTask(message["number"], task)

    def encode_answer(self, answer: WrittenContext) -> Message:
        return {
            "position": answer.position,
            "text": answer.context.text,
            "outcome": answer.context.outcome,
            "usage": asdict(answer.usage) if answer.usage else None,
        }

    def decode_answer(self, message: Message, task: NumberedTask) -> WrittenContext:
        position, usage = message["position"], message["usage"]
        if position not in task.task.chunks:
            raise ValueError("no chunk of the task")
        context = Context.stored(str(message["text"]), str(message["outcome"]))
        return WrittenContext(position, context, ComputeUsage.from_dict(usage) if usage else None)


class ContextWorker:
    """Contextualizers in a process of their own, which share a model."""

    def __init__(self, job: ContextJob) -> None:
        """Load the model; raises `ModelError`, and `Incompatible` for another model or prompt."""
        use_threads(job.threads)
        general = context_registry.load_contextualizer(job.source, prompt=job.prompts[0])
        self._contextualizers = [general]
        for prompt in job.prompts[1:]:
            assert prompt is not None
            assert isinstance(general, Promptable)
            self._contextualizers.append(general.with_prompt(prompt))
        for each, fingerprint in zip(self._contextualizers, job.fingerprints, strict=True):
            if each.fingerprint != fingerprint:
                raise Incompatible(
                    f"{job.source}: a worker has {each.fingerprint}, this run needs "
                    f"{fingerprint}; install the same model for all workers"
                )

    def run(self, task: NumberedTask) -> Iterator[WrittenContext]:
        """Yield the context of each chunk of a document as soon as it is written.

        Raises `ModelError`, also if a chunk gets no context, or two.
        """
        document, positions = task.task.document, list(task.task.chunks)
        contextualizer = self._contextualizers[task.task.contextualizer]
        missing = set(range(len(positions)))
        for at, context in _situate(contextualizer, document, list(task.task.chunks.values())):
            if at not in missing:
                break
            missing.remove(at)
            yield WrittenContext(positions[at], context, self._usage)
        else:
            if not missing:
                return
        raise ModelError(
            f"{contextualizer.fingerprint}: did not give each chunk of {document.uri} one context"
        )

    @property
    def _usage(self) -> ComputeUsage | None:
        general = self._contextualizers[0]
        usage = general.usage if isinstance(general, Metered) else None
        return usage if isinstance(usage, ComputeUsage) else None


@dataclass(slots=True)
class _DocumentInFlight(Generic[Request]):
    """What was asked, and how many of its chunks have no context yet."""

    request: Request
    missing: int


class ContextWorkers:
    """Workers with a contextualizer. A chunk at which the pool gives up has a failed context."""

    def __init__(self, pool: WorkerPool[NumberedTask, WrittenContext]) -> None:
        self._pool = pool
        self._usage: dict[int, ComputeUsage] = {}
        self._lost_chunks = 0

    @property
    def destination(self) -> Destination:
        """The host that documents are sent to."""
        return Destination(self._pool.host)

    @property
    def usage(self) -> ComputeUsage | None:
        """The computation of all workers so far, None if their contextualizer counts none."""
        return sum(self._usage.values(), ComputeUsage()) if self._usage else None

    def situate(
        self, asked: Iterable[tuple[Request, DocumentTask]]
    ) -> Generator[tuple[Request, int, Context], None, None]:
        """Yield (request, position of the chunk, context) as they come, one for each chunk."""
        waiting = enumerate(asked)
        in_flight: dict[int, _DocumentInFlight[Request]] = {}
        try:
            while self._fill(waiting, in_flight):
                for event in self._pool.advance(timeout_s=WAIT_S):
                    document = in_flight[event.task.number]
                    document.missing -= 1
                    if not document.missing:
                        del in_flight[event.task.number]
                    yield document.request, *self._result(event)
        finally:
            self._pool.close()

    def _fill(
        self,
        waiting: Iterator[tuple[int, tuple[Request, DocumentTask]]],
        in_flight: dict[int, _DocumentInFlight[Request]],
    ) -> bool:
        """Submit documents while there is room; return whether any is in flight."""
        while not self._pool.is_full:
            following = next(waiting, None)
            if following is None:
                break
            number, (request, task) = following
            in_flight[number] = _DocumentInFlight(request, len(task.chunks))
            self._pool.submit(NumberedTask(number, task))
        return bool(in_flight)

    def _result(
        self, event: TaskAnswer[NumberedTask, WrittenContext] | TaskLost[NumberedTask]
    ) -> tuple[int, Context]:
        """Return the position and the context of the chunk that an event is about."""
        match event:
            case TaskAnswer(worker, _, WrittenContext(position, context, usage)):
                self._lost_chunks = 0
                if usage is not None:
                    self._usage[worker] = usage
                return position, context
            case TaskLost(task, why):
                return self._give_up_first(task, why)

    def _give_up_first(self, task: NumberedTask, why: str) -> tuple[int, Context]:
        """Ask again for all chunks of a task but the first, whose context has failed."""
        self._lost_chunks += 1
        if self._lost_chunks >= MAX_LOST_CHUNKS:
            raise ModelError(
                f"{MAX_LOSSES} workers were lost at each of {MAX_LOST_CHUNKS} chunks in a row, "
                f"the last one {why}"
            )
        first, *others = task.task.chunks
        if others:
            self._pool.submit_first([task.part(others)])
        lost = f"{MAX_LOSSES} workers were lost at this chunk, the last one {why}"
        return first, Context.failed(lost)


def _situate(
    contextualizer: Contextualizer, document: Document, chunks: Sequence[Chunk]
) -> Iterator[tuple[int, Context]]:
    """Yield (position, context) of the chunks of a document, in any order."""
    if not isinstance(contextualizer, BatchContextualizer):
        yield from enumerate(contextualizer.situate(document, chunks))
        return
    for _, at, context in contextualizer.situate_many([(document, chunks)]):
        yield at, context


def _decode_chunk(fields: Sequence[int], document: Document) -> Chunk:
    ordinal, start, end, token_start, token_end, section = fields
    text = document.text[start:end]
    return Chunk(ordinal, start, end, token_start, token_end, section, text)


def decode_context_job(message: Message) -> ContextJob:
    """Return the job of `ContextJob.encode`."""
    prompts = (each and _decode_prompt(each) for each in message["prompts"])
    return ContextJob(
        message["source"], tuple(prompts), tuple(message["fingerprints"]), message["threads"]
    )


def _decode_prompt(message: Message) -> Prompt:
    parts = tuple((text, placeholder) for text, placeholder in message["parts"])
    return Prompt(parts, message["glossary"])


def main() -> None:
    """Serve as a worker that writes contexts."""
    serve_job(decode_context_job)
