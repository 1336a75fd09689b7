"""Use the command line from another program: JSON on stdout, one line on stderr, an exit code."""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

AGREEMENTS = Path(__file__).parent / "agreements"
NOTHING_FOUND, NO_INDEX = 1, 2


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        index = str(Path(folder) / "agreements.crx")
        made = crx("index", str(AGREEMENTS), "--index", index, "--embedder", "hashed", "--json")
        print("added:", json.loads(made.stdout)["added"])

        found = crx("search", "notice of six months", "--index", index, "-k", "1", "--json")
        for passage in json.loads(found.stdout)["passages"]:
            print(Path(passage["uri"]).name, passage["lines"], round(passage["score"], 4))

        none = crx("search", "notice", "--index", index, "--where", "lang=ja", "--json")
        print("exit code:", none.returncode, none.returncode == NOTHING_FOUND)

        failed = crx("search", "notice", "--index", str(Path(folder) / "missing.crx"))
        print("exit code:", failed.returncode, failed.returncode == NO_INDEX)


def crx(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a command of crx."""
    command = [sys.executable, "-m", "crx", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


if __name__ == "__main__":
    main()
