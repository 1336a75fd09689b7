"""Evaluation of retrieval on questions with known answers, one pipeline step at a time."""

from crx.evaluate.ablate import ablate, measure
from crx.evaluate.datasets import Gold, GoldSpan, Query, QuestionSet, read_set
from crx.evaluate.experiment import Options
from crx.evaluate.pipeline_config import PipelineConfig
from crx.evaluate.quotes import read_questions
from crx.evaluate.results import Results, load, save
from crx.evaluate.run import run
from crx.evaluate.statistics import Difference, difference

__all__ = [
    "Difference",
    "Gold",
    "GoldSpan",
    "Options",
    "PipelineConfig",
    "Query",
    "QuestionSet",
    "Results",
    "ablate",
    "difference",
    "load",
    "measure",
    "read_questions",
    "read_set",
    "run",
    "save",
]
