"""What each step of retrieval brings, measured on questions with known answers."""

from crx.evaluate.ablate import Options, ablate, measure
from crx.evaluate.configuration import Configuration
from crx.evaluate.datasets import Gold, GoldSpan, Query, QuestionSet, read_set
from crx.evaluate.results import Results, load, save
from crx.evaluate.run import run
from crx.evaluate.statistics import Difference, difference

__all__ = [
    "Configuration",
    "Difference",
    "Gold",
    "GoldSpan",
    "Options",
    "Query",
    "QuestionSet",
    "Results",
    "ablate",
    "difference",
    "load",
    "measure",
    "read_set",
    "run",
    "save",
]
