"""Notes on a search for words that no document has; the first is told before what is found."""

NEAR_IN_MEANING = "no document has these words; what is found is near in meaning"
NOTHING_NEAR = "nothing found: no document has these words, and none is near in meaning"
NO_SUCH_WORDS = "nothing found: no document has these words"
NO_WORD = "nothing found: the query has no word; a search for a literal text (--literal) finds it"
