"""`llama:PATH`: contexts from an instruct model in a GGUF file, through llama.cpp, on this machine.

The prompt puts the document first. Its tokens are computed once and shared by all chunks of the
document, and several chunks' contexts are decoded together (`llama_runtime`), in a child process
(`llama_child`) that is restarted when it is lost (`supervise`). A document longer than the model's
window is never cut: `excerpts` arranges its chunks into groups that share a part of it.

Decoding is greedy. A chunk whose answer is rejected is asked for once more, with a firmer
instruction.
"""

from __future__ import annotations

import contextlib
import copy
import functools
import hashlib
import importlib.util
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path

from crx.answer.reasoning import strip_reasoning
from crx.backends.llama.chat_template import PLAIN
from crx.backends.options import refuse_cap, typed_options
from crx.backends.process.pipe import ChildLost, Message, child_command
from crx.backends.process.supervisor import Ask, Supervisor
from crx.context.compute_usage import ComputeUsage, PromptLengths, estimate_seconds
from crx.context.excerpts import Excerpt, excerpts
from crx.context.ordering import Answers, restore_order
from crx.context.prompt import Prompt
from crx.context.validate import ContextValidator
from crx.errors import ModelError
from crx.models.threads import threads
from crx.types import Chunk, Context, Document

# Part of the fingerprint: raised when the same file and prompt may come to give another text.
REVISION = 2

# What a processor reads of a document for a context, where nothing else is set: a token takes as
# long again for every few thousand before it, so that a long document in windows of 32,000 tokens
# takes nearly three times as long as in these (by the measured costs of a model of 135M).
CPU_WINDOW = 8192

# Threads that wait by spinning are up to 14 times slower beside other programs than threads that
# sleep (measured with two of them on two busy cores); alone they save microseconds a step.
ENV = {"OMP_WAIT_POLICY": "PASSIVE"}

COMMAND = child_command("crx.backends.llama.child")


@dataclass(frozen=True, slots=True)
class LlamaOptions:
    """What can be set; None and 0 leave the choice to the machine.

    `places`: chunks decoded together. `window`: tokens of a prompt, at most what the model was
    trained for; where it is not set, contexts are written from 8,192 at most without a GPU. `kv`:
    "f16", "f32", or "q8_0" (half the memory, but without a GPU prompts took four to five times as
    long: attention has no kernel for tiles of rows then). `gpu_layers`: -1 for all, where llama.cpp
    was built with a GPU. `kv_bytes`: memory for keys and values, else 60% of what is free; fewer
    chunks are decoded together where it is short. `memory_bytes`: a limit to all of the child's
    memory. `timeout_s`: how long the child may be silent; it speaks every 512 tokens.
    """

    places: int = 16
    window: int = 0
    kv: str = "f16"
    threads: int = 0
    gpu_layers: int = -1
    max_tokens: int = 160
    kv_bytes: int = 0
    memory_bytes: int = 0
    timeout_s: float = 300.0

    def __post_init__(self) -> None:
        if self.kv not in ("f16", "q8_0", "f32"):
            raise ValueError(f'kv is "f16", "q8_0" or "f32", not "{self.kv}"')
        if not 1 <= self.places <= 62:
            raise ValueError(f"places are 1 to 62, not {self.places}")
        if self.max_tokens < 1 or self.timeout_s <= 0:
            raise ValueError("max_tokens and timeout_s are above 0")
        if min(self.window, self.threads, self.kv_bytes, self.memory_bytes) < 0:
            raise ValueError("window, threads, kv_bytes and memory_bytes are not below 0")


