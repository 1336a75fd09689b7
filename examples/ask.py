"""Have a generator answer from the passages that a search finds, and check what it cites.

`fake:` quotes the first sentences of the passages. Name a real model instead, such as
`llama:model.gguf`, or pass an object with the three members of `Shout`.
"""

import tempfile
from collections.abc import Iterator
from pathlib import Path

import crx

AGREEMENTS = Path(__file__).parent / "agreements"
QUESTION = "who pays for repairs of the office?"


class Shout:
    """A generator that answers in capitals, from the first source."""

    fingerprint = "shout:1"

    def generate(self, prompt: str, *, prefix: str = "") -> Iterator[str]:
        yield "THE TENANT PAYS "
        yield "FOR SMALL REPAIRS [1]."

    def close(self) -> None:
        """Nothing is held."""


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        settings = {"embedder": "hashed", "chunk_chars": 260}
        with crx.open(Path(folder) / "agreements.crx", settings=settings) as index:
            index.add(AGREEMENTS)
            for generator in ("fake:", Shout()):
                prompt = index.prompt(QUESTION, k=2, window=0)
                answer = index.ask(prompt, with_=generator)
                print(answer.text)
                for citation in answer.citations:
                    print(f"  [{citation.number}] {Path(citation.uri).name}:{citation.lines}")


if __name__ == "__main__":
    main()
