"""Small GGUF files with byte-level vocabularies and random or hand-made weights.

`random_model` answers with noise that depends on every token before it, so that ways of decoding
can be compared token for token. `parrot` writes one sentence, which passes validation. As a script,
`python tests/support/tiny_gguf.py smollm2-135m OUT.gguf` writes a model of that shape.
"""

from __future__ import annotations

import itertools
import sys
from dataclasses import dataclass
from pathlib import Path

import gguf
import numpy as np
from gguf.quants import quantize
from numpy.typing import NDArray

CHATML = (
    "{% for m in messages %}{{ '<|im_start|>' + m['role'] + '\n' + m['content'] }}"
    "{{ '<|im_end|>\n' }}{% endfor %}{{ '<|im_start|>assistant\n' }}"
)
CONTROL = ("<|endoftext|>", "<|im_start|>", "<|im_end|>")
MERGES = ("t h", "th e", "Ġ a", "Ġ the", "e r", "i n")
SENTENCE = ("This", "Ġtells", "Ġhow", "Ġit", "Ġbegins", ".", "<|im_end|>")


@dataclass(frozen=True, slots=True)
class Shape:
    """A model's dimensions; `window` is its trained context, `sliding` its attention's window.

    A larger `sharp` concentrates attention: the text matters more, and so does rounding.
    """

    layers: int = 2
    width: int = 64
    heads: int = 4
    kv_heads: int = 2
    feed: int = 96
    vocab: int = 320
    window: int = 4096
    sliding: int = 0
    sharp: float = 1.0


SHAPES = {
    "tiny": Shape(),
    "smollm2-135m": Shape(30, 576, 9, 3, 1536, 49152, 8192),
}


def random_model(
    path: Path,
    shape: Shape = SHAPES["tiny"],
    *,
    seed: int = 0,
    template: str = CHATML,
    declared: bool = False,
    kind: gguf.GGMLQuantizationType = gguf.GGMLQuantizationType.F32,
) -> Path:
    """Write a Llama (or, with `sliding`, a Gemma 3) of random weights; return its path.

    With `declared`, a token of its template is user-defined and no control token, and a second
    user-defined token is for tool calls.
    """
    rng = np.random.default_rng(seed)
    arch = "gemma3" if shape.sliding else "llama"
    writer = _begin(path, arch, shape, template, declared=declared)

    def put(name: str, rows: int, columns: int, scale: float) -> None:
        weights = rng.standard_normal((rows, columns), dtype=np.float32) * scale
        writer.add_tensor(f"{name}.weight", quantize(weights, kind), raw_dtype=kind)

    def ones(name: str, size: int) -> None:
        writer.add_tensor(f"{name}.weight", np.ones(size, dtype=np.float32))

    head = shape.width // shape.heads
    # Small beside what the blocks add, as in trained models: the last token does not decide alone.
    put("token_embd", shape.vocab, shape.width, 0.05)
    ones("output_norm", shape.width)
    for i in range(shape.layers):
        block = f"blk.{i}"
        ones(f"{block}.attn_norm", shape.width)
        put(f"{block}.attn_q", shape.heads * head, shape.width, shape.sharp * shape.width**-0.5)
        put(f"{block}.attn_k", shape.kv_heads * head, shape.width, shape.sharp * shape.width**-0.5)
        put(f"{block}.attn_v", shape.kv_heads * head, shape.width, shape.width**-0.5)
        put(f"{block}.attn_output", shape.width, shape.heads * head, shape.width**-0.5)
        ones(f"{block}.ffn_norm", shape.width)
        put(f"{block}.ffn_gate", shape.feed, shape.width, shape.width**-0.5)
        put(f"{block}.ffn_up", shape.feed, shape.width, shape.width**-0.5)
        put(f"{block}.ffn_down", shape.width, shape.feed, shape.feed**-0.5)
        if shape.sliding:
            for norm in ("post_attention_norm", "post_ffw_norm"):
                ones(f"{block}.{norm}", shape.width)
            for norm in ("attn_q_norm", "attn_k_norm"):
                ones(f"{block}.{norm}", head)
    return _end(writer, path)


