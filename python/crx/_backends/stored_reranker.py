"""What a reranker of the model store says of itself."""

from __future__ import annotations

from crx._models.card import ModelCard


class StoredReranker:
    """A reranker of the model store, described by its card; `score` is the subclass's."""

    card: ModelCard

    @property
    def fingerprint(self) -> str:
        return f"onnx:{self.card.fingerprint}"

    @property
    def languages(self) -> tuple[str, ...]:
        """ISO 639-1 codes of the languages that the model declares; empty if it declares none."""
        return self.card.languages
