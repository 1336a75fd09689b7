"""Passages that are copies: which are folded, and which are printed."""

from __future__ import annotations

from dataclasses import replace

from crx._show.copies import copy_uris, describe_copies, fold_copies, leave_out_copies
from crx.types import Hit, Passage

FIRST = "Whales eat four tonnes of krill a day in the cold seas of the south pole. "
SECOND = "Seals sing below the ice for hours and hear each other from far away. "


def make_passage(uri: str, *chunks: str) -> Passage:
    """Return a passage whose hits are these chunks, best first."""
    text = "".join(chunks)
    hits = tuple(
        Hit(
            at,
            1.0,
            uri,
            uri,
            0,
            text.index(chunk),
            text.index(chunk) + len(chunk),
            chunk,
            "",
            "",
            {},
        )
        for at, chunk in enumerate(chunks, start=1)
    )
    return Passage(uri, uri, 0, len(text), text, 1.0, 9, hits)


def test_a_passage_whose_best_chunk_an_earlier_one_holds_is_folded_into_it() -> None:
    page, book, other = (
        make_passage("page.html", FIRST, SECOND),
        make_passage("book.pdf", SECOND.replace(" ", "\n")),
        make_passage("other.txt", "Krill is small, red and lives for six years in all the seas."),
    )
    folded = fold_copies([page, book, other])
    assert [(each.passage, each.others) for each in folded] == [(page, (book,)), (other, ())]


def test_a_passage_with_more_text_than_an_earlier_one_is_shown_too() -> None:
    short, long = make_passage("a.txt", FIRST), make_passage("b.txt", SECOND, FIRST)
    assert [each.passage for each in fold_copies([short, long])] == [short, long]


def test_copies_are_left_out_with_a_note_that_counts_them() -> None:
    page, book, other = (
        make_passage("page.html", FIRST, SECOND),
        make_passage("book.pdf", SECOND.replace(" ", "\n")),
        make_passage("other.txt", "Krill is small, red and lives for six years in all the seas."),
    )
    kept = leave_out_copies([page, book, other])
    assert kept == [page, other]
    assert describe_copies([page, book, other], kept) == ("a copy of a passage is left out",)
    assert describe_copies(kept, kept) == ()


def test_a_passage_with_a_word_of_the_query_that_the_earlier_one_lacks_is_shown_too() -> None:
    first, second = (
        make_passage("a.txt", FIRST + "Seen by Ann."),
        make_passage("b.txt", FIRST + "Seen by Bea."),
    )
    assert len(fold_copies([first, second], query="krill seen by")) == 1
    assert len(fold_copies([first, second], query="krill seen by Bea")) == 2


def test_what_is_like_a_passage_is_counted_and_named() -> None:
    page, book = make_passage("page.html", FIRST, SECOND), make_passage("book.pdf", SECOND)
    hit = replace(book.hits[0], copies=2, also_in=("mirror.pdf", "page.html"))
    (folded,) = fold_copies([page, replace(book, hits=(hit,))])
    assert folded.count == 3
    assert copy_uris(folded) == ["book.pdf", "mirror.pdf"]
