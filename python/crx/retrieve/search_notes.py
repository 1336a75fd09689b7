"""Notes on a search for words that no document has."""

from crx.types import Note

# Told before what is found.
NEAR_IN_MEANING = Note("no document has these words; what is found is near in meaning", "near")
NOTHING_NEAR = Note(
    "nothing found: no document has these words, and none is near in meaning", "nothing"
)
NO_SUCH_WORDS = Note("nothing found: no document has these words", "nothing")
# Of an index of which a part is not searched yet.
NO_SUCH_WORDS_YET = Note(
    "nothing found: no document that can be searched yet has these words", "nothing"
)
QUERY_WITHOUT_WORD = Note(
    "nothing found: the query has no word; a search for a literal text (--literal) finds it",
    "nothing",
)


def parts_alone(word: str) -> Note:
    """Return the note that no document has an identifier or a code, whose parts are found."""
    return Note(f'no document has "{word}"; what is found has parts of it', "query")
