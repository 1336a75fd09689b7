"""A word as it is written finds the text that holds it, whatever the languages of the index."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import crx

TEXTS = {
    "de": "Die Kommission prüfte zwölf Stege und zwei Schiffe der Stadt. An der alten Mühle wurden "
    "Risse im dritten Pfeiler gefunden, für Lastwagen gilt eine Beschränkung.",
    "en": "The workers of the service are restarted when one of them is gone for a minute.",
    "fr": "Les événements de la semaine sont décrits dans les journaux de la mairie.",
    "tr": "Kitapları kütüphaneye götürdüm ama ışıklar kapalı olduğu için ILIK bir gün bekledim.",
    "hi": "लड़कों ने किताबें पढ़ीं और क़लम से भाषाओं के बारे में २०२६ शब्द लिखे।",
    "ar": "قرأنا كِتَابًا عن الأندلس في مكتبة المدينة مع الطلاب.",
    "fa": "علی به مدرسه می‌رود و یک دفتر خرید.",
    "th": "ร้านอาหารอยู่ใกล้สถานีรถไฟฟ้า",
    "vi": "Hợp đồng thuê nhà hết hạn vào cuối tháng này.",
    "ru": "Мы прочитали книги о городах и реках.",
    "note": "Deploying services, restarting workers.",
    "list": "Rechnungen bezahlen, Zahnärztin anrufen",
    "mixed": "Der Parser liest sqlite3_step, 東京 und книги beside οδοί.",
}
WORD = re.compile(r"[\w\u0900-\u097f\u0e00-\u0e7f\u064b-\u0652\u200c]{2,}")


@pytest.mark.parametrize(
    "names", [("de", "note", "list"), ("hi", "en"), ("tr", "list"), tuple(TEXTS)]
)
def test_every_word_finds_its_text(tmp_path: Path, names: tuple[str, ...]) -> None:
    for name in names:
        (tmp_path / f"{name}.md").write_text(TEXTS[name], encoding="utf-8")
    index = crx.open(tmp_path / "notes.crx", settings={"embedder": "none"})
    index.add(tmp_path)
    for name in names:
        for word in WORD.findall(TEXTS[name]):
            found = {hit.uri.rsplit("/", 1)[-1] for hit in index.search(word, k=50).hits}
            assert f"{name}.md" in found, word


@pytest.mark.parametrize(
    "text", ["南極海で鯨を見た。", "정부는 고래를 보호한다.", "他昨天看見一頭鯨魚。"]
)
def test_every_character_of_a_script_without_spaces_finds_its_text(
    tmp_path: Path, text: str
) -> None:
    (tmp_path / "note.md").write_text(text, encoding="utf-8")
    (tmp_path / "other.md").write_text("Nothing of it stands here.", encoding="utf-8")
    index = crx.open(tmp_path / "notes.crx", settings={"embedder": "none"})
    index.add(tmp_path)
    for character in re.findall(r"\w", text):
        assert index.search(character).hits[0].uri.endswith("note.md"), character


def test_short_texts_are_in_the_language_of_the_index(tmp_path: Path) -> None:
    for number in range(5):
        (tmp_path / f"{number}.md").write_text(TEXTS["en"] + f" It is page {number} of the manual.")
    (tmp_path / "short.md").write_text("PRAGMA sets the locking mode.")
    index = crx.open(tmp_path / "notes.crx", settings={"embedder": "none"})
    index.add(tmp_path)
    hits = index.search("locking mode", where={"lang": "en"}).hits
    assert [Path(hit.uri).name for hit in hits][:1] == ["short.md"]
