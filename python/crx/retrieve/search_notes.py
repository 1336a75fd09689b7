"""Notes on a search for words that no document has; the first is told before what is found."""

NEAR_IN_MEANING = "no document has these words; what is found is near in meaning"
NOTHING_NEAR = "nothing found: no document has these words, and none is near in meaning"
NO_SUCH_WORDS = "nothing found: no document has these words"
# Of an index of which a part is not searched yet.
NO_SUCH_WORDS_YET = "nothing found: no document that can be searched yet has these words"
NO_WORD = "nothing found: the query has no word; a search for a literal text (--literal) finds it"


def parts_alone(word: str) -> str:
    """Return the note that no document has an identifier or a code, whose parts are found."""
    return f'no document has "{word}"; what is found has parts of it'
