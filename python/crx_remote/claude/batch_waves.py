"""Contexts in message batches: half the price, within a day.

The requests of one batch run concurrently and in no order. A document's first chunk therefore goes
into one batch and writes the document to the cache; the other chunks go into the next batch and
read it. Cache entries are kept for an hour, which is longer than most batches take.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from crx.errors import BudgetSpent, ModelError
from crx.types import Chunk, Context, Document
from crx_contexts.validate import ContextValidator
from crx_remote.claude.batch_queue import BatchQueue
from crx_remote.claude.requests import DocumentPart, RequestSettings
from crx_remote.errors import TransientError, is_too_long
from crx_remote.metering import Meter, Reservation
from crx_remote.remote_requests import validate_completion

Emit = Callable[[tuple[int, int, Context]], None]

# The service accepts 100,000 requests or 256 MB in a batch.
_MAX_REQUESTS, _MAX_BYTES = 100_000, 200_000_000
_MAX_TRIES = 2
_RETRYABLE = frozenset({"api_error", "overloaded_error", "rate_limit_error", "timeout_error"})
_ENDS_RUN = frozenset(
    {"authentication_error", "permission_error", "billing_error", "not_found_error"}
)


@dataclass(frozen=True, slots=True)
class _BatchDocument:
    """A document of a run, the validator of its contexts and the hash of its text."""

    document: Document
    validator: ContextValidator
    hash: str

    @classmethod
    def of(cls, document: Document, settings: RequestSettings) -> _BatchDocument:
        """Return a document with the validator of the run's prompt."""
        digest = hashlib.sha256(document.text.encode("utf-8", "surrogatepass"))
        validator = ContextValidator(document, prompt=settings.prompt)
        return cls(document, validator, digest.hexdigest())


@dataclass(slots=True)
class _ChunkState:
    """A chunk without a context yet: how often it was tried, and the result so far.

    `position` is (document, chunk) in the caller's sequences; `chunk` is the chunk's position in
    its part.
    """

    position: tuple[int, int]
    document: _BatchDocument
    chunk: int
    part: DocumentPart
    tries: int = 0
    context: Context | None = None
    too_long: bool = False

    @property
    def done(self) -> bool:
        if self.context is None:
            return False
        return self.context.status != "rejected" or self.tries >= _MAX_TRIES

    def body(self, settings: RequestSettings) -> dict[str, Any]:
        """Return the body of the chunk's next request."""
        chunk = self.part.chunks[self.chunk]
        return settings.context_body(self.part, chunk, firmer=self.context is not None)

    def content_hash(self, settings: RequestSettings) -> str:
        """Return 40 hex digits that identify what the next request asks.

        The part's text is not hashed: it depends on which chunks of a long document are missing.
        """
        chunk, options = self.part.chunks[self.chunk], settings.body(())
        span = [self.document.hash, chunk.start, chunk.end]
        asked = [*span, self.context is not None, settings.prompt.hash, options]
        return hashlib.sha256(json.dumps(asked, sort_keys=True).encode()).hexdigest()[:40]

    def accept(self, result: Any, settings: RequestSettings, reservation: Reservation) -> None:
        """Apply a batch's result; raise `ModelError` if every other chunk would fail the same."""
        self.tries += 1
        kind = "lost" if result is None else result.type
        if kind == "succeeded":
            self._accept_message(result.message, settings, reservation)
            return
        reservation.release()
        if kind == "errored":
            self._accept_error(result.error.error)
        else:
            self._fail(f"the batch's request was {kind}", last=self.tries >= _MAX_TRIES)

    def _accept_message(
        self, message: Any, settings: RequestSettings, reservation: Reservation
    ) -> None:
        try:
            answer, used = settings.parse(message)
        except TransientError as error:
            reservation.count_as_lost()
            self._fail(str(error), last=self.tries >= _MAX_TRIES)
            return
        reservation.settle(used)
        self.part.tighten_bound(used)
        chunk = self.part.chunks[self.chunk]
        context = validate_completion(self.document.validator, chunk, answer)
        retried = self.context is not None and context.status == "ok"
        self.context = replace(context, status="retried") if retried else context

    def _accept_error(self, error: Any) -> None:
        why = f"{error.type}: {error.message}"
        self.too_long = error.type == "request_too_large" or is_too_long(error.message)
        if error.type in _ENDS_RUN:
            raise ModelError(f"claude: {why}; check the key, the account and the model's name")
        self._fail(why, last=self.tries >= _MAX_TRIES or error.type not in _RETRYABLE)

    def _fail(self, why: str, *, last: bool) -> None:
        if last and self.context is None:
            self.context = Context.failed(why)


