"""The net under readers: what fails is left out and named."""

from __future__ import annotations

import pytest

from crx.errors import InputError
from crx.ingest.readers.left_out import LeftOut


def fail() -> str:
    raise IndexError("tuple index out of range")


def refuse() -> str:
    raise InputError("is a picture")


def test_what_an_improvement_returns_is_taken() -> None:
    left_out = LeftOut()
    assert left_out.attempt("notes", lambda: "improved", plain="plain") == "improved"
    assert not left_out
    assert left_out.metadata() == {}


def test_an_improvement_that_fails_gives_the_plain_form_and_is_named_with_its_reason() -> None:
    left_out = LeftOut()
    assert left_out.attempt("notes", fail, plain="plain") == "plain"
    assert left_out.attempt("chapter 3", refuse, plain="") == ""
    assert left_out.metadata() == {
        "left_out": ["notes", "chapter 3"],
        "left_out_reasons": ["IndexError: tuple index out of range", "is a picture"],
    }


def test_what_fails_on_each_page_is_named_once() -> None:
    left_out = LeftOut()
    for _ in range(3):
        left_out.attempt("notes", fail, plain="")
    assert left_out.metadata()["left_out"] == ["notes"]


def test_of_many_names_the_first_are_listed_and_the_others_counted() -> None:
    left_out = LeftOut()
    for number in range(1000):
        left_out.add(f"chapter {number}", "is a picture")
    metadata = left_out.metadata()
    listed = [f"chapter {number}" for number in range(20)]
    assert metadata["left_out"] == [*listed, "980 more"]
    assert metadata["left_out_reasons"] == ["is a picture"] * 20 + [""]


def test_a_reason_is_one_short_line() -> None:
    left_out = LeftOut()
    left_out.add("notes", "first\nsecond " + "x" * 1000)
    assert left_out.metadata()["left_out_reasons"] == ["first second " + "x" * 187]


def test_an_interrupt_is_none_of_these_failures() -> None:
    def interrupt() -> str:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        LeftOut().attempt("notes", interrupt, plain="")


def test_a_panic_of_the_core_is_one_of_them() -> None:
    class PanicException(BaseException):  # as pyo3 names it
        pass

    def panic() -> str:
        raise PanicException("index out of bounds")

    left_out = LeftOut()
    assert left_out.attempt("notes", panic, plain="plain") == "plain"
    assert left_out.metadata()["left_out"] == ["notes"]
