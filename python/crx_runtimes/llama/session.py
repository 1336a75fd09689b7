"""Decoding of many prompts at once, which begin alike.

A sequence is a slot: it has a prompt and decodes its answer, one token a step together with all
other slots. A slot that has finished takes the next prompt. With one buffer for all, sequence 0
contains the prefix of the prompts, whose cells the slots share. With separate buffers, a slot keeps
the prompt that it has answered, and computes only what the next one has not in common with it. Uses
the low-level interface of llama.cpp, in the child process.
"""

from __future__ import annotations

import ctypes
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from operator import attrgetter
from types import MappingProxyType
from typing import Any

import llama_cpp as llama
import numpy as np
from numpy.typing import NDArray

from crx._services.compute_usage import ComputeUsage, Pace
from crx_runtimes.llama.grammar import GrammarSampler
from crx_runtimes.llama.loops import RUN_OF_ANSWER, RUN_OF_LINE, looping_tokens
from crx_runtimes.llama.model import KV_TYPES, LlamaModel, PromptFailed

# llama.cpp computes this many tokens at a time. It would split a larger call itself, and no
# heartbeat is sent from within.
STEP_TOKENS = 512

# llama.cpp computes 1 row, 2 to 63 rows and 64 or more rows by different kernels, which round
# differently. Prompts are therefore computed in multiples of 64 rows and answers in 2 to 63 rows,
# padded if necessary, so that a text depends less on the number of slots in use. Attention takes as
# long for an incomplete tile of 64 rows as for a whole one, so a prompt is split into whole tiles
# and a remainder, not into equal parts.
#
# Of sequences with separate buffers, llama.cpp computes only those together whose numbers follow
# one another in the batch, each with as many rows as the others.
PAIR, TILE = 2, 64

# Sequences beside the slots: one before them for the prefix, which separate buffers leave empty,
# and one after them for the padding of a step.
EXTRA_SEQUENCES = 2


@dataclass(slots=True)
class Slot:
    """A sequence that decodes one chunk's answer: the token to compute next and those so far.

    With a grammar, only tokens that it allows are chosen. `line` is where the current line of the
    answer begins.
    """

    sequence: int
    number: int
    position: int
    token: int = 0
    answer: list[int] = field(default_factory=list)
    line: int = 0
    grammar: GrammarSampler | None = None


@dataclass(frozen=True, slots=True)
class SequenceResult:
    """The tokens decoded for a chunk, and whether the model ended the answer itself."""

    number: int
    tokens: tuple[int, ...]
    finished: bool


@dataclass(frozen=True, slots=True)
class Row:
    """One token to compute; with a slot, the next token is appended to the slot's answer."""

    token: int
    position: int
    sequence: int
    slot: Slot | None = None


