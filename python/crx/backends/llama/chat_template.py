"""Chat templates: the text around a prompt that a model's family expects.

A chat template is code that came with a model file. The families people use are recognised by
their control tokens and never run; any other template is rendered once, in jinja2's sandbox,
around a fixed marker. Either way no document passes through a template.
"""

from __future__ import annotations

from dataclasses import dataclass

from crx.errors import ModelError

_MARK = "crx-prompt-goes-here"
_THOUGHTS = ("<think>", "<thinking>", "<thought>")


@dataclass(frozen=True, slots=True)
class Frame:
    """The control tokens before and after the user's words, as the model's own texts.

    `begins` says that `head` already holds the token every text of the model begins with.
    """

    name: str
    head: str
    tail: str
    begins: bool = False

    @property
    def thinks(self) -> bool:
        """Does the model's turn begin inside a thought?"""
        return self.tail.rstrip().endswith(_THOUGHTS)


# Written from the formats the families publish with their models.
CHATML = Frame("chatml", "<|im_start|>user\n", "<|im_end|>\n<|im_start|>assistant\n")
# Qwen 3 and SmolLM 3 think aloud unless the answer begins with an empty thought.
CHATML_SILENT = Frame("chatml-silent", CHATML.head, CHATML.tail + "<think>\n\n</think>\n\n")
LLAMA3 = Frame(
    "llama3",
    "<|start_header_id|>user<|end_header_id|>\n\n",
    "<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\n",
)
GEMMA = Frame("gemma", "<start_of_turn>user\n", "<end_of_turn>\n<start_of_turn>model\n")
PHI3 = Frame("phi3", "<|user|>\n", "<|end|>\n<|assistant|>\n")
PHI4_MINI = Frame("phi4-mini", "<|user|>", "<|end|><|assistant|>")
PHI4 = Frame("phi4", "<|im_start|>user<|im_sep|>", "<|im_end|><|im_start|>assistant<|im_sep|>")
PLAIN = Frame("plain", "", "\n")


def frame_of(template: str, *, bos: str = "", eos: str = "") -> Frame:
    """Return the frame of a model by its `tokenizer.chat_template` ("" where it has none).

    `bos` and `eos` are the texts of the model's own tokens, for templates that name them.
    """
    if not template:
        return PLAIN
    return _known(template) or _rendered(template, bos=bos, eos=eos)


def _known(template: str) -> Frame | None:
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


def _rendered(template: str, *, bos: str, eos: str) -> Frame:
    # jinja2 comes with llama-cpp-python; it is of use only where a model file is read.
    from jinja2 import TemplateError
    from jinja2.sandbox import ImmutableSandboxedEnvironment

    try:
        text = (
            ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True)
            .from_string(template)
            .render(
                messages=[{"role": "user", "content": _MARK}],
                add_generation_prompt=True,
                enable_thinking=False,
                bos_token=bos,
                eos_token=eos,
            )
        )
    except (
        TemplateError,
        TypeError,
        ValueError,
        ArithmeticError,
        LookupError,
        RecursionError,
    ) as error:
        raise ModelError(
            f"the model's chat template cannot be rendered: {error or type(error).__name__};"
            " use an instruct model with a common template"
        ) from None
    head, mark, tail = text.partition(_MARK)
    if not mark or _MARK in tail:
        raise ModelError(
            "the model's chat template does not hold the user's words exactly once;"
            " use an instruct model with a common template"
        )
    return Frame("template", head, tail, begins=bool(bos) and head.startswith(bos))
