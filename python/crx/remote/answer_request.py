"""One prompt to a model over HTTP, answered piece by piece."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from crx.errors import ModelError
from crx.remote.completion import Completion
from crx.remote.errors import Again, Failed
from crx.remote.metering import Meter, Reservation, ServiceUsage
from crx.remote.retry import RetryPolicy

Tell = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class AnswerRequest:
    """How one prompt is answered.

    `send` makes one request, tells the pieces as they come, and returns the whole answer and what
    it used. A request is made again only while nothing was told of it: nobody can take back what
    was read. `service` and `max_tokens` name in errors who answers and where it is stopped.
    """

    send: Callable[[Tell], Awaitable[tuple[Completion, ServiceUsage]]]
    meter: Meter
    patience: RetryPolicy
    service: str
    max_tokens: int

    async def run(self, tell: Tell) -> None:
        """Tell the pieces; raises `ModelError` where they do not come to an end."""
        hold = self.meter.hold(0.0)
        try:
            answer = await self.patience.keep(lambda: self._ask(tell, hold))
        except Failed as failed:
            raise ModelError(f"{self.service}: {failed}") from None
        finally:
            hold.release()
        if answer.refused:
            raise ModelError(f"{self.service}: declined to answer; ask in other words")
        if not answer.finished:
            raise ModelError(cut_short(self.service, self.max_tokens))

    async def _ask(self, tell: Tell, hold: Reservation) -> Completion:
        told = False

        def note(piece: str) -> None:
            nonlocal told
            told = told or bool(piece)
            tell(piece)

        hold.renew()
        try:
            answer, used = await self.send(note)
        except asyncio.CancelledError:
            hold.lose()
            raise
        except Again as again:
            if again.lost:
                hold.lose()
            if told:
                raise ModelError(f"{self.service}: {again}; ask again") from None
            raise
        hold.settle(used)
        return answer


def cut_short(model: str, max_tokens: int) -> str:
    """Return the message for an answer that was stopped at its limit."""
    return (
        f"{model}: stopped after {max_tokens} tokens, before its end; "
        f"allow more, as in {model}:max_tokens={2 * max_tokens}"
    )
