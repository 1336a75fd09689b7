"""The child process of `llama:`: loads a model, then answers until its input ends.

`python -m crx.backends.llama.child` speaks the messages that `supervise` describes, and `count`:
texts to how many tokens each has.
"""

from __future__ import annotations

import codecs
import os
import re
import resource
from collections import deque
from collections.abc import Sequence
from dataclasses import asdict

from crx.backends.llama.chat_template import Frame, frame_of
from crx.backends.llama.runtime import (
    STEP_TOKENS,
    LlamaModel,
    Log,
    Refused,
    SequenceResult,
    Session,
    Unanswerable,
)
from crx.backends.process.pipe import Message, Parent
from crx.context.compute_usage import ComputeUsage
from crx.errors import ModelError

# Of the memory that is free, what keys and values may take: the rest is for the model's own
# buffers and for everybody else.
KV_SHARE = 0.6

# Sequences grow and shrink; a session is made a little larger than asked, to be kept for longer.
ROOM_STEP = 1024


class Wording:
    """Texts to tokens, inside the model's frame: only the frame may name control tokens."""

    def __init__(self, model: LlamaModel, frame: Frame) -> None:
        self._model = model
        head = model.tokenize(frame.head, special=True)
        self._head = head if frame.begins else model.begins + head
        self._tail = model.tokenize(frame.tail, special=True)
        # Some files declare words that steer the model as ordinary ones, those of their frame or of
        # calls to tools: in other texts these are cut in two, so that none comes from a document.
        special = {model.token_text(t) for t in head + self._tail if not model.is_plain(t)}
        words = sorted(word for word in special | model.tags() if len(word) > 1)
        cuts = (f"(?<={re.escape(word[:1])})(?={re.escape(word[1:])})" for word in words)
        self._cut = re.compile("|".join(cuts) or "(?!)")

    def prefix(self, text: str) -> list[int]:
        """Return the frame's beginning and a text's tokens."""
        return self._head + self.plain(text)

    def suffix(self, text: str) -> list[int]:
        """Return a text's tokens and the frame's end."""
        return self.plain(text) + self._tail

    def plain(self, text: str) -> list[int]:
        """Return the tokens of a text that is not to be trusted: none steers the model."""
        return [t for piece in self._cut.split(text) for t in self._model.tokenize(piece)]


class Aloud:
    """An answer that is told while it is decoded, whole characters at a time."""

    def __init__(self, model: LlamaModel) -> None:
        self._model = model
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._told = 0

    def more(self, tokens: Sequence[int], *, final: bool = False) -> str:
        """Return what the answer's tokens so far say and was not told yet."""
        raw = self._model.raw(tokens[self._told :])
        self._told = len(tokens)
        return self._decoder.decode(raw, final)


