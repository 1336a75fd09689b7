"""Documents of a library: five languages, a long one, code, and one that is full of markup."""

from __future__ import annotations

from pathlib import Path

# Runs if any of it is taken for markup: it replaces the title of the page.
ATTACK = (
    "</span></p><script>document.title='owned'</script>"
    "<img src=x onerror=\"document.title='owned'\">"
)

_DOCUMENTS = {
    "whales.md": "---\ndate: 2024-05-01\n---\n# Whales\n\nBlue whales eat krill.\n\n"
    "## Song\n\nHumpbacks sing for hours.\n",
    "wale.md": "# Wale und ihre Nahrung\n\nBlauwale fressen vor allem kleine Krebse, die man auch "
    "krill nennt, und nehmen davon am Tag bis zu vier Tonnen auf.\n",
    "kujira.md": "# 鯨の食べ物\n\nシロナガスクジラはオキアミ (krill) を食べます。\n",
    "hitan.md": "# غذاء الحيتان\n\nتأكل الحيتان الزرقاء الكريل (krill) في المقام الأول.\n",
    "kity.md": "# Пища китов\n\nСиние киты едят в основном криль (krill) в холодных морях.\n",
    "search.py": "def fuse(rankings):\n    return sorted(rankings)\n",
}


def write_documents(folder: Path) -> None:
    """Write the documents into a new folder."""
    folder.mkdir()
    for name, text in _DOCUMENTS.items():
        (folder / name).write_text(text, encoding="utf-8")
    title = ATTACK.replace('"', "'")
    (folder / "hostile.md").write_text(
        f'---\ntitle: "{title}"\nauthor: "{title}"\n---\n# {ATTACK}\n\nA plankton net: {ATTACK}\n'
    )
    lines = "\n".join(f"Entry {n} of the log: sea calm, wind from the west." for n in range(3000))
    (folder / "log.txt").write_text(lines.replace("Entry 2500", "Entry 2500, a narwhal,"))
