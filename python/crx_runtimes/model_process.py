"""A model in a child process that is restarted when it is lost, at the cost of single chunks.

The parent sends prompts and validates answers; the child only answers. Messages to the child:

    open    settings of the model            -> ready, or refused with a reason
    prefix  the text that the next chunks share
    add     one chunk: its number, the text that follows the prefix, and the grammar of its answer

and, besides those, from the child: `heartbeat` (work goes on), `admitted` (a chunk is being
decoded), `answer` (a chunk's text, whether it finished, and the usage so far) and `fault` (a chunk,
or without a number all of them, that cannot be answered; `together` if others were decoded beside
it and any of them may be at fault). A chunk that is added with `stream` is sent in `piece`s first.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence

from crx._services.compute_usage import ComputeUsage
from crx.deadline import check_deadline, seconds_left
from crx.errors import ModelError
from crx.types import Context
from crx.workers.child import Child
from crx.workers.messages import ChildLost, Message
from crx.workers.supervisor import OUT_OF_TURN, START_S, ChildRefused, Supervisor
from crx_contexts.chunk_prompt import Answers, ChunkPrompt
from crx_runtimes.chunk_round import ChunkRound

# This many losses without an answer between them end the run: no single chunk is at fault.
MAX_LOSSES_IN_A_ROW = 8

_FINAL_OPS = ("answer", "fault")


class PromptRejected(Exception):
    """The prompt cannot be answered; the message says why."""


class TokenLimitReached(Exception):
    """The answer was stopped at its token limit."""


class ModelProcess:
    """A child process with a model, restarted whenever it is lost."""

    def __init__(
        self,
        command: Sequence[str],
        opening: Message,
        *,
        timeout_s: float,
        env: Mapping[str, str] | None = None,
    ) -> None:
        start_s = max(START_S, timeout_s)
        self._supervisor = Supervisor(command, opening, start_s=start_s, env=env)
        self._timeout_s = timeout_s
        self._usage_before = ComputeUsage()
        self._usage_of_child = ComputeUsage()
        self._losses_in_a_row = 0

    @property
    def usage(self) -> ComputeUsage:
        """The usage since the start, over all restarts."""
        return self._usage_before + self._usage_of_child

    def start(self) -> Message:
        """Start a child and return its `ready`.

        Raises `ModelError` if the child refuses the model, and `ChildLost`.
        """
        self.close()
        try:
            return self._supervisor.start()
        except ChildRefused as why:
            raise ModelError(str(why)) from None

    def close(self) -> None:
        """End the child."""
        self._supervisor.close()
        self._keep_usage()

    def call(self, message: Message, *, reply_op: str) -> Message:
        """Send a message and return its reply; try once more if the child is lost."""
        for lost_before in (False, True):
            try:
                child = self._take_child()
                child.send(message, timeout_s=self._timeout_s)
                reply = child.receive_reply(timeout_s=self._timeout_s)
                if reply.get("op") != reply_op:
                    raise ChildLost(OUT_OF_TURN)
                return reply
            except KeyboardInterrupt:
                self.close()  # its reply would be taken for the reply to the next call
                raise
            except ChildLost as lost:
                self._count_loss()
                if lost_before:
                    raise ModelError(f"the model's process was lost twice: {lost}") from None
        raise AssertionError("unreachable")

    def situate(self, prefix: str, prompts: Sequence[ChunkPrompt]) -> Answers:
        """Yield (position, context) of every prompt as they arrive, across losses of the child.

        Prompts that are added meanwhile are answered, too.
        """
        state = ChunkRound(prompts)
        prepared = complete = False
        try:
            while state.results or not state.complete:
                while state.results:
                    yield state.results.popleft()
                if state.complete:
                    break
                try:
                    if not prepared or self._supervisor.child is None:
                        self._send_prefix(prefix)
                        prepared = True
                    self._send_chunks(state)
                    self._handle(state, self._receive())
                except ChildLost as lost:
                    prepared = False
                    self._recover(state, str(lost))
            complete = True
        finally:
            # Closed before the end: the child is still busy with chunks that are no longer wanted.
            if not complete:
                self.close()

    def stream_answer(self, prefix: str, text: str) -> Iterator[str]:
        """Yield the answer to one prompt, piece by piece.

        A child that is lost before its first piece is replaced once. Raises `ModelError` if it is
        lost later or again, `PromptRejected`, and `TokenLimitReached` after the last piece.
        """
        emitted = idle = False
        try:
            for lost_before in (False, True):
                try:
                    self._send_prefix(prefix)
                    self._send({"op": "add", "number": 0, "text": text, "stream": True})
                    while (reply := self._receive())["op"] not in _FINAL_OPS:
                        if reply["op"] == "piece":
                            emitted = True
                            yield str(reply.get("text", ""))
                    break
                except ChildLost as lost:
                    self._count_loss()
                    if emitted or lost_before:
                        raise ModelError(f"the model's process was lost: {lost}") from None
            idle = True
        finally:
            # Closed before the end: the child is still busy with an answer no longer wanted.
            if not idle:
                self.close()
        if reply["op"] == "fault":
            raise PromptRejected(str(reply.get("why")))
        self._usage_of_child = ComputeUsage.from_dict(reply.get("usage", {}))
        if not reply.get("finished"):
            raise TokenLimitReached

    def _take_child(self) -> Child:
        try:
            child = self._supervisor.take()
        except ChildRefused as why:
            raise ModelError(str(why)) from None
        if self._supervisor.tasks == 1:
            self._keep_usage()  # of the child before: in a fork, that of the parent
        return child

    def _keep_usage(self) -> None:
        self._usage_before, self._usage_of_child = self.usage, ComputeUsage()

    def _send_prefix(self, prefix: str) -> None:
        self._take_child()
        self._send({"op": "prefix", "text": prefix})

    def _send_chunks(self, state: ChunkRound) -> None:
        messages: list[Message] = []
        for number in state.next_to_send():
            message: Message = {"op": "add", "number": number, "text": state.text_of(number)}
            if grammar := state.prompts[number].grammar:
                message["grammar"] = grammar
            messages.append(message)
        self._send(*messages)

    def _handle(self, state: ChunkRound, reply: Message) -> None:
        try:
            self._apply(state, reply)
        except (KeyError, TypeError, ValueError):
            raise ChildLost(OUT_OF_TURN) from None

    def _apply(self, state: ChunkRound, reply: Message) -> None:
        op, number = reply["op"], reply.get("number")
        if op == "admitted" and number in state.sent:
            state.admitted.add(number)
        elif op == "answer" and number in state.sent:
            self._usage_of_child = ComputeUsage.from_dict(reply.get("usage", {}))
            self._losses_in_a_row = 0
            state.accept_answer(number, str(reply["text"]), finished=bool(reply["finished"]))
        elif op == "fault" and number in state.sent and reply.get("together"):
            state.suspect(number)
        elif op == "fault" and number in state.sent:
            state.settle(number, Context.failed(reply["why"]))
        elif op == "fault" and number is None:
            state.fail_all(str(reply["why"]))
            self.close()  # what was sent meanwhile would be answered in the next round
        elif op != "heartbeat":
            raise ChildLost(OUT_OF_TURN)

    def _recover(self, state: ChunkRound, why: str) -> None:
        """Apply the last messages of a lost child and decide which chunks its loss costs."""
        with contextlib.suppress(ChildLost):
            child = self._supervisor.child
            for reply in child.kill_and_drain() if child else ():
                self._handle(state, reply)
        self._count_loss()
        self._losses_in_a_row += 1
        if self._losses_in_a_row >= MAX_LOSSES_IN_A_ROW:
            raise ModelError(
                f"the model's process was lost {MAX_LOSSES_IN_A_ROW} times in a row: {why}"
            )
        state.recover(why)

    def _count_loss(self) -> None:
        self.close()
        self._usage_before += ComputeUsage(restarts=1)

    def _send(self, *messages: Message) -> None:
        assert self._supervisor.child is not None
        self._supervisor.child.send(*messages, timeout_s=self._timeout_s)

    def _receive(self) -> Message:
        assert self._supervisor.child is not None
        try:
            reply = self._supervisor.child.receive(timeout_s=min(self._timeout_s, seconds_left()))
        except ChildLost:
            check_deadline()
            raise
        if not isinstance(reply.get("op"), str):
            raise ChildLost("an unreadable answer")
        return reply
