"""Evaluation of retrieval on questions with known answers, one pipeline step at a time."""

from crx_evaluate.ablate import ablate, measure
from crx_evaluate.datasets import Gold, GoldSpan, Query, QuestionSet, read_set
from crx_evaluate.experiment import Options
from crx_evaluate.pipeline_config import PipelineConfig
from crx_evaluate.quotes import read_questions
from crx_evaluate.results import Results, load, save
from crx_evaluate.run import run
from crx_evaluate.statistics import Difference, difference

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