def parrot(path: Path, *, template: str = CHATML, words: tuple[str, ...] = SENTENCE) -> Path:
    """Write a Llama that answers every prompt with `words`; return its path.

    Attention and feed-forward are zero, so the output is a table of which token follows which. A
    line break, the last token of the template, is followed by the first word.
    """
    shape = Shape(layers=1, width=512, vocab=512)
    writer = _begin(path, "llama", shape, template, words=words)
    ids = {token: i for i, token in enumerate(_tokens(shape.vocab, words))}
    table = np.zeros((shape.vocab, shape.width), dtype=np.float32)
    table[ids[words[0]], ids["Ċ"]] = 1.0
    for one, after in itertools.pairwise(words):
        table[ids[after], ids[one]] = 1.0
    _put_zeros(writer, shape)
    writer.add_tensor("token_embd.weight", np.eye(shape.vocab, shape.width, dtype=np.float32))
    writer.add_tensor("output.weight", table)
    return _end(writer, path)


def recurrent(path: Path, *, seed: int = 0) -> Path:
    """Write a Mamba of random weights; return its path."""
    rng = np.random.default_rng(seed)
    width, inner, state, conv, rank, vocab = 32, 64, 8, 4, 4, 320
    writer = gguf.GGUFWriter(path, "mamba")
    writer.add_context_length(4096)
    writer.add_embedding_length(width)
    writer.add_feed_forward_length(0)
    writer.add_head_count(0)
    writer.add_block_count(2)
    writer.add_ssm_conv_kernel(conv)
    writer.add_ssm_inner_size(inner)
    writer.add_ssm_state_size(state)
    writer.add_ssm_time_step_rank(rank)
    writer.add_layer_norm_rms_eps(1e-5)
    _add_tokenizer(writer, vocab, CHATML, ())

    def put(name: str, *shape: int) -> None:
        weights = rng.standard_normal(shape, dtype=np.float32) * shape[-1] ** -0.5
        writer.add_tensor(name, weights)

    put("token_embd.weight", vocab, width)
    writer.add_tensor("output_norm.weight", np.ones(width, dtype=np.float32))
    for i in range(2):
        block = f"blk.{i}"
        writer.add_tensor(f"{block}.attn_norm.weight", np.ones(width, dtype=np.float32))
        put(f"{block}.ssm_in.weight", 2 * inner, width)
        put(f"{block}.ssm_conv1d.weight", inner, conv)
        put(f"{block}.ssm_conv1d.bias", inner)
        put(f"{block}.ssm_x.weight", rank + 2 * state, inner)
        put(f"{block}.ssm_dt.weight", inner, rank)
        put(f"{block}.ssm_dt.bias", inner)
        writer.add_tensor(
            f"{block}.ssm_a",
            -np.tile(np.arange(1, state + 1, dtype=np.float32), (inner, 1)),
        )
        writer.add_tensor(f"{block}.ssm_d", np.ones(inner, dtype=np.float32))
        put(f"{block}.ssm_out.weight", width, inner)
    return _end(writer, path)


def embedder(path: Path) -> Path:
    """Write the header of a BERT, which embeds and does not write; return its path."""
    writer = gguf.GGUFWriter(path, "bert")
    writer.add_context_length(512)
    writer.add_embedding_length(32)
    writer.add_feed_forward_length(64)
    writer.add_head_count(2)
    writer.add_block_count(1)
    writer.add_layer_norm_eps(1e-5)
    writer.add_causal_attention(value=False)
    writer.add_pooling_type(gguf.PoolingType.MEAN)
    _add_tokenizer(writer, 320, "", ())
    writer.add_tensor("token_embd.weight", np.zeros((320, 32), dtype=np.float32))
    return _end(writer, path)


