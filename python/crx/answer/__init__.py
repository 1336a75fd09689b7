"""Answers to questions from passages, with checked citations."""