class Worker:
    """One conversation: the model, the session that fits what is asked, and what waits."""

    def __init__(self, parent: Parent) -> None:
        self._parent = parent
        self._log = Log()
        self._session: Session | None = None
        self._prefix: list[int] = []
        self._held = False
        self._waiting: deque[tuple[int, list[int]]] = deque()
        self._in_hand: set[int] = set()
        self._aloud: dict[int, Aloud] = {}
        self._counts = ComputeUsage()
        self._slot = 0

    def serve(self) -> None:
        """Answer until the parent is gone."""
        while True:
            if self._working and not self._parent.waiting():
                self._work()
                continue
            message = self._parent.next()
            if message is None:
                return
            self._take(message)

    @property
    def _working(self) -> bool:
        return bool(self._waiting) or (self._session is not None and self._session.busy)

    def _take(self, message: Message) -> None:
        match message["op"]:
            case "open":
                try:
                    self._open(message)
                except (Refused, Unanswerable, ModelError) as error:
                    self._parent.say({"op": "refused", "why": str(error)})
            case "count":
                tokens = [len(self._wording.plain(text)) for text in message["texts"]]
                self._parent.say({"op": "counted", "tokens": tokens})
            case "prefix":
                self._prefix, self._held = self._wording.prefix(message["text"]), False
            case "add":
                self._waiting.append((message["number"], self._wording.suffix(message["text"])))
                if message.get("aloud"):
                    self._aloud[message["number"]] = Aloud(self._model)

    def _open(self, settings: Message) -> None:
        if settings["memory_bytes"]:
            limit = int(settings["memory_bytes"])
            resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
        self._settings = settings
        self._model = LlamaModel(
            settings["path"],
            gpu_layers=settings["gpu_layers"],
            extra_buffers=settings["extra_buffers"],
            log=self._log,
            beat=self._parent.beat,
        )
        template = self._model.meta("tokenizer.chat_template")
        frame = frame_of(template, bos=self._model.bos, eos=self._model.eos)
        self._wording = Wording(self._model, frame)
        limits = [n for n in (_free_bytes(), settings["memory_bytes"]) if n]
        free = settings["kv_bytes"] or min(limits) * KV_SHARE
        self._cells = int(free / max(1.0, self._model.cell_bytes(settings["kv"])))
        self._window = min(self._model.window, settings["window"] or self._cells, self._cells)
        self._shares = self._probe()
        self._places = settings["places"] if self._shares else 1
        self._parent.say(
            {
                "op": "ready",
                "window": self._window,
                "frame": frame.name,
                "thinks": frame.thinks,
                "shares": self._shares,
                "gpu": self._model.on_gpu,
                "places": self._places,
                "step_tokens": STEP_TOKENS,
                "head": len(self._wording.prefix("")),
                "tail": len(self._wording.suffix("")),
            }
        )

    def _probe(self) -> bool:
        """Compute a little, and say whether sharing a prefix changes nothing.

        A build of llama.cpp that does not suit this processor dies here, not later; and a kind
        of memory that cannot share is found out, whatever it is called.
        """
        prefix = self._wording.prefix("Two herons wait by the river")
        ends = (" and", ", where", " for 3 fish.", "\nThen")
        suffixes = [*enumerate(map(self._wording.suffix, ends))]
        found: list[list[SequenceResult]] = []
        for shares in (True, False):
            session = self._begin(room=ROOM_STEP, places=len(ends), shares=shares, max_tokens=1)
            session.hold(prefix)
            found.append(session.admit(suffixes))
            session.close()
        # One of four may differ where two tokens were about equally likely.
        same: int = sum(one == other for one, other in zip(*found, strict=True))
        return same >= len(ends) - 1

    def _refuse_too_long(self) -> None:
        """Answer nobody whose prompt and answer are longer than the window."""
        around = len(self._prefix) + self._settings["max_tokens"]
        fitting = self._window - around
        for number, suffix in self._waiting:
            if len(suffix) > fitting:
                why = f"the prompt takes {around + len(suffix)} tokens of {self._window}"
                self._parent.say({"op": "fault", "number": number, "why": why})
        self._waiting = deque(w for w in self._waiting if len(w[1]) <= fitting)

    def _work(self) -> None:
        """Admit what fits, decode one step, and say what came of it."""
        self._refuse_too_long()
        if not self._working:
            return
        try:
            session = self._session
            if session is None or not session.busy:
                session = self._prepare()
            answers = self._admit(session)
            if session.busy:
                answers += session.step()
        except Unanswerable as error:
            self._give_up(str(error))
            return
        for number, tokens in session.under_way():
            self._tell(number, tokens)
        for answer in answers:
            self._answer(answer)

    def _tell(self, number: int, tokens: Sequence[int], *, final: bool = False) -> None:
        """Say what is new of an answer, where it was asked for aloud."""
        if number in self._aloud and (text := self._aloud[number].more(tokens, final=final)):
            self._parent.say({"op": "piece", "number": number, "text": text})

    def _prepare(self) -> Session:
        """Return an idle session with room for what waits, holding the prefix."""
        self._slot = max(len(s) for _, s in self._waiting) + self._settings["max_tokens"]
        prefix = len(self._prefix)
        places = max(1, min(self._places, (self._cells - prefix) // self._slot))
        room = prefix + places * self._slot
        session = self._session
        # More places than fit this prefix would be filled, and all in them fail.
        if session is None or session.places != places or session.room < room:
            if session is not None:
                session.close()
            self._session = None
            session = self._begin(room=-(-room // ROOM_STEP) * ROOM_STEP, places=places)
            self._session, self._held = session, False
        if not self._held:
            session.hold(self._prefix)
            self._held = True
        return session

    def _begin(
        self, *, room: int, places: int, shares: bool | None = None, max_tokens: int = 0
    ) -> Session:
        return Session(
            self._model,
            room=room,
            places=places,
            kv=self._settings["kv"],
            threads=self._settings["threads"],
            max_tokens=max_tokens or self._settings["max_tokens"],
            counts=ComputeUsage() if max_tokens else self._counts,
            shares=self._shares if shares is None else shares,
            beat=self._parent.beat,
        )

    def _admit(self, session: Session) -> list[SequenceResult]:
        """Give free places to what waits; what needs a larger slot waits for an idle session."""
        chunks: list[tuple[int, list[int]]] = []
        room = self._slot - self._settings["max_tokens"]
        while self._waiting and len(chunks) < session.free and len(self._waiting[0][1]) <= room:
            chunks.append(self._waiting.popleft())
        for number, _ in chunks:
            self._in_hand.add(number)
            self._parent.say({"op": "admitted", "number": number})
        return session.admit(chunks) if chunks else []

    def _answer(self, answer: SequenceResult) -> None:
        self._in_hand.discard(answer.number)
        self._tell(answer.number, answer.tokens, final=True)
        self._aloud.pop(answer.number, None)
        self._parent.say(
            {
                "op": "answer",
                "number": answer.number,
                "text": self._model.text(answer.tokens),
                "tokens": answer.tokens,
                "finished": answer.finished,
                "usage": asdict(self._counts),
            }
        )

    def _give_up(self, why: str) -> None:
        """Answer nobody in hand, or nobody at all where the prefix is at fault."""
        if self._session is not None:
            self._session.reset()
        self._held = False
        if not self._in_hand:
            self._waiting.clear()
            self._parent.say({"op": "fault", "why": why})
        together = len(self._in_hand) > 1
        for number in sorted(self._in_hand):
            fault = {"op": "fault", "number": number, "why": why, "together": together}
            self._parent.say(fault)
        self._in_hand.clear()


def _free_bytes() -> int:
    """Bytes of memory that can still be had, as Linux tells it; else half of what there is."""
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
    Worker(Parent()).serve()
    # llama.cpp's teardown may outlive what it tears down, and there is nothing left to save.
    os._exit(0)


if __name__ == "__main__":
    main()