class Session:
    """A prefix and the slots that decode from it.

    `capacity` is the number of tokens that all sequences together can have; with `separate`, each.
    With `separate` every sequence has a buffer of its own. Attention then reads the cells of one
    sequence instead of those of all, which pays where the prefix is the smaller part of the
    prompts. With `shares` false, for a model whose memory cannot copy a sequence faithfully, every
    prompt is computed whole.
    """

    def __init__(
        self,
        model: LlamaModel,
        *,
        capacity: int,
        slots: int,
        kv: str,
        threads: int,
        max_tokens: int,
        counts: ComputeUsage,
        shares: bool,
        separate: bool,
        heartbeat: Callable[[], None],
    ) -> None:
        self.capacity, self.slots, self.separate = capacity, slots, separate
        self.counts = counts
        self._shares = shares
        self.model = model
        self._max_tokens = max_tokens
        self._heartbeat = heartbeat
        # The padding of a step needs cells too while the step is computed.
        cells = (slots + EXTRA_SEQUENCES) * capacity if separate else capacity + TILE
        self._context = _new_context(
            model, cells=cells, slots=slots, kv=kv, threads=threads, separate=separate
        )
        self._memory = llama.llama_get_memory(self._context)
        self._batch = _Batch(STEP_TOKENS)
        self._prefix: list[int] = []
        self._computed: list[int] = []
        self._free = list(range(1, slots + 1))
        # The tokens whose cells a slot with a buffer of its own still has.
        self._held: dict[int, list[int]] = {}
        self._busy: list[Slot] = []

    def close(self) -> None:
        """Release the memory."""
        llama.llama_free(self._context)

    @property
    def _spare(self) -> int:
        """The sequence of padding."""
        return self.slots + 1

    @property
    def free(self) -> int:
        """The number of free slots."""
        return len(self._free)

    @property
    def busy(self) -> bool:
        """Whether a slot is decoding."""
        return bool(self._busy)

    def partial_answers(self) -> list[tuple[int, Sequence[int]]]:
        """Return (number, tokens so far) of every chunk that is being decoded."""
        return [(slot.number, slot.answer) for slot in self._busy]

    def set_prefix(self, prefix: list[int]) -> None:
        """Set the prefix of the next chunks.

        In one buffer it is computed now, but for what it has in common with the last one.
        """
        self._prefix = prefix
        if self.separate or not self._shares:
            return
        common = _common_prefix(self._computed, prefix)
        if not self.model.can_rewind and common < len(self._computed):
            common = 0
        self._computed = prefix[:common]
        llama.llama_memory_seq_rm(self._memory, 0, common, -1)
        rest = prefix[common:]
        self._prefill([Row(t, common + i, 0) for i, t in enumerate(rest)])
        self._computed = prefix

    def admit(
        self,
        chunks: Sequence[tuple[int, list[int]]],
        *,
        grammars: Mapping[int, str] = MappingProxyType({}),
    ) -> list[SequenceResult]:
        """Assign a free slot to each chunk (number, suffix) and compute the suffixes.

        `grammars` are those of some answers, by number. Returns the answers that end with their
        first token.
        """
        rows: list[Row] = []
        for number, suffix in chunks:
            grammar = grammars.get(number)
            sampler = GrammarSampler(self.model, grammar) if grammar else None
            self.counts.prompt += len(self._prefix) + len(suffix)
            rows += self._rows(number, suffix, sampler)
        return self._prefill(rows)

    def step(self) -> list[SequenceResult]:
        """Decode one token in every busy slot; return the answers that have ended."""
        rows = [Row(p.token, p.position, p.sequence, p) for p in self._busy]
        self._busy = []
        return self._compute(rows, self._step_padding, pace=self.counts.decode)

    def reset(self) -> None:
        """Clear all sequences, as after a fault."""
        llama.llama_memory_clear(self._memory, False)  # noqa: FBT003
        for slot in self._busy:
            _close_grammar(slot)
        self._computed, self._busy = [], []
        self._held.clear()
        self._free = list(range(1, self.slots + 1))

    def _rows(self, number: int, suffix: list[int], grammar: GrammarSampler | None) -> list[Row]:
        if self.separate:
            sequence, start = self._take_alike(self._prefix + suffix)
        else:
            sequence, start = min(self._free), len(self._prefix) if self._shares else 0
            if self._shares:
                llama.llama_memory_seq_cp(self._memory, 0, sequence, -1, -1)
        self._free.remove(sequence)
        tokens = (self._prefix + suffix)[start:]
        slot = Slot(sequence, number, start + len(tokens) - 1, grammar=grammar)
        rows = [Row(token, start + i, sequence) for i, token in enumerate(tokens[:-1])]
        return [*rows, Row(tokens[-1], slot.position, sequence, slot)]

    def _take_alike(self, prompt: list[int]) -> tuple[int, int]:
        """Return the free slot that has most of a prompt's beginning, and how many tokens of it.

        The slot is cleared of the rest. At least the last token of a prompt is computed.
        """
        begins = {at: _common_prefix(self._held.get(at, []), prompt[:-1]) for at in self._free}
        sequence = max(sorted(begins), key=lambda at: begins[at])
        llama.llama_memory_seq_rm(self._memory, sequence, begins[sequence], -1)
        self._held[sequence] = prompt
        return sequence, begins[sequence]

    def _prefill(self, rows: list[Row]) -> list[SequenceResult]:
        self.counts.prefilled += len(rows)
        prompts = [rows]
        if self.separate:
            prompts = [[*prompt] for _, prompt in groupby(rows, attrgetter("sequence"))]
        answers: list[SequenceResult] = []
        for prompt in prompts:
            answers += self._compute(prompt, self._tile_padding, pace=self.counts.prefill)
        return answers

    def _compute(
        self, rows: list[Row], pad: Callable[[list[Row]], list[Row]], *, pace: Pace
    ) -> list[SequenceResult]:
        """Compute rows and the padding of each call, and advance the slots."""
        answers: list[SequenceResult] = []
        for begin in range(0, len(rows), STEP_TOKENS):
            step = rows[begin : begin + STEP_TOKENS]
            started = time.perf_counter()
            for at, row in enumerate(self._decode(step, pad(step))):
                if row.slot is not None:
                    answers += self._advance(row.slot, self._choose(at, row.slot))
            cells = sum(row.position + 1 for row in step)
            pace.add_step(len(step), cells, time.perf_counter() - started)
            self._heartbeat()
        return answers

    def _decode(self, rows: list[Row], padding: list[Row]) -> list[Row]:
        """Compute rows and padding, whose cells are removed at once; return them in their order."""
        batch = sorted([*rows, *padding], key=attrgetter("sequence"))
        self._batch.fill(batch)
        code = llama.llama_decode(self._context, self._batch.struct)
        for sequence, position in {row.sequence: row.position for row in reversed(padding)}.items():
            llama.llama_memory_seq_rm(self._memory, sequence, position, -1)
        if code:
            raise PromptFailed(f"llama.cpp could not decode: code {code}")
        return batch

    def _tile_padding(self, rows: list[Row]) -> list[Row]:
        """Return rows that complete the last tile of a prompt."""
        last, n = rows[-1], -len(rows) % TILE
        if not self.separate:
            return [Row(last.token, i, self._spare) for i in range(n)]
        if not self.model.can_rewind:
            return []
        return [Row(last.token, last.position + i, last.sequence) for i in range(1, n + 1)]

    def _step_padding(self, rows: list[Row]) -> list[Row]:
        """Return rows that make a step one of at least two rows, without gaps between sequences."""
        if not self.separate:
            return [Row(rows[0].token, i, self._spare) for i in range(PAIR - len(rows))]
        used = {row.sequence for row in rows}
        first = min(used)
        gaps = set(range(first, max(*used, first + PAIR - 1) + 1)) - used
        return [Row(rows[0].token, len(self._held.get(at, [])), at) for at in sorted(gaps)]

    def _choose(self, row: int, slot: Slot) -> int:
        """Return the likeliest token that continues no loop and that the grammar allows."""
        logits = self._loop_free_logits(row, slot)
        return _greedy(logits) if slot.grammar is None else slot.grammar.choose(logits)

    def _loop_free_logits(self, row: int, slot: Slot) -> NDArray[np.float32]:
        """Return the logits of a row, those of tokens that continue a loop at minus infinity."""
        run = RUN_OF_ANSWER if slot.grammar is None else RUN_OF_LINE
        begin = 0 if slot.grammar is None else slot.line
        return _without(self._logits(row), looping_tokens(slot.answer[begin:], run=run))

    def _logits(self, row: int) -> NDArray[np.float32]:
        logits = llama.llama_get_logits_ith(self._context, row)
        return np.ctypeslib.as_array(logits, (self.model.n_vocab,))

    def _advance(self, slot: Slot, token: int) -> list[SequenceResult]:
        self.counts.decoded += 1
        finished = self.model.ends(token)
        if not finished:
            slot.answer.append(token)
            if "\n" in self.model.text((token,)):
                slot.line = len(slot.answer)
        if not finished and len(slot.answer) < self._max_tokens:
            slot.token = token
            slot.position += 1
            self._busy.append(slot)
            return []
        _close_grammar(slot)
        self._release(slot.sequence)
        self.counts.answers += 1
        self.counts.answered += len(slot.answer)
        return [SequenceResult(slot.number, tuple(slot.answer), finished)]

    def _release(self, sequence: int) -> None:
        """Free a slot; one with a buffer of its own keeps the prompt, if it can be rewound."""
        if not self.model.can_rewind or not self._shares:
            self._held.pop(sequence, None)
        kept = len(self._held.get(sequence, []))
        llama.llama_memory_seq_rm(self._memory, sequence, kept, -1)
        self._free.append(sequence)


