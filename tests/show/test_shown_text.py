"""Text that was shown before, in other lines."""

from __future__ import annotations

from crx._show.shown_text import shown_shares, text_ngrams


def test_text_is_shown_however_its_lines_break() -> None:
    shown = text_ngrams(["whales eat four tonnes of krill", "a day in the cold seas"])
    rows = ["whales eat", "four tonnes of krill a day", "in the cold seas", "seals sing"]
    assert shown_shares(rows, shown) == [1.0, 1.0, 1.0, 0.0]


def test_a_row_of_which_a_part_was_shown_has_its_share() -> None:
    shown = text_ngrams(["abcdefghijklmnop"])
    assert shown_shares(["abcdefghijklmnop ABCDEFGHIJKLMNOP"], shown) == [0.5]


def test_a_few_characters_are_not_told_from_chance() -> None:
    assert shown_shares(["the seas", ""], text_ngrams(["the seas"])) == [0.0, 0.0]
