"""The answer of a model service to one prompt: its reservation, retries and streamed text."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Generator
from dataclasses import dataclass
from functools import partial

from crx._backends.options import token_limit_message
from crx._services.service_usage import ServiceUsage
from crx.errors import ModelError
from crx_remote.errors import RequestFailed, TransientError
from crx_remote.metering import Meter, Reservation
from crx_remote.notices import SLOW_S, ServiceNotices, ignore_notice
from crx_remote.retry import RetryPolicy
from crx_remote.stream import stream


@dataclass(frozen=True, slots=True)
class Completion:
    """The text of an answer.

    `finished` is False if it ended at the token limit; `refused` is True if the service declined.
    """

    text: str
    finished: bool = True
    refused: bool = False


Emit = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class AnswerRequest:
    """A prompt and the policy by which it is sent.

    `send` makes one request: it emits the pieces of the answer as they arrive and returns the
    whole answer with its usage. A request is retried only before any output has been emitted.
    `service` and `max_tokens` are named in error messages.
    """

    send: Callable[[Emit], Awaitable[tuple[Completion, ServiceUsage]]]
    meter: Meter
    retry_policy: RetryPolicy
    service: str
    max_tokens: int
    on_notice: Callable[[str], None] = ignore_notice

    def stream(self) -> Generator[str, None, None]:
        """Yield the answer's pieces; raise `ModelError` if it does not complete.

        `on_notice` gets the lines of `ServiceNotices`.
        """
        notices = ServiceNotices(self.service, self.on_notice)
        return stream(partial(self._run, notices), slow_s=SLOW_S, on_slow=notices.tell_slow)

    async def _run(self, notices: ServiceNotices, emit: Emit) -> None:
        reservation = self.meter.reserve(0.0)
        try:
            answer = await self.retry_policy.run(
                lambda: self._attempt(emit, reservation),
                on_retry=notices.tell_retry,
            )
        except RequestFailed as failed:
            raise ModelError(f"{self.service}: {failed}") from None
        finally:
            reservation.release()
        if answer.refused:
            raise ModelError(f"{self.service}: declined to answer; ask in other words")
        if not answer.finished:
            raise ModelError(token_limit_message(self.service, self.max_tokens))

    async def _attempt(self, emit: Emit, reservation: Reservation) -> Completion:
        emitted = False

        def emit_and_note(piece: str) -> None:
            nonlocal emitted
            if piece:
                emitted = True
                emit(piece)

        reservation.renew()
        try:
            answer, used = await self.send(emit_and_note)
        except asyncio.CancelledError:
            reservation.count_as_lost()
            raise
        except TransientError as error:
            if error.lost:
                reservation.count_as_lost()
            if emitted:
                raise ModelError(f"{self.service}: {error}; ask again") from None
            raise
        reservation.settle(used)
        return answer
