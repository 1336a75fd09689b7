"""Keeps a model at work in a child process: what breaks costs the chunk in hand, not the run.

The parent asks, judges and decides; the child only answers. Messages to the child:

    open    settings of the model          -> ready, or refused with a reason
    prefix  what the next chunks share
    add     one chunk: its number and what follows the prefix

and from it, besides those: `beat` (still at work), `admitted` (a chunk is in hand), `answer` (a
chunk's text, whether it came to an end, and counts so far) and `fault` (a chunk, or without a
number all of them, that cannot be answered; `together` where others were at work beside it and any
of them may be to blame). A chunk that is added `aloud` is told in `piece`s before that.
"""

from __future__ import annotations

import contextlib
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from crx.backends.process.pipe import Child, ChildLost, Message
from crx.context.compute_usage import ComputeUsage
from crx.context.ordering import Answers
from crx.errors import ModelError
from crx.types import Context

# A child that starts says nothing while its libraries are read from the disk.
START_S = 120.0

# So many losses with no answer between them are no accident of a chunk.
BARREN = 8

Judge = Callable[[str, bool], Context]


class Unanswered(Exception):
    """The prompt cannot be answered; the message says why."""


class CutShort(Exception):
    """The answer was stopped at its limit."""


@dataclass(frozen=True, slots=True)
class Ask:
    """What follows the prefix for one chunk, at first and firmer, and who judges the answer."""

    suffix: str
    firmer: str
    judge: Judge


@dataclass(slots=True)
class _Round:
    """Where the chunks that share a prefix stand."""

    asks: Sequence[Ask]
    waiting: deque[int]
    sent: set[int] = field(default_factory=set)
    in_hand: set[int] = field(default_factory=set)
    second: set[int] = field(default_factory=set)
    suspects: deque[int] = field(default_factory=deque)
    done: set[int] = field(default_factory=set)
    untold: deque[tuple[int, Context]] = field(default_factory=deque)
    prefix_losses: int = 0

    def settle(self, number: int, context: Context) -> None:
        self.sent.discard(number)
        self.in_hand.discard(number)
        self.done.add(number)
        self.untold.append((number, context))

    def ask_again(self, number: int) -> None:
        """Ask for a chunk once more, in firmer words; a suspect stays first in its line."""
        self.second.add(number)
        self.sent.discard(number)
        self.in_hand.discard(number)
        if number not in self.suspects:
            self.waiting.append(number)

    def fail(self, why: str) -> None:
        """Fail every chunk that has no context yet."""
        for number in sorted(set(range(len(self.asks))) - self.done):
            self.settle(number, Context.failed(why))

    def suspect(self, number: int) -> None:
        """Have a chunk asked for alone: it, or another that was beside it, is to blame."""
        self.sent.discard(number)
        self.in_hand.discard(number)
        self.suspects.append(number)


