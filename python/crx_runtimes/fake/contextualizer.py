"""Contexts without a model, for tests and for trying a run: `fake:`.

A context consists of the document's title and the chunk's longest words and numbers, so it passes
validation. Any share of the chunks, chosen by their hash, can be made to fail as real models do:
`fake:latency=5ms,refuse=0.1,crash=0.02`. Faults that kill a process happen in a child process under
the same supervisor as a real model's.
"""

from __future__ import annotations

import copy
import hashlib
import os
import re
import signal
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields

from crx._backends.options import refuse_cap
from crx._services.compute_usage import ComputeUsage
from crx._services.prompt import Prompt
from crx.errors import UsageError
from crx.types import Chunk, Context, ContextStatus, Document
from crx.workers.child import child_command
from crx.workers.parent import Parent, run_child
from crx_contexts.chunk_prompt import ChunkPrompt, Validate, restore_order
from crx_contexts.validate import ContextValidator
from crx_runtimes.model_process import ModelProcess

_SETTING = re.compile(r"(\w+)=(\d+(?:\.\d+)?)(ms|s|)")
_WORD = re.compile(r"\w+")
_NUMBER = re.compile(r"\d+")
_FIRMER = "firmer: "
_DEADLY = ("hang", "crash")


@dataclass(frozen=True, slots=True)
class Faults:
    """The share of the chunks that fails in each way, 0 to 1.

    `fail`: the model reports a failure. `hang`, `crash`: its process is silent or dies. `empty`,
    `huge` (1 MB), `invalid` (broken UTF-8), `refuse`: the kind of answer. `preamble`: an answer
    with a preamble, followed by a good one when asked again.
    """

    fail: float = 0.0
    hang: float = 0.0
    crash: float = 0.0
    empty: float = 0.0
    huge: float = 0.0
    invalid: float = 0.0
    refuse: float = 0.0
    preamble: float = 0.0

    def __post_init__(self) -> None:
        shares = [getattr(self, f.name) for f in fields(self)]
        if min(shares) < 0 or sum(shares) > 1:
            raise ValueError("shares of faults must be at least 0 and add up to at most 1")

    def of(self, chunk: str) -> str:
        """Return the name of a chunk's fault, "" for none."""
        digest = hashlib.sha256(chunk.encode(errors="replace")).digest()
        left = int.from_bytes(digest[:8], "big") / 2**64
        for kind in fields(self):
            left -= getattr(self, kind.name)
            if left < 0:
                return kind.name
        return ""


class Fake:
    """A contextualizer that uses the document's title and words of the chunk."""

    def __init__(
        self, faults: Faults | None = None, *, latency_s: float = 0.0, timeout_s: float = 2.0
    ) -> None:
        self._faults = faults or Faults()
        self._latency_s = latency_s
        self._prompt_hash = ""
        self._process: ModelProcess | None = None
        if any(getattr(self._faults, kind) for kind in _DEADLY):
            shares = {f.name: getattr(self._faults, f.name) for f in fields(Faults)}
            opening = {"faults": shares, "latency_s": latency_s}
            command = child_command("crx_runtimes.fake.contextualizer")
            self._process = ModelProcess(command, opening, timeout_s=timeout_s)

    @staticmethod
    def of(settings: str) -> Fake:
        """Return the contextualizer of settings such as `latency=5ms,fail=0.1`."""
        values: dict[str, float] = {}
        for setting in filter(None, settings.split(",")):
            found = _SETTING.fullmatch(setting)
            known = {f.name for f in fields(Faults)} | {"latency", "timeout"}
            if found is None or found[1] not in known:
                names = ", ".join(sorted(known))
                raise UsageError(f"fake: {setting!r}: no such setting; use {names} with a number")
            values[found[1]] = float(found[2]) / (1000 if found[3] == "ms" else 1)
        latency, timeout = values.pop("latency", 0.0), values.pop("timeout", 2.0)
        try:
            return Fake(Faults(**values), latency_s=latency, timeout_s=timeout)
        except ValueError as error:
            raise UsageError(f"fake: {error}") from None

    @property
    def fingerprint(self) -> str:
        shares = ",".join(f"{f.name}={getattr(self._faults, f.name):g}" for f in fields(Faults))
        prompt = f" prompt={self._prompt_hash}" if self._prompt_hash else ""
        return f"fake:{shares} revision=2{prompt}"

    @property
    def usage(self) -> ComputeUsage:
        """The computation so far: nothing but restarts."""
        return self._process.usage if self._process else ComputeUsage()

    def situate(self, document: Document, chunks: Sequence[Chunk]) -> Iterator[Context]:
        """Yield one context per chunk, in order."""
        validator = ContextValidator(document)
        head = _head(document)
        if self._process is not None:
            prompts = [
                ChunkPrompt(c.text, _FIRMER + c.text, _validate(validator, c)) for c in chunks
            ]
            yield from restore_order(self._process.situate(head, prompts))
            return
        for chunk in chunks:
            yield self._situate(head, chunk, validator)

    def with_prompt(self, prompt: Prompt) -> Fake:
        """Return one whose fingerprint has the prompt's hash; both share the child process."""
        other = copy.copy(self)
        other._prompt_hash = prompt.hash
        return other

    def close(self) -> None:
        """End the child process, if there is one."""
        if self._process is not None:
            self._process.close()

    def _situate(self, head: str, chunk: Chunk, validator: ContextValidator) -> Context:
        if self._faults.of(chunk.text) == "fail":
            return Context.failed("set to fail")
        tries: tuple[tuple[str, ContextStatus], ...] = (
            (chunk.text, "ok"),
            (_FIRMER + chunk.text, "retried"),
        )
        for text, status in tries:
            time.sleep(self._latency_s)
            context = validator.validate(answer(head, text, self._faults), chunk=chunk)
            if context.status == "ok":
                return Context(context.text, status)
        return context


