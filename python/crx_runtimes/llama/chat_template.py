"""Chat templates: the text that a model's family expects around a prompt.

The chat template in a model file is code. The common families are recognised by their control
tokens, and their templates are not run; any other template is rendered once, in jinja2's sandbox
and within a number of steps, around a fixed marker. No document passes through a template.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from types import FrameType
from typing import Any

from jinja2 import TemplateError
from jinja2.sandbox import ImmutableSandboxedEnvironment

from crx.errors import ModelError

_MARK = "crx-prompt-goes-here"
# Lines of Python that a template may run, and characters that it may repeat. The sandbox limits the
# length of a range, and not that of ranges within ranges.
MAX_STEPS = 200_000
_REASONING_TAGS = ("<think>", "<thinking>", "<thought>")


@dataclass(frozen=True, slots=True)
class ChatTemplate:
    """The text before and after the user's prompt, with the model's control tokens.

    `includes_bos`: `head` already contains the token that every text of the model begins with.
    """

    name: str
    head: str
    tail: str
    includes_bos: bool = False

    @property
    def starts_in_reasoning(self) -> bool:
        """Whether the model's answer begins inside a reasoning block."""
        return self.tail.rstrip().endswith(_REASONING_TAGS)


# From the formats that the families publish with their models.
CHATML = ChatTemplate("chatml", "<|im_start|>user\n", "<|im_end|>\n<|im_start|>assistant\n")
# Qwen 3 and SmolLM 3 write a reasoning block unless the answer begins with an empty one.
CHATML_SILENT = ChatTemplate("chatml-silent", CHATML.head, CHATML.tail + "<think>\n\n</think>\n\n")
LLAMA3 = ChatTemplate(
    "llama3",
    "<|start_header_id|>user<|end_header_id|>\n\n",
    "<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\n",
)
GEMMA = ChatTemplate("gemma", "<start_of_turn>user\n", "<end_of_turn>\n<start_of_turn>model\n")
PHI3 = ChatTemplate("phi3", "<|user|>\n", "<|end|>\n<|assistant|>\n")
PHI4_MINI = ChatTemplate("phi4-mini", "<|user|>", "<|end|><|assistant|>")
PHI4 = ChatTemplate(
    "phi4", "<|im_start|>user<|im_sep|>", "<|im_end|><|im_start|>assistant<|im_sep|>"
)
PLAIN = ChatTemplate("plain", "", "\n")


def read_template(template: str, *, bos: str = "", eos: str = "") -> ChatTemplate:
    """Return the chat template of a model from its `tokenizer.chat_template`, "" for none.

    `bos` and `eos` are the texts of the model's own tokens, for templates that use them. Raises
    `ModelError` if the template cannot be rendered.
    """
    if not template:
        return PLAIN
    return _family(template) or _render(template, bos=bos, eos=eos)


def _family(template: str) -> ChatTemplate | None:
    if "<|im_sep|>" in template:
        return PHI4
    if "<|start_header_id|>" in template:
        return LLAMA3
    if "<start_of_turn>" in template:
        return GEMMA
    if "<|im_start|>" in template:
        return CHATML_SILENT if "<think>" in template else CHATML
    if "<|end|>" in template and "<|assistant|>" in template:
        return PHI3 if "<|user|>\\n" in template or "'|>' + '\\n'" in template else PHI4_MINI
    return None


def _render(template: str, *, bos: str, eos: str) -> ChatTemplate:
    try:
        environment = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True)
        environment.intercepted_binops = frozenset(_ARITHMETIC)
        environment.binop_table |= _ARITHMETIC
        compiled = environment.from_string(template)
        with _limited_steps():
            text = compiled.render(
                messages=[{"role": "user", "content": _MARK}],
                add_generation_prompt=True,
                enable_thinking=False,
                bos_token=bos,
                eos_token=eos,
            )
    except (
        TemplateError,
        TypeError,
        ValueError,
        ArithmeticError,
        LookupError,
        RecursionError,
        MemoryError,
    ) as error:
        raise ModelError(
            f"the model's chat template cannot be rendered: {error or type(error).__name__};"
            " use an instruct model with a common template"
        ) from None
    head, mark, tail = text.partition(_MARK)
    if not mark or _MARK in tail:
        raise ModelError(
            "the model's chat template does not contain the user's message exactly once;"
            " use an instruct model with a common template"
        )
    return ChatTemplate("template", head, tail, includes_bos=bool(bos) and head.startswith(bos))


@contextlib.contextmanager
def _limited_steps() -> Iterator[None]:
    """Raise `ValueError` in the code within after `MAX_STEPS` lines."""
    steps = 0

    def count(frame: FrameType, event: str, arg: object) -> Any:
        nonlocal steps
        steps += 1
        if steps > MAX_STEPS:
            raise ValueError(f"it runs more than {MAX_STEPS:,} steps")
        return count

    previous = sys.gettrace()
    sys.settrace(count)
    try:
        yield
    finally:
        sys.settrace(previous)


def _multiply(left: Any, right: Any) -> Any:
    for sequence, times in ((left, right), (right, left)):
        if hasattr(sequence, "__len__") and len(sequence) * times > MAX_STEPS:
            raise ValueError("it makes a text that is too long")
    return _number(left * right)


def _power(left: Any, right: Any) -> Any:
    if abs(right) > 64:
        raise ValueError("it computes a number that is too large")
    return _number(left**right)


def _modulo(left: Any, right: Any) -> Any:
    if isinstance(left, str):
        raise ValueError("it formats with %, which can make a text of any length")
    return left % right


def _number(value: Any) -> Any:
    if isinstance(value, int) and value.bit_length() > 4096:
        raise ValueError("it computes a number that is too large")
    return value


_ARITHMETIC = {"*": _multiply, "**": _power, "%": _modulo}
