"""Chat templates of the instruct families, and templates that cannot be trusted."""

from __future__ import annotations

import pytest

from crx.errors import ModelError
from crx_runtimes.llama import chat_template
from crx_runtimes.llama.chat_template import ChatTemplate, read_template

# The lines that distinguish the families, as in their templates.
CHATML = "{{'<|im_start|>' + message['role'] + '\\n' + message['content'] + '<|im_end|>' + '\\n'}}"
LLAMA3 = "{{ '<|start_header_id|>' + message['role'] + '<|end_header_id|>\\n\\n' }}"
GEMMA = "{{ '<start_of_turn>' + role + '\\n' + message['content'] | trim + '<end_of_turn>\\n' }}"
PHI3 = "{{'<|user|>\\n' + message['content'] + '<|end|>\\n'}}{{ '<|assistant|>\\n' }}"
PHI4_MINI = "{{ '<|' + message['role'] + '|>' + message['content'] + '<|end|>' }}<|assistant|>"
PHI4 = "{{'<|im_start|>user<|im_sep|>' + message['content'] + '<|im_end|>'}}"


@pytest.mark.parametrize(
    ("source", "template"),
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
def test_a_family_is_recognised_by_its_template(source: str, template: ChatTemplate) -> None:
    assert read_template(source) == template


def test_a_template_may_count_and_repeat() -> None:
    source = (
        "{% for m in messages %}{% if loop.index0 % 2 == 0 %}{{ '-' * 3 }}{{ m['content'] }}"
        "{% endif %}{% endfor %}{{ 2 ** 3 }}"
    )
    assert read_template(source) == ChatTemplate("template", "---", "8")


def test_an_unknown_template_is_rendered_around_a_marker() -> None:
    source = "{{ bos_token }}[INST] {{ messages[0]['content'] }} [/INST]"
    expected = ChatTemplate("template", "<s>[INST] ", " [/INST]", includes_bos=True)
    assert read_template(source, bos="<s>") == expected


@pytest.mark.parametrize(
    "source",
    [
        "{{ ''.__class__.__mro__[1].__subclasses__() }}{{ messages[0]['content'] }}",
        "{{ messages.clear() }}{{ messages[0]['content'] }}",
        "{% for i in range(10**9) %}{% endfor %}{{ messages[0]['content'] }}",
        "{{ raise_exception('no') }}",
        "{% if %}",
        "no place for the user's message",
        "{{ messages[0]['content'] * 2 }}",
        "{{ 1 // 0 }}",
        "{% for a in range(9999) %}{% for b in range(9999) %}{% endfor %}{% endfor %}",
        "{{ 'a' * 10**12 }}",
        "{{ [1] * 10**12 }}",
        "{{ 10 ** 10 ** 10 }}",
        "{{ 10**60 * 10**60 ** 60 }}",
        "{{ '%999999999999d' % 1 }}",
    ],
)
def test_a_template_that_cannot_be_rendered_is_a_model_error(source: str) -> None:
    with pytest.raises(ModelError, match="chat template"):
        read_template(source)
