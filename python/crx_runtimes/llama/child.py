"""The child process of `llama:`, which loads a model and answers until its input ends.

It answers the messages that `crx_runtimes.model_process` lists, and `count`: texts, to the
number of tokens of each (`counted`).
"""

from __future__ import annotations

import os
import re
from collections import deque
from collections.abc import Sequence
from dataclasses import asdict

from crx._services.compute_usage import ComputeUsage
from crx.errors import ModelError
from crx.workers.limits import limit_process
from crx.workers.messages import Message
from crx.workers.parent import Parent, run_child
from crx_runtimes.llama.chat_template import read_template
from crx_runtimes.llama.model import LlamaModel, ModelRefused, NativeLog, PromptFailed
from crx_runtimes.llama.prompt_tokens import PromptTokenizer, StreamingDecoder
from crx_runtimes.llama.session import EXTRA_SEQUENCES, STEP_TOKENS, SequenceResult, Session

# The share of the free memory that keys and values may take; the rest is for the model's own
# buffers and for other programs.
KV_SHARE = 0.6

# Capacities are rounded up to multiples of this, so that a session fits later prompts too.
CAPACITY_STEP = 1024


class Worker:
    """The model, the session that fits the current prompts, and the chunks that wait."""

    def __init__(self, parent: Parent) -> None:
        self._parent = parent
        self._log = NativeLog()
        self._session: Session | None = None
        self._prefix: list[int] = []
        self._prefix_computed = False
        self._waiting: deque[tuple[int, list[int]]] = deque()
        self._admitted: set[int] = set()
        self._decoders: dict[int, StreamingDecoder] = {}
        self._grammars: dict[int, str] = {}
        self._usage = ComputeUsage()
        self._slot_tokens = 0

    def serve(self) -> None:
        """Handle messages and decode until the parent is gone."""
        while True:
            if self._has_work and not self._parent.has_input():
                self._work()
                continue
            message = self._parent.receive()
            if message is None:
                return
            self._handle(message)

    @property
    def _has_work(self) -> bool:
        return bool(self._waiting) or (self._session is not None and self._session.busy)

    def _handle(self, message: Message) -> None:
        match message["op"]:
            case "open":
                try:
                    self._open(message)
                except (ModelRefused, PromptFailed, ModelError) as error:
                    self._parent.send({"op": "refused", "why": str(error)})
            case "count":
                tokens = [len(self._tokenizer.plain(text)) for text in message["texts"]]
                self._parent.send({"op": "counted", "tokens": tokens})
            case "prefix":
                self._prefix = self._tokenizer.prefix(message["text"])
                self._prefix_computed = False
            case "add":
                suffix = self._tokenizer.suffix(message["text"])
                self._waiting.append((message["number"], suffix))
                self._grammars[message["number"]] = message.get("grammar", "")
                if message.get("stream"):
                    self._decoders[message["number"]] = StreamingDecoder(self._model)

    def _open(self, settings: Message) -> None:
        if settings["memory_bytes"]:
            limit_process(memory_bytes=int(settings["memory_bytes"]))
        self._settings = settings
        self._model = LlamaModel(
            settings["path"],
            gpu_layers=settings["gpu_layers"],
            extra_buffers=settings["extra_buffers"],
            log=self._log,
            heartbeat=self._parent.send_heartbeat,
        )
        source = self._model.meta("tokenizer.chat_template")
        template = read_template(source, bos=self._model.bos, eos=self._model.eos)
        self._tokenizer = PromptTokenizer(self._model, template)
        limits = [n for n in (_free_bytes(), settings["memory_bytes"]) if n]
        kv_bytes = settings["kv_bytes"] or min(limits) * KV_SHARE
        self._cells = int(kv_bytes / max(1.0, self._model.cell_bytes(settings["kv"])))
        wanted = settings["token_limit"] or self._cells
        self._token_limit = min(self._model.token_limit, wanted, self._cells)
        self._shares = self._can_share()
        self._slots = settings["slots"] if self._shares else 1
        self._parent.send(
            {
                "op": "ready",
                "token_limit": self._token_limit,
                "template": template.name,
                "starts_in_reasoning": template.starts_in_reasoning,
                "shares": self._shares,
                "gpu": self._model.on_gpu,
                "slots": self._slots,
                "step_tokens": STEP_TOKENS,
                "head": len(self._tokenizer.prefix("")),
                "tail": len(self._tokenizer.suffix("")),
            }
        )

    def _can_share(self) -> bool:
        """Decode a little, and return True if sharing a prefix does not change the tokens.

        A build of llama.cpp that does not fit this processor crashes here and not later, and a
        model whose memory cannot be shared is found whatever its kind.
        """
        prefix = self._tokenizer.prefix("Two herons wait by the river")
        ends = (" and", ", where", " for 3 fish.", "\nThen")
        suffixes = [*enumerate(map(self._tokenizer.suffix, ends))]
        found: list[list[SequenceResult]] = []
        for shares in (True, False):
            session = self._new_session(
                CAPACITY_STEP,
                slots=len(ends),
                separate=self._settings["prompt"] == "window",
                shares=shares,
                max_tokens=1,
                usage=ComputeUsage(),
            )
            session.set_prefix(prefix)
            # A slot with a buffer of its own shares with the prompt that it had before.
            groups = [[suffix] for suffix in suffixes] if session.separate else [suffixes]
            found.append([answer for group in groups for answer in session.admit(group)])
            session.close()
        # One of four may differ if two tokens were about equally likely.
        same: int = sum(one == other for one, other in zip(*found, strict=True))
        return same >= len(ends) - 1

    def _refuse_too_long(self) -> None:
        """Refuse the chunks whose prompt and answer exceed the token limit."""
        shared = len(self._prefix) + self._settings["max_tokens"]
        room = self._token_limit - shared
        for number, suffix in self._waiting:
            if len(suffix) > room:
                why = f"the prompt takes {shared + len(suffix)} tokens of {self._token_limit}"
                self._parent.send({"op": "fault", "number": number, "why": why})
        self._waiting = deque(chunk for chunk in self._waiting if len(chunk[1]) <= room)

    def _work(self) -> None:
        """Admit the chunks that fit, decode one step, and send what came of it."""
        self._refuse_too_long()
        if not self._has_work:
            return
        try:
            session = self._session
            if session is None or not session.busy:
                session = self._prepare_session()
            answers = self._admit(session)
            if session.busy:
                answers += session.step()
        except PromptFailed as error:
            self._report_fault(str(error))
            return
        for number, tokens in session.partial_answers():
            self._send_piece(number, tokens)
        for answer in answers:
            self._send_answer(answer)

    def _prepare_session(self) -> Session:
        """Return an idle session that has room for the waiting chunks and contains the prefix."""
        self._slot_tokens = max(len(suffix) for _, suffix in self._waiting)
        self._slot_tokens += self._settings["max_tokens"]
        capacity, slots, separate = self._plan_session(len(self._prefix))
        session = self._session
        # With more slots than fit this prefix, all would be filled and all would fail.
        if (
            session is None
            or (session.slots, session.separate) != (slots, separate)
            or session.capacity < capacity
        ):
            if session is not None:
                session.close()
            self._session = None
            session = self._new_session(
                capacity,
                slots=slots,
                separate=separate,
                shares=self._shares,
                max_tokens=self._settings["max_tokens"],
                usage=self._usage,
            )
            self._session, self._prefix_computed = session, False
        if session.separate:
            self._slot_tokens = session.capacity - len(self._prefix)
        if not self._prefix_computed:
            session.set_prefix(self._prefix)
            self._prefix_computed = True
        return session

    def _plan_session(self, prefix: int) -> tuple[int, int, bool]:
        """Return the capacity, the slots and whether sequences are separate, by the memory.

        The prefix of a group of chunks is short, so its sequences are separate if they fit, and
        fit a usual prompt that may come later.
        """
        each = _round_up(prefix + self._slot_tokens, CAPACITY_STEP // 4)
        usual = _round_up(self._settings["usual_tokens"], CAPACITY_STEP // 4)
        if self._cells // max(1, usual) - EXTRA_SEQUENCES >= self._slots:
            each = max(each, min(usual, self._token_limit))
        separate_slots = min(self._slots, self._cells // each - EXTRA_SEQUENCES)
        if self._settings["prompt"] == "window" and separate_slots > 0:
            return each, separate_slots, True
        slots = max(1, min(self._slots, (self._cells - prefix) // self._slot_tokens))
        capacity = prefix + slots * self._slot_tokens
        return _round_up(capacity, CAPACITY_STEP), slots, False

    def _new_session(
        self,
        capacity: int,
        *,
        slots: int,
        separate: bool,
        shares: bool,
        max_tokens: int,
        usage: ComputeUsage,
    ) -> Session:
        return Session(
            self._model,
            capacity=capacity,
            slots=slots,
            kv=self._settings["kv"],
            threads=self._settings["threads"],
            max_tokens=max_tokens,
            counts=usage,
            shares=shares,
            separate=separate,
            heartbeat=self._parent.send_heartbeat,
        )

    def _admit(self, session: Session) -> list[SequenceResult]:
        """Assign free slots to waiting chunks; one that needs a larger slot waits until idle."""
        chunks: list[tuple[int, list[int]]] = []
        room = self._slot_tokens - self._settings["max_tokens"]
        while self._waiting and len(chunks) < session.free and len(self._waiting[0][1]) <= room:
            chunks.append(self._waiting.popleft())
        for number, _ in chunks:
            self._admitted.add(number)
            self._parent.send({"op": "admitted", "number": number})
        return session.admit(chunks, grammars=self._grammars) if chunks else []

    def _send_piece(self, number: int, tokens: Sequence[int], *, final: bool = False) -> None:
        """Send the new text of an answer that is to be streamed."""
        decoder = self._decoders.get(number)
        if decoder is not None and (text := decoder.decode(tokens, final=final)):
            self._parent.send({"op": "piece", "number": number, "text": text})

    def _send_answer(self, answer: SequenceResult) -> None:
        self._admitted.discard(answer.number)
        self._send_piece(answer.number, answer.tokens, final=True)
        self._decoders.pop(answer.number, None)
        self._parent.send(
            {
                "op": "answer",
                "number": answer.number,
                "text": self._model.text(answer.tokens),
                "tokens": answer.tokens,
                "finished": answer.finished,
                "usage": asdict(self._usage),
            }
        )

    def _report_fault(self, why: str) -> None:
        """Send a fault for each admitted chunk, or for all chunks if the prefix is at fault."""
        if self._session is not None:
            self._session.reset()
        self._prefix_computed = False
        if not self._admitted:
            self._waiting.clear()
            self._parent.send({"op": "fault", "why": why})
        together = len(self._admitted) > 1
        for number in sorted(self._admitted):
            self._parent.send({"op": "fault", "number": number, "why": why, "together": together})
        self._admitted.clear()


def _round_up(number: int, step: int) -> int:
    """Return the smallest multiple of `step` that is not below a number."""
    return -(-number // step) * step


def _free_bytes() -> int:
    """Return the bytes of memory that Linux reports as available; elsewhere, half of all."""
    try:
        with open("/proc/meminfo", encoding="ascii") as lines:
            found = re.search(r"MemAvailable:\s*(\d+) kB", lines.read())
    except OSError:
        found = None
    if found:
        return int(found[1]) * 1024
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2


def main() -> None:
    """Serve on the standard streams."""
    run_child(lambda parent: Worker(parent).serve())


if __name__ == "__main__":
    main()