def answer(head: str, prompt: str, faults: Faults) -> str:
    """Return the answer to a chunk's prompt in a document that begins with `head`."""
    chunk = prompt.removeprefix(_FIRMER)
    words = sorted(set(_WORD.findall(chunk)), key=lambda w: (-len(w), w))
    numbers = [n for n in dict.fromkeys(_NUMBER.findall(chunk)) if n not in words[:4]]
    text = f"{head}: {', '.join([*words[:4], *numbers[:2]])}"
    match faults.of(chunk):
        case "empty":
            return ""
        case "huge":
            return (text + " ") * (1 + (1 << 20) // len(text))
        case "invalid":
            return (text.encode() + b"\xff").decode(errors="replace")
        case "refuse":
            return "I cannot help with that."
        case "preamble" if chunk == prompt:
            return f"Here is the context you asked for: {text}"
    return text


def _head(document: Document) -> str:
    """Return the first words of the title, or of the text if there is no title."""
    return " ".join((document.title or document.text[:200]).split()[:5])[:60]


def _validate(validator: ContextValidator, chunk: Chunk) -> Validate:
    return lambda text, finished: validator.validate(text, chunk=chunk, finished=finished)


def main() -> None:
    """Serve as the child process."""
    run_child(_answer_prompts)


def _answer_prompts(parent: Parent) -> None:
    """Answer messages until the parent is gone; some chunks are never answered."""
    faults, head, latency_s = Faults(), "", 0.0
    while (message := parent.receive()) is not None:
        match message["op"]:
            case "open":
                faults, latency_s = Faults(**message["faults"]), message["latency_s"]
                parent.send({"op": "ready"})
            case "prefix":
                head = message["text"]
            case "add":
                time.sleep(latency_s)
                _serve(parent, message["number"], message["text"], head, faults)


def _serve(parent: Parent, number: int, prompt: str, head: str, faults: Faults) -> None:
    parent.send({"op": "admitted", "number": number})
    match faults.of(prompt.removeprefix(_FIRMER)):
        case "hang":
            signal.pause()
        case "crash":
            os.kill(os.getpid(), signal.SIGSEGV)
        case "fail":
            parent.send({"op": "fault", "number": number, "why": "set to fail"})
        case _:
            text = answer(head, prompt, faults)
            parent.send({"op": "answer", "number": number, "text": text, "finished": True})


def load_contextualizer(rest: str, *, prompt: Prompt | None, cap_dollars: float) -> Fake:
    """Return the contextualizer of `fake:REST`."""
    refuse_cap("fake:", cap_dollars)
    fake = Fake.of(rest)
    return fake if prompt is None else fake.with_prompt(prompt)


if __name__ == "__main__":
    main()
