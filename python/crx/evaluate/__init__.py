"""What each step of retrieval brings, measured on questions with known answers."""

from crx.evaluate.run import LegFigures, RunFigures, run
from crx.evaluate.sets import Gold, Place, Query, QuestionSet, read_set

__all__ = [
    "Gold",
    "LegFigures",
    "Place",
    "Query",
    "QuestionSet",
    "RunFigures",
    "read_set",
    "run",
]