@dataclass(frozen=True, slots=True)
class _BatchRequest:
    """One request of a wave, with its reservation."""

    state: _ChunkState
    body: dict[str, Any]
    reservation: Reservation


@dataclass(frozen=True, slots=True)
class BatchRun:
    """The contexts of several documents, requested in waves of one batch each."""

    queue: BatchQueue
    settings: RequestSettings
    meter: Meter

    async def situate(
        self,
        documents: Sequence[tuple[Document, Sequence[Chunk]]],
        emit: Emit,
        *,
        recovered: dict[str, list[Any]],
    ) -> None:
        """Emit (document, chunk, context) of every chunk.

        Answers in `recovered`, from `BatchQueue.recover`, are used first and removed from it.
        Raises `BudgetSpent` and `ModelError` after everything that was answered.
        """
        pending = []
        for at, (document, chunks) in enumerate(documents):
            batched = _BatchDocument.of(document, self.settings)
            for first, part in self.settings.parts(document, chunks):
                pending += [
                    _ChunkState((at, first + i), batched, i, part) for i in range(len(part.chunks))
                ]
        self._use_recovered(pending, recovered)
        while pending := _emit_done(pending, emit):
            await self._run_wave(pending, emit)

    async def _run_wave(self, pending: Sequence[_ChunkState], emit: Emit) -> None:
        try:
            wave = self._next_wave(pending)
        except BudgetSpent:
            _emit([state for state in pending if state.context], emit)
            raise
        try:
            results = await self.queue.run(
                [(request.state.content_hash(self.settings), request.body) for request in wave]
            )
            self._accept(wave, results)
            self._shorten([state for state in pending if state.too_long])
        except BaseException:
            _emit_done(pending, emit)
            raise
        finally:
            for request in wave:
                request.reservation.release()

    def _next_wave(self, pending: Sequence[_ChunkState]) -> list[_BatchRequest]:
        """Return the next requests: all chunks of cached parts, one chunk of each other part.

        Raises `BudgetSpent` if not even one fits the budget.
        """
        wave: list[_BatchRequest] = []
        warming: set[int] = set()
        size = 0
        for state in pending:
            if not state.part.cache_warm and id(state.part) in warming:
                continue
            body = state.body(self.settings)
            size += len(json.dumps(body))
            if wave and (len(wave) == _MAX_REQUESTS or size > _MAX_BYTES):
                break
            chunk = state.part.chunks[state.chunk]
            try:
                reservation = self.meter.reserve(self.settings.worst_dollars(state.part, chunk))
            except BudgetSpent:
                if not wave:
                    raise
                break
            warming.add(id(state.part))
            wave.append(_BatchRequest(state, body, reservation))
        return wave

    def _accept(self, wave: Sequence[_BatchRequest], results: Sequence[Any]) -> None:
        """Apply all results; an error that ends the run is raised after the last."""
        stop: ModelError | None = None
        for request, result in zip(wave, results, strict=True):
            try:
                request.state.accept(result, self.settings, request.reservation)
            except ModelError as error:
                stop = error
            if result is not None and result.type == "succeeded":
                request.state.part.cache_warm = True
        if stop is not None:
            raise stop

    def _use_recovered(
        self, pending: Sequence[_ChunkState], recovered: dict[str, list[Any]]
    ) -> None:
        """Apply answers that an earlier run paid for. Their cache entries may have expired."""
        for state in pending if recovered else ():
            while not state.done and (results := recovered.get(state.content_hash(self.settings))):
                state.accept(results.pop(), self.settings, self.meter.prepaid())

    def _shorten(self, too_long: Sequence[_ChunkState]) -> None:
        """Move chunks whose prompts were too long into shorter parts of their documents."""
        by_part: dict[int, list[_ChunkState]] = {}
        for state in too_long:
            state.too_long = False
            by_part.setdefault(id(state.part), []).append(state)
        for group in by_part.values():
            part = group[0].part
            chunks = [part.chunks[state.chunk] for state in group]
            if not self.settings.refuse(part, chunks):
                continue
            for first, shorter in self.settings.parts(group[0].document.document, chunks):
                for i in range(len(shorter.chunks)):
                    state = group[first + i]
                    state.part, state.chunk = shorter, i
                    state.context, state.tries = None, 0


def _emit_done(states: Sequence[_ChunkState], emit: Emit) -> list[_ChunkState]:
    """Emit the contexts of the chunks that are done and return the other chunks."""
    _emit([state for state in states if state.done], emit)
    return [state for state in states if not state.done]


def _emit(states: Sequence[_ChunkState], emit: Emit) -> None:
    for state in states:
        if state.context is not None:
            emit((*state.position, state.context))