class Llama:
    """A contextualizer over a GGUF file. It exists only when its model answers."""

    def __init__(
        self,
        path: str | Path,
        *,
        prompt: Prompt | None = None,
        settings: LlamaOptions | None = None,
    ) -> None:
        self._path = Path(path)
        self._prompt = prompt or Prompt.of()
        self._settings = settings or LlamaOptions()
        self.notes: tuple[str, ...] = ()
        _check_file(self._path)
        if importlib.util.find_spec("llama_cpp") is None:
            raise ModelError(
                'llama-cpp-python is not installed; "pip install crx[llama]" brings it'
            )
        self._start()

    @property
    def fingerprint(self) -> str:
        """Changes with the file, the prompt, the frame and every setting that changes the text.

        How many chunks are decoded together is not part of it. It moves the sums in their last
        bits (with Q8_0 weights up to a tenth in a logit), and so may turn a near tie between two
        tokens; but so does where in memory a chunk's cells come to lie, which no setting tells. To
        add it would promise bits that the other breaks, and would cost every context anew where
        memory is short and fewer fit together. The fingerprint says which texts are equally good,
        not which are equal.
        """
        s = self._settings
        return (
            f"llama:{_digest(self._path)} prompt={self._prompt.hash} frame={self.frame}"
            f" kv={s.kv} window={s.window} max_tokens={s.max_tokens} revision={REVISION}"
        )

    @property
    def usage(self) -> ComputeUsage:
        """What has been computed so far."""
        return self._supervisor.usage

    def situate(self, document: Document, chunks: Sequence[Chunk]) -> Iterator[Context]:
        """Yield one context a chunk, in order; one that could not be made says why."""
        return restore_order(self._situate(document, chunks))

    def situate_many(
        self, documents: Sequence[tuple[Document, Sequence[Chunk]]]
    ) -> Iterator[tuple[int, int, Context]]:
        """Yield (document's position, chunk's position, context) as they come.

        One document after the other; of its chunks, one that is asked for a second time comes
        after those that were finished meanwhile.
        """
        for at, (document, chunks) in enumerate(documents):
            with contextlib.closing(self._situate(document, chunks)) as contexts:
                for number, context in contexts:
                    yield at, number, context

    def estimate_seconds(
        self, documents: Iterable[tuple[Document, Sequence[Chunk]]], *, asks: float
    ) -> float:
        """Return the seconds that contexts of these chunks take, at the pace of those made so far.

        `asks` is how often a chunk is asked for on average, once or twice.
        """
        prompts = [
            each for document, chunks in documents for each in self._prompts(document, chunks)
        ]
        return estimate_seconds(
            self.usage, prompts, asks=asks, slots=self._places, step_tokens=self._step_tokens
        )

    def with_prompt(self, prompt: Prompt) -> Llama:
        """Return one that asks with another prompt; both share the child process."""
        other = copy.copy(self)
        other._prompt = prompt
        return other

    def speak(self, prefix: str, text: str) -> Iterator[str]:
        """Yield the answer to a prompt, without its thoughts; see `Supervisor.speak`."""
        yield from strip_reasoning(self._supervisor.speak(prefix, text), starts_inside=self._thinks)

    def close(self) -> None:
        """End the child process; the next call starts it again."""
        self._supervisor.close()

    def __enter__(self) -> Llama:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _start(self) -> None:
        """Load the model; where the processor's own weight layouts crash it, do without them."""
        for extra_buffers in (True, False):
            opening: Message = {
                **asdict(self._settings),
                "path": str(self._path),
                "threads": self._settings.threads or threads(),
                "extra_buffers": extra_buffers,
            }
            self._supervisor = Supervisor(
                COMMAND, opening, timeout_s=self._settings.timeout_s, env=ENV
            )
            try:
                ready = self._supervisor.start()
            except ChildLost as lost:
                self.notes = (f"without the processor's own weight layouts: llama.cpp {lost}",)
                continue
            except ModelError as error:
                raise ModelError(f"{self._path}: {error}") from None
            self.frame = str(ready["frame"])
            self._thinks = bool(ready["thinks"])
            self._head, self._tail = int(ready["head"]), int(ready["tail"])
            self._window = int(ready["window"])
            self._places, self._step_tokens = int(ready["places"]), int(ready["step_tokens"])
            self._shares = bool(ready["shares"])
            self._usual_window = self._window if ready["gpu"] else CPU_WINDOW
            if self.frame == PLAIN.name:
                self.notes += ("no chat template in the file: is it an instruct model?",)
            if not self._shares:
                self.notes += ("chunks cannot share their document's tokens in this kind of model",)
            return
        raise ModelError(f"{self._path}: {self.notes[0].partition(': ')[2]}; try another build")

    def _situate(self, document: Document, chunks: Sequence[Chunk]) -> Answers:
        validator = ContextValidator(document, glossary=self._prompt.glossary)
        for excerpt in self._excerpts(document, chunks):
            prefix = self._prompt.prefix(excerpt.text)
            asks = [self._ask(chunk, validator) for chunk in chunks[excerpt.first : excerpt.last]]
            with contextlib.closing(self._supervisor.situate(prefix, asks)) as contexts:
                for number, context in contexts:
                    yield excerpt.first + number, context

    def _ask(self, chunk: Chunk, validator: ContextValidator) -> Ask:
        begins = "<think>" if self._thinks else ""  # said by the frame already

        def judge(answer: str, finished: bool) -> Context:  # noqa: FBT001
            return validator.validate(begins + answer, chunk=chunk.text, finished=finished)

        suffix = self._prompt.suffix(chunk.text)
        return Ask(suffix, self._prompt.suffix(chunk.text, firmer=True), judge)

    def _excerpts(self, document: Document, chunks: Sequence[Chunk]) -> list[Excerpt]:
        """Return the whole document for all chunks where it fits, else parts for some each."""
        if not chunks:
            return []
        empty = self._prompt.prefix("")
        firmer = [self._prompt.suffix(c.text, firmer=True) for c in chunks]
        text, frame, *suffixes = self._count([document.text, empty, *firmer])
        taken = frame + max(suffixes) + self._head + self._tail + self._settings.max_tokens
        window = min(self._window, self._settings.window or self._usual_window)
        budget = window - taken
        if text <= budget:
            return [Excerpt(document.text, 0, len(chunks))]
        return excerpts(document, chunks, budget=budget, count=self._count)

    def _prompts(self, document: Document, chunks: Sequence[Chunk]) -> Iterator[PromptLengths]:
        """Yield the lengths of what would be computed for these chunks."""
        for excerpt in self._excerpts(document, chunks):
            group = chunks[excerpt.first : excerpt.last]
            texts = [self._prompt.suffix(chunk.text) for chunk in group]
            prefix, *suffixes = self._count([self._prompt.prefix(excerpt.text), *texts])
            prefix += self._head
            shared = prefix if self._shares else 0
            yield PromptLengths(shared, [prefix - shared + each + self._tail for each in suffixes])

    def _count(self, texts: Sequence[str]) -> list[int]:
        reply = self._supervisor.call({"op": "count", "texts": list(texts)}, reply_op="counted")
        return [int(n) for n in reply["tokens"]]


