"""A GGUF file loaded by llama.cpp, with its vocabulary. Runs in the child process."""

from __future__ import annotations

import ctypes
import re
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

import llama_cpp as llama

# The type of keys and values, and the bytes of one of their numbers, by the option's value.
KV_TYPES = {
    "f32": (llama.GGML_TYPE_F32, 4.0),
    "f16": (llama.GGML_TYPE_F16, 2.0),
    "q8_0": (llama.GGML_TYPE_Q8_0, 34 / 32),
}


class ModelRefused(Exception):
    """The model cannot be used; the message says why."""


class PromptFailed(Exception):
    """This model cannot answer this prompt here; the message says why."""


class NativeLog:
    """The last lines that llama.cpp logged, kept from the terminal."""

    def __init__(self) -> None:
        self.lines: deque[str] = deque(maxlen=64)
        self._rest = ""
        self._callback = llama.llama_log_callback(self._append)
        llama.llama_log_set(self._callback, ctypes.c_void_p(0))

    def _append(self, level: int, text: bytes, _: ctypes.c_void_p) -> None:
        *whole, self._rest = (self._rest + text.decode(errors="replace")).split("\n")
        self.lines.extend(line.strip() for line in whole if line.strip())

    def last_error(self) -> str:
        """Return the last line about a failure, without its function's name."""
        errors = (line for line in reversed(self.lines) if re.search("error|fail|invalid", line))
        causes = (line for line in errors if "failed to load model" not in line)
        return re.sub(r"^\w+: (error loading model: )?", "", next(causes, "no reason given"))


class LlamaModel:
    """A GGUF file with a model that writes, and its vocabulary."""

    def __init__(
        self,
        path: str,
        *,
        gpu_layers: int,
        extra_buffers: bool,
        log: NativeLog,
        heartbeat: Callable[[], None],
    ) -> None:
        llama.llama_backend_init()
        self._log = log
        self._progress = llama.llama_progress_callback(lambda *_: _go_on(heartbeat))
        _refuse_other_kinds(self._load(path, vocab_only=True))
        self.pointer = self._load(path, gpu_layers=gpu_layers, extra_buffers=extra_buffers)
        self.on_gpu = bool(gpu_layers and llama.llama_supports_gpu_offload())
        self.vocab = llama.llama_model_get_vocab(self.pointer)
        self.n_vocab = llama.llama_vocab_n_tokens(self.vocab)
        self.token_limit = llama.llama_model_n_ctx_train(self.pointer)

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
            raise ModelRefused(f"cannot be loaded: {self._log.last_error()}")
        return pointer

    @property
    def can_rewind(self) -> bool:
        """Whether a sequence can be truncated to a shorter one; a recurrent state cannot."""
        return not (
            llama.llama_model_is_recurrent(self.pointer)
            or llama.llama_model_is_hybrid(self.pointer)
        )

    def cell_bytes(self, kv: str) -> float:
        """Return the bytes that one token's keys and values take."""
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
        """Return a value of the file's header, "" if it is missing."""
        return _meta(self.pointer, key)

    def token_text(self, token: int) -> str:
        """Return the text of a token of the vocabulary, "" if there is none."""
        text = llama.llama_vocab_get_text(self.vocab, token) if token >= 0 else None
        return text.decode(errors="replace") if text else ""

    @property
    def bos(self) -> str:
        return self.token_text(llama.llama_vocab_bos(self.vocab))

    @property
    def eos(self) -> str:
        return self.token_text(llama.llama_vocab_eos(self.vocab))

    @property
    def bos_tokens(self) -> list[int]:
        """The token that all texts of this model begin with, as a list; empty if there is none."""
        bos = llama.llama_vocab_bos(self.vocab)
        return [bos] if bos >= 0 and llama.llama_vocab_get_add_bos(self.vocab) else []

    def tokenize(self, text: str, *, special: bool = False) -> list[int]:
        """Return the tokens of a text; control tokens in it are recognised only with `special`."""
        data = text.encode(errors="replace")
        size = len(data) + 8
        tokens = (ctypes.c_int32 * size)()
        begin = False
        n = llama.llama_tokenize(self.vocab, data, len(data), tokens, size, begin, special)
        if n < 0:
            raise PromptFailed("the model's tokenizer does not accept the text")
        return tokens[:n]

    def is_plain(self, token: int) -> bool:
        """Return True if a token is text: neither a control nor a user-defined token."""
        special = llama.LLAMA_TOKEN_ATTR_CONTROL | llama.LLAMA_TOKEN_ATTR_USER_DEFINED
        return not llama.llama_vocab_get_attr(self.vocab, token) & special

    def tags(self) -> set[str]:
        """Return the user-defined tokens of the form `<tool_call>`."""
        defined = llama.LLAMA_TOKEN_ATTR_USER_DEFINED
        words = (
            self.token_text(token)
            for token in range(self.n_vocab)
            if llama.llama_vocab_get_attr(self.vocab, token) & defined
        )
        return {word for word in words if re.fullmatch(r"<[^<>\s]+>", word)}

    def ends(self, token: int) -> bool:
        """Return True if a token ends an answer."""
        return bool(llama.llama_vocab_is_eog(self.vocab, token))

    def text(self, tokens: Sequence[int]) -> str:
        """Return the text of tokens; bytes that are not UTF-8 become U+FFFD."""
        return self.raw(tokens).decode(errors="replace")

    def raw(self, tokens: Sequence[int]) -> bytes:
        """Return the bytes of tokens; a character may take several tokens."""
        return b"".join(map(self._piece, tokens))

    def _piece(self, token: int) -> bytes:
        special = False
        buffer = ctypes.create_string_buffer(64)
        n = llama.llama_token_to_piece(self.vocab, token, buffer, len(buffer), 0, special)
        if n < 0:
            buffer = ctypes.create_string_buffer(-n)
            n = llama.llama_token_to_piece(self.vocab, token, buffer, -n, 0, special)
        return buffer.raw[:n]


def _go_on(heartbeat: Callable[[], None]) -> bool:
    heartbeat()
    return True


def _meta(pointer: Any, key: str) -> str:
    buffer = ctypes.create_string_buffer(1 << 20)
    n = llama.llama_model_meta_val_str(pointer, key.encode(), buffer, len(buffer))
    return buffer.value.decode(errors="replace") if n >= 0 else ""


def _refuse_other_kinds(header: Any) -> None:
    """Raise `ModelRefused` for the header of a model that embeds or classifies."""
    arch = _meta(header, "general.architecture")
    embeds = (
        _meta(header, f"{arch}.attention.causal") == "false"
        or _meta(header, f"{arch}.pooling_type") not in ("", "0")
        or llama.llama_model_has_encoder(header)
    )
    llama.llama_model_free(header)
    if embeds:
        raise ModelRefused(f'a model of kind "{arch}" writes no text; use an instruct model')