class Supervisor:
    """A child process with a model, restarted whenever it is lost."""

    def __init__(
        self,
        command: Sequence[str],
        opening: Message,
        *,
        timeout_s: float,
        env: Mapping[str, str] | None = None,
    ) -> None:
        self._command = command
        self._env = env
        self._opening = opening
        self._timeout_s = timeout_s
        self._child: Child | None = None
        self._past = ComputeUsage()
        self._present = ComputeUsage()
        self._barren = 0

    @property
    def usage(self) -> ComputeUsage:
        """What has been computed since the start, over all restarts."""
        return self._past + self._present

    def start(self) -> Message:
        """Start a child and return its `ready`; `ModelError` where it refuses, `ChildLost`
        where it is lost."""
        self.close()
        self._child = Child(self._command, env=self._env)
        try:
            self._send({**self._opening, "op": "open"})
            start_s = max(START_S, self._timeout_s)
            while (reply := self._receive(start_s))["op"] == "beat":
                pass
        except ChildLost:
            self.close()
            raise
        if reply["op"] != "ready":
            self.close()
            raise ModelError(str(reply.get("why", "the model's process answered out of turn")))
        return reply

    def close(self) -> None:
        """End the child."""
        if self._child is not None:
            self._child.end()
            self._child = None
            self._past, self._present = self.usage, ComputeUsage()

    def call(self, message: Message, *, reply_op: str) -> Message:
        """Send a message and return its reply, once more where the child is lost over it."""
        for lost_before in (False, True):
            try:
                if self._child is None:
                    self.start()
                self._send(message)
                while (reply := self._receive())["op"] == "beat":
                    pass
                if reply["op"] != reply_op:
                    raise ChildLost("an answer out of turn")
                return reply
            except KeyboardInterrupt:
                self.close()  # its reply would be taken for that to the next call
                raise
            except ChildLost as lost:
                self.close()
                self._past += ComputeUsage(restarts=1)
                if lost_before:
                    raise ModelError(f"the model's process was lost twice: {lost}") from None
        raise AssertionError("unreachable")

    def situate(self, prefix: str, asks: Sequence[Ask]) -> Answers:
        """Yield (position, context) of every ask as they come, whatever becomes of the child."""
        state = _Round(asks, deque(range(len(asks))))
        prepared = False
        complete = False
        try:
            while state.untold or len(state.done) < len(asks):
                while state.untold:
                    yield state.untold.popleft()
                if len(state.done) == len(asks):
                    break
                try:
                    if not prepared:
                        self._prepare(prefix)
                        prepared = True
                    self._ask(state)
                    self._take(state, self._receive())
                except ChildLost as lost:
                    prepared = False
                    self._recover(state, str(lost))
            complete = True
        finally:
            # Left before the end: the child is still busy with what nobody waits for.
            if not complete:
                self.close()

    def speak(self, prefix: str, text: str) -> Iterator[str]:
        """Yield the answer to one prompt, piece by piece.

        A child that is lost before its first word is replaced once. Raises `ModelError` where it
        is lost later or again, `Unanswered` where the prompt is at fault, and `CutShort` where the
        answer was stopped at its limit.
        """
        told = at_rest = False
        try:
            for lost_before in (False, True):
                try:
                    self._prepare(prefix)
                    self._send({"op": "add", "number": 0, "text": text, "aloud": True})
                    while (reply := self._receive())["op"] not in ("answer", "fault"):
                        if reply["op"] == "piece":
                            told = True
                            yield str(reply.get("text", ""))
                    break
                except ChildLost as lost:
                    self.close()
                    self._past += ComputeUsage(restarts=1)
                    if told or lost_before:
                        raise ModelError(f"the model's process was lost: {lost}") from None
            at_rest = True
        finally:
            # Left before the end: the child is still busy with what nobody waits for.
            if not at_rest:
                self.close()
        if reply["op"] == "fault":
            raise Unanswered(str(reply.get("why")))
        self._present = ComputeUsage.from_dict(reply.get("usage", {}))
        if not reply.get("finished"):
            raise CutShort

    def _prepare(self, prefix: str) -> None:
        if self._child is None:
            self.start()
        self._send({"op": "prefix", "text": prefix})

    def _ask(self, state: _Round) -> None:
        """Send what may be sent: a chunk under suspicion goes alone."""
        if state.suspects:
            if not state.sent:
                self._add(state, state.suspects[0])
            return
        while state.waiting:
            self._add(state, state.waiting.popleft())

    def _add(self, state: _Round, number: int) -> None:
        ask = state.asks[number]
        state.sent.add(number)
        text = ask.firmer if number in state.second else ask.suffix
        self._send({"op": "add", "number": number, "text": text})

    def _take(self, state: _Round, reply: Message) -> None:
        try:
            self._hear(state, reply)
        except (KeyError, TypeError, ValueError):
            raise ChildLost("an answer out of turn") from None

    def _hear(self, state: _Round, reply: Message) -> None:
        op, number = reply["op"], reply.get("number")
        if op == "admitted" and number in state.sent:
            state.in_hand.add(number)
        elif op == "answer" and number in state.sent:
            self._present = ComputeUsage.from_dict(reply.get("usage", {}))
            self._barren = 0
            self._judge(state, number, str(reply["text"]), finished=bool(reply["finished"]))
        elif op == "fault" and number in state.sent and reply.get("together"):
            state.suspect(number)
        elif op == "fault" and number in state.sent:
            self._settle(state, number, Context.failed(reply["why"]))
        elif op == "fault" and number is None:
            state.fail(str(reply["why"]))
            self.close()  # what was sent meanwhile would be answered in the next round
        elif op != "beat":
            raise ChildLost("an answer out of turn")

    def _judge(self, state: _Round, number: int, text: str, *, finished: bool) -> None:
        context = state.asks[number].judge(text, finished)
        if context.status == "ok" and number in state.second:
            context = Context(context.text, "retried")
        if context.text or number in state.second:
            self._settle(state, number, context)
        else:
            state.ask_again(number)

    def _settle(self, state: _Round, number: int, context: Context) -> None:
        state.settle(number, context)
        if state.suspects and state.suspects[0] == number:
            state.suspects.popleft()

    def _recover(self, state: _Round, why: str) -> None:
        """Decide what the loss of the child costs, once its last words are heard.

        One chunk in hand: that chunk. Several: each is asked for alone, and the one that is lost
        again pays. None: the prefix itself, and the second time all chunks that need it.
        """
        with contextlib.suppress(ChildLost):
            for reply in self._child.rest() if self._child else ():
                self._take(state, reply)
        self.close()
        self._past += ComputeUsage(restarts=1)
        self._barren += 1
        if self._barren >= BARREN:
            raise ModelError(f"the model's process was lost {BARREN} times in a row: {why}")
        if len(state.in_hand) == 1:
            self._settle(state, state.in_hand.pop(), Context.failed(why))
        elif state.in_hand:
            state.suspects.extend(sorted(state.in_hand))
        else:
            state.prefix_losses += 1
            if state.prefix_losses > 1:
                state.fail(why)
        state.in_hand.clear()
        state.waiting = deque(sorted((state.sent | set(state.waiting)) - set(state.suspects)))
        state.sent.clear()

    def _send(self, message: Message) -> None:
        assert self._child is not None
        self._child.send(message, timeout_s=self._timeout_s)

    def _receive(self, timeout_s: float | None = None) -> Message:
        assert self._child is not None
        reply = self._child.receive(timeout_s=timeout_s or self._timeout_s)
        if not isinstance(reply.get("op"), str):
            raise ChildLost("an unreadable answer")
        return reply
