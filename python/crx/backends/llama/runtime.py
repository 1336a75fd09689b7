"""llama.cpp through its low-level interface: one prompt's beginning, many continuations at once.

Sequence 0 holds the prefix. Every other sequence is a *place*: it shares the prefix's cells, adds
a chunk's own tokens and decodes from there, one token a step together with all other places. A
place that is done takes the next chunk. This module runs in the child process.
"""

from __future__ import annotations

import ctypes
import re
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import llama_cpp as llama
import numpy as np
from numpy.typing import NDArray

from crx.context.compute_usage import ComputeUsage, Pace

KV_TYPES = {
    "f32": (llama.GGML_TYPE_F32, 4.0),
    "f16": (llama.GGML_TYPE_F16, 2.0),
    "q8_0": (llama.GGML_TYPE_Q8_0, 34 / 32),
}

# llama.cpp computes so many tokens at a time; a larger call would only be cut up inside, where no
# sign of life comes from.
STEP_TOKENS = 512


# llama.cpp computes one row, fewer than 64 and 64 or more by different kernels, which round
# differently. Prompts are always computed by whole 64s and answers by 2 or more (and fewer than
# 64), filled up where need be, so that a text depends less on how many are at work beside it.
# Attention takes as long for a tile of 64 rows that is only begun as for a whole one: steps are not
# cut into equal parts, but into whole tiles and what remains.
PAIR, TILE = 2, 64


class Refused(Exception):
    """The model cannot be used; the message says why."""


class Unanswerable(Exception):
    """This prompt cannot be answered by this model here; the message says why."""


class Log:
    """What llama.cpp says: its last lines, kept from the terminal."""

    def __init__(self) -> None:
        self.lines: deque[str] = deque(maxlen=64)
        self._rest = ""
        self._callback = llama.llama_log_callback(self._take)
        llama.llama_log_set(self._callback, ctypes.c_void_p(0))

    def _take(self, level: int, text: bytes, _: ctypes.c_void_p) -> None:
        *whole, self._rest = (self._rest + text.decode(errors="replace")).split("\n")
        self.lines.extend(line.strip() for line in whole if line.strip())

    def fault(self) -> str:
        """Return the last line that tells of a failure, without its function's name."""
        telling = (line for line in reversed(self.lines) if re.search("error|fail|invalid", line))
        causes = (line for line in telling if "failed to load model" not in line)
        return re.sub(r"^\w+: (error loading model: )?", "", next(causes, "no reason given"))