def _check_file(path: Path) -> None:
    try:
        with path.open("rb") as file:
            magic = file.read(4)
    except FileNotFoundError:
        raise ModelError(f"{path}: no such model; give the path of a GGUF file") from None
    except OSError as error:
        raise ModelError(f"{path}: cannot be read: {error.strerror}") from None
    if magic != b"GGUF":
        raise ModelError(f"{path}: not a GGUF file; give the path of one, such as model.Q8_0.gguf")


def _digest(path: Path) -> str:
    stat = path.stat()
    return _digest_of(str(path), stat.st_size, stat.st_mtime_ns)


@functools.lru_cache(maxsize=16)
def _digest_of(path: str, size: int, mtime_ns: int) -> str:
    """Return 16 hex digits of the file's SHA-256; read once while size and time stamp stay."""
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        while block := file.read(1 << 22):
            digest.update(block)
    return digest.hexdigest()[:16]


def load_contextualizer(rest: str, *, prompt: Prompt | None, cap_dollars: float) -> Llama:
    """Return the contextualizer of `llama:REST`."""
    refuse_cap("llama:", cap_dollars)
    path, options = typed_options(rest, {f.name: type(f.default) for f in fields(LlamaOptions)})
    return Llama(path, prompt=prompt, settings=LlamaOptions(**options))