def _begin(
    path: Path,
    arch: str,
    shape: Shape,
    template: str,
    *,
    words: tuple[str, ...] = (),
    declared: bool = False,
) -> gguf.GGUFWriter:
    writer = gguf.GGUFWriter(path, arch)
    writer.add_context_length(shape.window)
    writer.add_embedding_length(shape.width)
    writer.add_block_count(shape.layers)
    writer.add_feed_forward_length(shape.feed)
    writer.add_head_count(shape.heads)
    writer.add_head_count_kv(shape.kv_heads)
    writer.add_key_length(shape.width // shape.heads)
    writer.add_value_length(shape.width // shape.heads)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_rope_freq_base(10_000.0)
    if shape.sliding:
        writer.add_sliding_window(shape.sliding)
    _add_tokenizer(writer, shape.vocab, template, words, declared=declared)
    return writer


def _add_tokenizer(
    writer: gguf.GGUFWriter,
    vocab: int,
    template: str,
    words: tuple[str, ...],
    *,
    declared: bool = False,
) -> None:
    tokens = _tokens(vocab, words)
    if declared:
        tokens[-1] = "<tool_call>"
    control = {tokens.index(c) for c in CONTROL}
    writer.add_vocab_size(vocab)
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("smollm")
    writer.add_token_list(tokens)
    kinds = [gguf.TokenType.NORMAL] * vocab
    for i in control:
        # User-defined, as in some files: a tokenizer then finds it in any text.
        word = declared and tokens[i] == "<|im_start|>"
        kinds[i] = gguf.TokenType.USER_DEFINED if word else gguf.TokenType.CONTROL
    if declared:
        kinds[-1] = gguf.TokenType.USER_DEFINED
    writer.add_token_types(kinds)
    writer.add_token_merges(list(MERGES))
    writer.add_bos_token_id(tokens.index("<|endoftext|>"))
    writer.add_eos_token_id(tokens.index("<|im_end|>"))
    writer.add_add_bos_token(value=False)
    if template:
        writer.add_chat_template(template)


def _tokens(vocab: int, words: tuple[str, ...]) -> list[str]:
    """Return the 256 bytes as GPT-2 writes them, merges, control tokens, words, then fillers."""
    shown = [*range(33, 127), *range(161, 173), *range(174, 256)]
    hidden = [b for b in range(256) if b not in shown]
    bytes_ = [chr(b) for b in shown] + [chr(256 + i) for i in range(len(hidden))]
    merged = [m.replace(" ", "") for m in MERGES]
    known = list(dict.fromkeys([*bytes_, *merged, *CONTROL, *words]))
    return known + [f"filler{i}" for i in range(vocab - len(known))]


def _put_zeros(writer: gguf.GGUFWriter, shape: Shape) -> None:
    kv = shape.kv_heads * shape.width // shape.heads
    for name, size in {
        "attn_q": (shape.width, shape.width),
        "attn_k": (kv, shape.width),
        "attn_v": (kv, shape.width),
        "attn_output": (shape.width, shape.width),
        "ffn_gate": (shape.feed, shape.width),
        "ffn_up": (shape.feed, shape.width),
        "ffn_down": (shape.width, shape.feed),
    }.items():
        writer.add_tensor(f"blk.0.{name}.weight", np.zeros(size, dtype=np.float32))
    for name in ("output_norm", "blk.0.attn_norm", "blk.0.ffn_norm"):
        ones: NDArray[np.float32] = np.ones(shape.width, dtype=np.float32)
        writer.add_tensor(f"{name}.weight", ones)


def _end(writer: gguf.GGUFWriter, path: Path) -> Path:
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


if __name__ == "__main__":
    random_model(Path(sys.argv[2]), SHAPES[sys.argv[1]], kind=gguf.GGMLQuantizationType.Q8_0)