class _Batch:
    """A `llama_batch` over numpy arrays, each token in one sequence."""

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
        """Replace the batch's contents."""
        n = len(rows)
        self._tokens[:n] = [row.token for row in rows]
        self._positions[:n] = [row.position for row in rows]
        self._sequences[:n] = [row.sequence for row in rows]
        self._outputs[:n] = [row.slot is not None for row in rows]
        self.struct.n_tokens = n


def _new_context(
    model: LlamaModel, *, cells: int, slots: int, kv: str, threads: int, separate: bool
) -> Any:
    params = llama.llama_context_default_params()
    params.n_ctx = cells
    params.n_batch = params.n_ubatch = STEP_TOKENS
    params.n_seq_max = slots + EXTRA_SEQUENCES
    # Only in one buffer can sequences share cells. Between two, a whole sequence can be copied;
    # copying a part of one aborts the process.
    params.kv_unified = not separate
    # Models with a sliding window keep all cells, so that later chunks find the whole prefix.
    params.swa_full = True
    params.n_threads = params.n_threads_batch = threads
    params.type_k = params.type_v = KV_TYPES[kv][0]
    params.no_perf = True
    context = llama.llama_init_from_model(model.pointer, params)
    if not context:
        raise PromptFailed(f"no memory for {cells} tokens")
    return context


def _without(logits: NDArray[np.float32], tokens: set[int]) -> NDArray[np.float32]:
    """Return logits with those of some tokens at minus infinity."""
    if not tokens:
        return logits
    kept = logits.copy()
    kept[list(tokens)] = -np.inf
    return kept


def _greedy(logits: NDArray[np.float32]) -> int:
    best = int(logits.argmax())
    if not np.isfinite(logits[best]):
        raise PromptFailed("the model's outputs are not finite")
    return best


def _close_grammar(slot: Slot) -> None:
    if slot.grammar is not None:
        slot.grammar.close()
        slot.grammar = None


def _common_prefix(one: Sequence[int], other: Sequence[int]) -> int:
    """Return the length of the longest common prefix of two sequences."""
    return next(
        (i for i, (a, b) in enumerate(zip(one, other, strict=False)) if a != b),
        min(len(one), len(other)),
    )