class LlamaModel:
    """A GGUF file that can answer, with its vocabulary."""

    def __init__(
        self,
        path: str,
        *,
        gpu_layers: int,
        extra_buffers: bool,
        log: Log,
        beat: Callable[[], None],
    ) -> None:
        llama.llama_backend_init()
        self._log = log
        self._progress = llama.llama_progress_callback(lambda *_: _alive(beat))
        _check_answers(self._load(path, vocab_only=True))
        self.pointer = self._load(path, gpu_layers=gpu_layers, extra_buffers=extra_buffers)
        self.on_gpu = bool(gpu_layers and llama.llama_supports_gpu_offload())
        self.vocab = llama.llama_model_get_vocab(self.pointer)
        self.n_vocab = llama.llama_vocab_n_tokens(self.vocab)
        self.window = llama.llama_model_n_ctx_train(self.pointer)

    def _load(
        self,
        path: str,
        *,
        vocab_only: bool = False,
        gpu_layers: int = 0,
        extra_buffers: bool = True,
    ) -> Any:
        params = llama.llama_model_default_params()
        params.vocab_only = vocab_only
        params.n_gpu_layers = gpu_layers
        params.use_extra_bufts = extra_buffers
        params.progress_callback = self._progress
        pointer = llama.llama_model_load_from_file(path.encode(), params)
        if not pointer:
            raise Refused(f"cannot be loaded: {self._log.fault()}")
        return pointer

    @property
    def rewinds(self) -> bool:
        """Can a sequence be cut back to where two texts part? A recurrent state cannot."""
        return not (
            llama.llama_model_is_recurrent(self.pointer)
            or llama.llama_model_is_hybrid(self.pointer)
        )

    def cell_bytes(self, kv: str) -> float:
        """Bytes of memory that one token's keys and values take."""
        arch = self.meta("general.architecture")
        heads = llama.llama_model_n_head_kv(self.pointer)
        width = llama.llama_model_n_embd(self.pointer) // max(
            1, llama.llama_model_n_head(self.pointer)
        )
        key = int(self.meta(f"{arch}.attention.key_length") or width)
        value = int(self.meta(f"{arch}.attention.value_length") or width)
        layers = llama.llama_model_n_layer(self.pointer)
        return float(layers * heads * (key + value)) * KV_TYPES[kv][1]

    def meta(self, key: str) -> str:
        """Return a value of the file's header, or "" where it has none."""
        return _meta(self.pointer, key)

    def token_text(self, token: int) -> str:
        """Return the text of a token of the vocabulary, "" for none."""
        text = llama.llama_vocab_get_text(self.vocab, token) if token >= 0 else None
        return text.decode(errors="replace") if text else ""

    @property
    def bos(self) -> str:
        return self.token_text(llama.llama_vocab_bos(self.vocab))

    @property
    def eos(self) -> str:
        return self.token_text(llama.llama_vocab_eos(self.vocab))

    @property
    def begins(self) -> list[int]:
        """The token that all texts of this model begin with, if there is one."""
        bos = llama.llama_vocab_bos(self.vocab)
        return [bos] if bos >= 0 and llama.llama_vocab_get_add_bos(self.vocab) else []

    def tokenize(self, text: str, *, special: bool = False) -> list[int]:
        """Return the tokens of a text; only with `special` may it name control tokens."""
        data = text.encode(errors="replace")
        size = len(data) + 8
        tokens = (ctypes.c_int32 * size)()
        begin = False
        n = llama.llama_tokenize(self.vocab, data, len(data), tokens, size, begin, special)
        if n < 0:
            raise Unanswerable("a text that the model's tokenizer does not take")
        return tokens[:n]

    def is_plain(self, token: int) -> bool:
        """Is the token text, and neither control nor a word that the model's makers defined?"""
        special = llama.LLAMA_TOKEN_ATTR_CONTROL | llama.LLAMA_TOKEN_ATTR_USER_DEFINED
        return not llama.llama_vocab_get_attr(self.vocab, token) & special

    def tags(self) -> set[str]:
        """Return the words like `<tool_call>` that the model's makers declared as ordinary text."""
        defined = llama.LLAMA_TOKEN_ATTR_USER_DEFINED
        words = (
            self.token_text(token)
            for token in range(self.n_vocab)
            if llama.llama_vocab_get_attr(self.vocab, token) & defined
        )
        return {word for word in words if re.fullmatch(r"<[^<>\s]+>", word)}

    def ends(self, token: int) -> bool:
        return bool(llama.llama_vocab_is_eog(self.vocab, token))

    def text(self, tokens: Sequence[int]) -> str:
        """Return the text of tokens; bytes that are no UTF-8 become U+FFFD."""
        return self.raw(tokens).decode(errors="replace")

    def raw(self, tokens: Sequence[int]) -> bytes:
        """Return the bytes of tokens; one character may take several of them."""
        return b"".join(map(self._piece, tokens))

    def _piece(self, token: int) -> bytes:
        special = False
        buffer = ctypes.create_string_buffer(64)
        n = llama.llama_token_to_piece(self.vocab, token, buffer, len(buffer), 0, special)
        if n < 0:
            buffer = ctypes.create_string_buffer(-n)
            n = llama.llama_token_to_piece(self.vocab, token, buffer, -n, 0, special)
        return buffer.raw[:n]


def _alive(beat: Callable[[], None]) -> bool:
    beat()
    return True


def _meta(pointer: Any, key: str) -> str:
    buffer = ctypes.create_string_buffer(1 << 20)
    n = llama.llama_model_meta_val_str(pointer, key.encode(), buffer, len(buffer))
    return buffer.value.decode(errors="replace") if n >= 0 else ""


def _check_answers(header: Any) -> None:
    """Refuse, by its header alone, a model that embeds or classifies but does not write."""
    arch = _meta(header, "general.architecture")
    embeds = (
        _meta(header, f"{arch}.attention.causal") == "false"
        or _meta(header, f"{arch}.pooling_type") not in ("", "0")
        or llama.llama_model_has_encoder(header)
    )
    llama.llama_model_free(header)
    if embeds:
        raise Refused(f'a model of kind "{arch}" does not continue texts; use an instruct model')


