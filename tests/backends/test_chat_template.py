"""The frames of the instruct families, and templates that are not to be trusted."""

import pytest

from crx.backends.llama import chat_template
from crx.backends.llama.chat_template import Frame, frame_of
from crx.errors import ModelError

# The lines that tell the families apart, as their templates hold them.
CHATML = "{{'<|im_start|>' + message['role'] + '\\n' + message['content'] + '<|im_end|>' + '\\n'}}"
LLAMA3 = "{{ '<|start_header_id|>' + message['role'] + '<|end_header_id|>\\n\\n' }}"
GEMMA = "{{ '<start_of_turn>' + role + '\\n' + message['content'] | trim + '<end_of_turn>\\n' }}"
PHI3 = "{{'<|user|>\\n' + message['content'] + '<|end|>\\n'}}{{ '<|assistant|>\\n' }}"
PHI4_MINI = "{{ '<|' + message['role'] + '|>' + message['content'] + '<|end|>' }}<|assistant|>"
PHI4 = "{{'<|im_start|>user<|im_sep|>' + message['content'] + '<|im_end|>'}}"


@pytest.mark.parametrize(
    ("template", "frame"),
    [
        (CHATML, chat_template.CHATML),
        (CHATML + "{{- '<think>\\n\\n</think>\\n\\n' }}", chat_template.CHATML_SILENT),
        (LLAMA3, chat_template.LLAMA3),
        (GEMMA, chat_template.GEMMA),
        (PHI3, chat_template.PHI3),
        (PHI4_MINI, chat_template.PHI4_MINI),
        (PHI4, chat_template.PHI4),
        ("", chat_template.PLAIN),
    ],
)
def test_a_family_is_known_by_its_template(template: str, frame: Frame) -> None:
    assert frame_of(template) == frame


def test_an_unknown_template_is_rendered_around_a_marker() -> None:
    template = "{{ bos_token }}[INST] {{ messages[0]['content'] }} [/INST]"
    assert frame_of(template, bos="<s>") == Frame("template", "<s>[INST] ", " [/INST]", begins=True)


@pytest.mark.parametrize(
    "template",
    [
        "{{ ''.__class__.__mro__[1].__subclasses__() }}{{ messages[0]['content'] }}",
        "{{ messages.clear() }}{{ messages[0]['content'] }}",
        "{% for i in range(10**9) %}{% endfor %}{{ messages[0]['content'] }}",
        "{{ raise_exception('no') }}",
        "{% if %}",
        "no place for the user's words",
        "{{ messages[0]['content'] * 2 }}",
        "{{ 1 // 0 }}",
    ],
)
def test_a_template_that_misbehaves_is_a_model_error(template: str) -> None:
    with pytest.raises(ModelError, match="chat template"):
        frame_of(template)
