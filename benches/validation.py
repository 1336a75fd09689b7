"""Share of good and bad contexts that the validator rejects, with reasons.

Corpus: `tests/context/corpus`, whose documents are either those that the rules were tuned on or
held out. "Different" counts each text once: the model repeats itself. Precision is the share of bad
contexts among the rejected ones, with as many good as bad contexts; contexts labelled fair count as
neither.

    python benches/validation.py [--accepted]

`--accepted` also prints the bad contexts that were accepted and the good ones that were rejected.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parents[1] / folder) for folder in ("python", "tests/support")]

from validation_corpus import select_contexts, share_rejected  # noqa: E402


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--accepted", action="store_true", help="print the errors, too")
    args = parser.parse_args()
    print(
        "| documents | bad | rejected | different texts | rejected | good | rejected | precision |"
    )
    print("|---|---:|---:|---:|---:|---:|---:|---:|")
    for held_out in (False, True):
        print_row(held_out=held_out)
    for held_out in (False, True):
        reasons = Counter(c.reason or "accepted" for c in select_contexts("bad", held_out=held_out))
        counts = ", ".join(f"{reason} {n}" for reason, n in reasons.most_common())
        print(f"\n{name_half(held_out=held_out)}: {counts}")
        if args.accepted:
            print_errors(held_out=held_out)


def print_row(*, held_out: bool) -> None:
    """Print the figures of one half of the documents."""
    bad = select_contexts("bad", held_out=held_out)
    good = select_contexts("good", held_out=held_out)
    different = list({each.text: each for each in bad}.values())
    recall, lost = share_rejected(bad), share_rejected(good)
    cells = [
        name_half(held_out=held_out),
        f"{len(bad)}",
        f"{recall:.1%}",
        f"{len(different)}",
        f"{share_rejected(different):.1%}",
        f"{len(good)}",
        f"{lost:.1%}",
        f"{recall / (recall + lost):.1%}",
    ]
    print(f"| {' | '.join(cells)} |")


def print_errors(*, held_out: bool) -> None:
    """Print bad contexts that were accepted, good ones that were rejected, and the fair ones."""
    for each in select_contexts("bad", held_out=held_out):
        if not each.reason:
            print(f"  accepted: {each.text!r}")
    for each in select_contexts("good", held_out=held_out):
        if each.reason:
            print(f"  {each.reason}: {each.text!r}")
    for each in select_contexts("fair", held_out=held_out):
        print(f"  fair, {each.reason or 'accepted'}: {each.text!r}")


def name_half(*, held_out: bool) -> str:
    """Return the name of one half of the documents."""
    return "held out" if held_out else "tuned on"


if __name__ == "__main__":
    main()
