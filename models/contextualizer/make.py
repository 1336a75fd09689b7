"""Fine-tune SmolLM2-135M-Instruct to write the contexts of groups: examples, training, GGUF.

    pip install torch gguf "crx[llama]"
    crx models pull smollm2
    python models/contextualizer/make.py --documents FILE --start GGUF --work DIR

FILE holds documents with contexts as JSON lines, GGUF is the file of the model to start from. DIR
is for checkpoints, the log and the results, tuned.q8_0.gguf and tuned.q4_0.gguf. A run that was
stopped continues.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import torch
from examples import Tokens, make_examples, read_documents
from export import check, export
from train import Recipe, train


def main() -> None:
    parser = argparse.ArgumentParser(description="build crx's contextualizer")
    parser.add_argument("--documents", type=Path, required=True, help="documents as JSON lines")
    parser.add_argument("--start", type=Path, required=True, help="GGUF file to start from")
    parser.add_argument("--work", type=Path, required=True, help="folder of the results")
    parser.add_argument("--minutes", type=float, default=Recipe().minutes)
    parser.add_argument("--threads", type=int, default=2)
    given = parser.parse_args()
    torch.set_num_threads(given.threads)
    tokens = Tokens(given.start)
    documents = read_documents(given.documents)
    examples = [example for each in documents for example in make_examples(each, tokens)]
    network = train(given.start, examples, given.work, Recipe(minutes=given.minutes))
    held = [example for example in examples if example.held_out]
    for kind in ("q8_0", "q4_0"):
        out = given.work / f"tuned.{kind}.gguf"
        export(network, start=given.start, out=out, kind=kind)
        print(f"{out}: {check(out, held[:4])}")


if __name__ == "__main__":
    main()