@dataclass(slots=True)
class Slot:
    """One sequence at work on one chunk: the token to compute next, and the answer so far."""

    sequence: int
    number: int
    position: int
    token: int = 0
    answer: list[int] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class SequenceResult:
    """What was decoded for a chunk, and whether the model came to an end by itself."""

    number: int
    tokens: tuple[int, ...]
    finished: bool


@dataclass(frozen=True, slots=True)
class Row:
    """One token to compute; with a place, the place takes the token that follows it."""

    token: int
    position: int
    sequence: int
    place: Slot | None = None


class Session:
    """A prefix and the places that decode from it.

    `room` is how many tokens fit into all sequences together. With `shares` false, for a memory
    that cannot copy a sequence faithfully, every prompt is computed whole.
    """

    def __init__(
        self,
        model: LlamaModel,
        *,
        room: int,
        places: int,
        kv: str,
        threads: int,
        max_tokens: int,
        counts: ComputeUsage,
        shares: bool,
        beat: Callable[[], None],
    ) -> None:
        self.room, self.places = room, places
        self.counts = counts
        self._shares = shares
        self._model = model
        self._max_tokens = max_tokens
        self._beat = beat
        # What a step is filled up with needs cells too, for as long as the step takes.
        self._context = _context(model, room=room + TILE, places=places, kv=kv, threads=threads)
        self._memory = llama.llama_get_memory(self._context)
        self._batch = _Batch(STEP_TOKENS)
        self._prefix: list[int] = []
        self._kept: list[int] = []
        self._free = list(range(places, 0, -1))
        self._busy: list[Slot] = []

    def close(self) -> None:
        """Give the memory back."""
        llama.llama_free(self._context)

    @property
    def free(self) -> int:
        """How many chunks could be admitted."""
        return len(self._free)

    @property
    def busy(self) -> bool:
        return bool(self._busy)

    def under_way(self) -> list[tuple[int, Sequence[int]]]:
        """Return (number, tokens so far) of every chunk at work."""
        return [(place.number, place.answer) for place in self._busy]

    def hold(self, prefix: list[int]) -> None:
        """Make `prefix` what the next chunks share; what it has in common with the last stays."""
        self._prefix = prefix
        if not self._shares:
            return
        common = _common(self._kept, prefix)
        if not self._model.rewinds and common < len(self._kept):
            common = 0
        self._kept = prefix[:common]
        llama.llama_memory_seq_rm(self._memory, 0, common, -1)
        rest = prefix[common:]
        self._prefill([Row(t, common + i, 0) for i, t in enumerate(rest)])
        self._kept = prefix

    def admit(self, chunks: Sequence[tuple[int, list[int]]]) -> list[SequenceResult]:
        """Give each chunk (number, suffix) a free place and compute all their suffixes.

        Returns the answers that end with their first token.
        """
        rows: list[Row] = []
        for number, suffix in chunks:
            self.counts.prompt += len(self._prefix) + len(suffix)
            rows += self._rows(number, suffix)
        return self._prefill(rows)

    def step(self) -> list[SequenceResult]:
        """Decode one token in every busy place; return the answers that this ends."""
        rows = [Row(p.token, p.position, p.sequence, p) for p in self._busy]
        self._busy = []
        return self._compute(rows, tile=1, pace=self.counts.decode)

    def reset(self) -> None:
        """Forget everything, as after a fault."""
        llama.llama_memory_clear(self._memory, False)  # noqa: FBT003
        self._kept, self._busy = [], []
        self._free = list(range(self.places, 0, -1))

    def _rows(self, number: int, suffix: list[int]) -> list[Row]:
        sequence = self._free.pop()
        if self._shares:
            start, tokens = len(self._prefix), suffix
            llama.llama_memory_seq_cp(self._memory, 0, sequence, -1, -1)
        else:
            start, tokens = 0, self._prefix + suffix
        place = Slot(sequence, number, start + len(tokens) - 1)
        rows = [Row(token, start + i, sequence) for i, token in enumerate(tokens[:-1])]
        return [*rows, Row(tokens[-1], place.position, sequence, place)]

    def _prefill(self, rows: list[Row]) -> list[SequenceResult]:
        self.counts.prefilled += len(rows)
        return self._compute(rows, tile=TILE, pace=self.counts.prefill)

    def _compute(self, rows: list[Row], *, tile: int, pace: Pace) -> list[SequenceResult]:
        """Run rows through the model in whole tiles, at least a pair; places take their tokens."""
        answers: list[SequenceResult] = []
        for begin in range(0, len(rows), STEP_TOKENS):
            step = rows[begin : begin + STEP_TOKENS]
            begun = time.perf_counter()
            self._decode(step, fill=max(PAIR - len(step), -len(step) % tile))
            for at, row in enumerate(step):
                if row.place is not None:
                    answers += self._advance(row.place, self._greedy(at))
            cells = sum(row.position + 1 for row in step)
            pace.add_step(len(step), cells, time.perf_counter() - begun)
            self._beat()
        return answers

    def _decode(self, rows: list[Row], *, fill: int) -> None:
        """Run rows through the model, with `fill` more that are forgotten at once."""
        spare = self.places + 1
        self._batch.fill([*rows, *(Row(rows[0].token, i, spare) for i in range(fill))])
        code = llama.llama_decode(self._context, self._batch.struct)
        if fill:
            llama.llama_memory_seq_rm(self._memory, spare, -1, -1)
        if code:
            raise Unanswerable(f"llama.cpp could not decode: code {code}")

    def _greedy(self, row: int) -> int:
        logits = llama.llama_get_logits_ith(self._context, row)
        values: NDArray[np.float32] = np.ctypeslib.as_array(logits, (self._model.n_vocab,))
        best = int(values.argmax())
        if not np.isfinite(values[best]):
            raise Unanswerable("the model's outputs are no numbers")
        return best

    def _advance(self, place: Slot, token: int) -> list[SequenceResult]:
        self.counts.decoded += 1
        finished = self._model.ends(token)
        if not finished:
            place.answer.append(token)
        if not finished and len(place.answer) < self._max_tokens:
            place.token = token
            place.position += 1
            self._busy.append(place)
            return []
        llama.llama_memory_seq_rm(self._memory, place.sequence, -1, -1)
        self._free.append(place.sequence)
        self.counts.answers += 1
        self.counts.answered += len(place.answer)
        return [SequenceResult(place.number, tuple(place.answer), finished)]


