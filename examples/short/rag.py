"""A question, an answer with citations, and another question."""

from pathlib import Path
from tempfile import TemporaryDirectory

import crx

AGREEMENTS = Path(__file__).parents[1] / "agreements"

with TemporaryDirectory() as folder, crx.open(Path(folder) / "agreements.crx") as index:
    index.add(AGREEMENTS)
    for question in ("who pays for repairs of the office?", "when are invoices paid?"):
        answer = index.ask(question, k=3, with_="fake:")  # or ollama:NAME, claude:
        print(answer.text)
        for cited in answer.citations:
            print(f"  [{cited.number}] {Path(cited.uri).name}, line {cited.line}")
