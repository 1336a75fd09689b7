"""Documents in English and Chinese, with metadata, headings and pages."""

from __future__ import annotations

from pathlib import Path

import crx
from crx.types import Document, Mark

_PAGES = Path(__file__).parents[2] / "docs"
_CHINESE = """龙头山位于云南省东北部，海拔两千八百米。山上有一座建于明代的寺庙，寺中藏有许多经书。
每年春天，附近的村民上山祭祀，祈求丰收。二〇一四年的地震毁坏了寺庙的大部分建筑。
地震以后，政府用三年时间修复了寺庙，并且修建了一条通往山顶的公路。
现在每年大约有十万名游客来到龙头山，旅游业成为当地的主要收入来源。

黑豹队是一支职业橄榄球队，主场位于夏洛特。球队的防守在二〇一五年赛季只失了三百零八分。
四分卫带领进攻组得到了五百分，球队以十五胜一负的成绩进入季后赛。
"""


def make_folder(path: Path) -> Path:
    """Make an index folder of the documents, and return it."""
    with crx.open(path, settings={"embedder": "hashed", "chunk_chars": 400}) as index:
        index.add_documents(make_documents())
    return path


def make_documents() -> list[Document]:
    """Return the pages of the documentation, and some in Chinese."""
    pages = sorted(_PAGES.rglob("*.md"))[:12]
    english = [
        Document(
            uri=f"doc:{path.stem}",
            title=path.stem,
            text=text,
            lang="en",
            metadata={"year": 2010 + at, "tags": ["page", f"n{at % 3}"], "draft": at % 2 == 0},
            marks=(
                Mark("page", 0, len(text) // 2, "1"),
                Mark("page", len(text) // 2, len(text), "2"),
            ),
        )
        for at, path in enumerate(pages)
        if (text := path.read_text(encoding="utf-8").strip()[:9000])
    ]
    chinese = [
        Document(
            uri=f"doc:zh{at}#part", title="龙头山", text=text * 3, lang="zh", metadata={"year": at}
        )
        for at, text in enumerate((_CHINESE, _CHINESE[::-1]))
    ]
    return [*english, *chinese]