class _Batch:
    """A `llama_batch` over arrays of ours, each token in one sequence."""

    def __init__(self, size: int) -> None:
        self._tokens = np.zeros(size, dtype=np.int32)
        self._positions = np.zeros(size, dtype=np.int32)
        self._sequences = np.zeros(size, dtype=np.int32)
        self._counts = np.ones(size, dtype=np.int32)
        self._outputs = np.zeros(size, dtype=np.int8)
        int32 = ctypes.POINTER(ctypes.c_int32)
        start = self._sequences.ctypes.data
        self._pointers = (int32 * size)(*(ctypes.cast(start + 4 * i, int32) for i in range(size)))
        self.struct = llama.llama_batch(
            n_tokens=0,
            token=self._tokens.ctypes.data_as(int32),
            embd=None,
            pos=self._positions.ctypes.data_as(int32),
            n_seq_id=self._counts.ctypes.data_as(int32),
            seq_id=self._pointers,
            logits=self._outputs.ctypes.data_as(ctypes.POINTER(ctypes.c_int8)),
        )

    def fill(self, rows: Sequence[Row]) -> None:
        n = len(rows)
        self._tokens[:n] = [row.token for row in rows]
        self._positions[:n] = [row.position for row in rows]
        self._sequences[:n] = [row.sequence for row in rows]
        self._outputs[:n] = [row.place is not None for row in rows]
        self.struct.n_tokens = n


def _context(model: LlamaModel, *, room: int, places: int, kv: str, threads: int) -> Any:
    params = llama.llama_context_default_params()
    params.n_ctx = room
    params.n_batch = params.n_ubatch = STEP_TOKENS
    params.n_seq_max = places + 2
    # One buffer for all sequences: it is what lets them share cells, and a copy of part of a
    # sequence between two buffers aborts the process.
    params.kv_unified = True
    # Models with a sliding window keep all cells, so that a later chunk finds the prefix whole.
    params.swa_full = True
    params.n_threads = params.n_threads_batch = threads
    params.type_k = params.type_v = KV_TYPES[kv][0]
    params.no_perf = True
    context = llama.llama_init_from_model(model.pointer, params)
    if not context:
        raise Unanswerable(f"no memory for {room} tokens")
    return context


def _common(one: Sequence[int], other: Sequence[int]) -> int:
    """How many tokens do two sequences begin with in common?"""
    return next(
        (i for i, (a, b) in enumerate(zip(one, other, strict=False)) if a != b),
        min(len(one), len(other)),
    )
