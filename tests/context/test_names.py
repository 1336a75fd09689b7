"""Proper names of the opening of a document."""

from __future__ import annotations

import pytest

from crx._context.names import proper_names


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("OBJECTIVE To examine whether Novartis paid.", ["Novartis"]),
        ("METHODS The patients of Charité Berlin were asked.", ["Charité Berlin"]),
        ("We inhibit PI3K. In HER2 cells of Basel nothing happened.", ["PI3K", "Basel"]),
        ("It says that the ADGM, FSMR, Nothing, Rule 3 and Schedule A apply.", ["ADGM", "FSMR"]),
        ("They met at the Bank of England. Everyone knew.", ["Bank of England"]),
        ("A letter of the UN Office to J. Smith.", ["UN Office", "J. Smith"]),
    ],
)
def test_a_name_crosses_no_heading_and_no_sentence(text: str, names: list[str]) -> None:
    assert proper_names(text) == names
