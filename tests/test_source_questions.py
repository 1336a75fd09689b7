"""Question sets of source files: the answer is the function without the comment."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parent.parent
PYTHON = '''import os


def boil(kettle):
    """Heat the water in a kettle until it boils. Or not."""
    return kettle.heat(100)


def pour(kettle, cup):
    """Pour hot water from the kettle into a cup."""
    return cup.fill(kettle)
'''
RUST = """use std::fs;

/// Heats the water in a kettle until it boils.
#[inline]
pub fn boil(kettle: &Kettle) -> Water {
    kettle.heat(100)
}
"""


@pytest.fixture
def module(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(ROOT / "benches")
    return import_module("source_questions")


def test_the_answer_of_a_docstring_is_the_function_without_it(module: ModuleType) -> None:
    functions = list(module.python_functions(PYTHON))
    text, spans = module.without_comments(PYTHON, functions)
    answers = [text[start:end] for start, end in spans]
    assert list(zip([each.question for each in functions], answers, strict=True)) == [
        (
            "Heat the water in a kettle until it boils.",
            "def boil(kettle):\n    return kettle.heat(100)",
        ),
        (
            "Pour hot water from the kettle into a cup.",
            "def pour(kettle, cup):\n    return cup.fill(kettle)",
        ),
    ]


def test_the_answer_of_a_doc_comment_is_the_function_without_it(module: ModuleType) -> None:
    (function,) = module.rust_functions(RUST)
    text, ((start, end),) = module.without_comments(RUST, [function])
    assert function.question == "Heats the water in a kettle until it boils."
    assert text[start:end] == RUST[RUST.index("#[inline]") :].rstrip("\n")
    assert text.startswith("use std::fs;\n\n#[inline]")
