"""Encodings: texts in those of other times and systems, and the labels that pages give them."""

from __future__ import annotations

import gzip
import hashlib

import pytest

from crx.errors import InputError, NotText
from crx.ingest.read import read_bytes
from crx.ingest.readers.decode import decode, detect_encodings, require_charset

GERMAN = "Der Zug nach Köln fährt über Düsseldorf.\nDie Straße ist für größere Wagen gesperrt.\n"
POLISH = "Komisja obejrzała dwanaście mostów i dwie przeprawy na Wiśle.\nMłyn stoi w mieście.\n"
CZECH = "Šťastný pes běžel přes most ke starému mlýnu, kde žila řada kachen.\n"
RUSSIAN = "Поезд в город отправляется утром и прибывает вечером.\n"
UKRAINIAN = "Потяг до міста їде вранці, а ввечері приїжджає назад із людьми.\n"
TABLE = "┌──────┬──────┐\n│{}│{}│\n├──────┼──────┤\n│ {} │ {} │\n└──────┴──────┘\n"


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        (GERMAN, "cp850"),
        (GERMAN, "mac_roman"),
        (POLISH, "iso8859_2"),
        (POLISH, "cp1250"),
        (POLISH, "cp852"),
        (CZECH, "iso8859_2"),
        ("Příliš žluťoučká loď stála u mola. Přístav je zavřený v neděli.", "iso8859_2"),
        ("Příliš žluťoučký kůň úpěl ďábelské ódy", "cp1250"),
        ("Příliš žluťoučký kůň úpěl ďábelské ódy", "cp852"),
        ("Grüße aus Kiel", "cp1252"),
        ("Réunion à Genève", "cp1252"),
        ("Größe und Straße in Köln", "cp1252"),
        ("Şehir: Eskişehir", "cp1254"),
        ("Doğu ve Batı", "cp1254"),
        ("Það er ekki gott veður í dag", "cp1252"),
        ("Müller & Guðjohnsen GmbH, Köln", "cp1252"),
        ("Old English þ and ð", "cp1252"),
        ("\x1b[31mFehler\x1b[0m: Größe ungültig\n", "cp1252"),
        ("Мощность 5 kВт, файл PDF открыт", "cp1251"),
        ("PDFを開く。WiFi接続の説明です。", "cp932"),
        ("A社とB社", "cp932"),
        ("A公司，B公司", "gb18030"),
        ("Größe L", "cp1252"),
        ("open文file件", "gb18030"),
        ("設定a値b", "cp932"),
        ("Ответы: 1 а, 2 б, 3 в, 4 г, 5 а, 6 б, 7 в", "cp1251"),
        ("Ответы: 1 а, 2 б, 3 в, 4 г, 5 а, 6 б, 7 в", "koi8_r"),
        ("1-а\n2-б\n3-в\n4-г\n", "cp1251"),
        ("Απαντήσεις: 1 α, 2 β, 3 γ, 4 δ", "cp1253"),
        (TABLE.format("Größe ", "Straße", "Köln", "über"), "cp850"),
        (TABLE.format("Город ", "Поезд ", "Омск", "утро") + RUSSIAN, "koi8_r"),
        (TABLE.format("Город ", "Поезд ", "Омск", "утро") + RUSSIAN, "cp866"),
        ("C:.\n├───docs\n│   └───img\n└───tests\n", "cp437"),
        (RUSSIAN, "koi8_r"),
        (RUSSIAN, "cp866"),
        (RUSSIAN, "iso8859_5"),
        (RUSSIAN, "mac_cyrillic"),
        (RUSSIAN, "utf-16-le"),
        (RUSSIAN, "utf-32-be"),
        (UKRAINIAN, "koi8_u"),
        (UKRAINIAN, "cp1251"),
        ("倉庫の鍵は机の引き出しにあります。ご注意ください。\n", "euc_jp"),
        ("仓库的钥匙在抽屉里，请明天还给办公室。\n", "gb18030"),
        ("창고 열쇠는 책상 서랍 안에 있습니다.\n", "iso2022_kr"),
        ("The warden’s note: “closed”", "cp1252"),
        ("Ferry ticket: € 25\nParking: € 8\n", "cp1252"),
        ("• oars\n• anchor\n• lifebelt\n", "cp1252"),
        ("Sail area ¾ of the old one, 12° heel", "cp1252"),
        ("Vuelva mañana temprano", "cp1252"),
        ("MARÉE BASSE\nQUAI FERMÉ\n", "cp1252"),
        ("ŁÓDKA DO WYNAJĘCIA\nPRZYSTAŃ ZAMKNIĘTA\n", "cp1250"),
        ("ŁÓDKA DO WYNAJĘCIA\nPRZYSTAŃ ZAMKNIĘTA\n", "iso8859_2"),
        ("ПАРОХОД ИДЁТ ПО РЕКЕ\nПРИСТАНЬ ЗАКРЫТА\n", "cp1251"),
        ("これはとてもおいしかったです", "cp932"),
        ("これはとてもおいしかったです", "euc_jp"),
        ("港口今天关闭。", "hz"),
        ("船は三時に港を出ます。切符は売店で買えます。\n", "utf-16-le"),
        ("船は三時に港を出ます。切符は売店で買えます。\n", "utf-16-be"),
        ("轮渡三点离开港口，请在售票处买票。\n", "utf-16-le"),
        ("Նավը նավահանգստից դուրս կգա ժամը երեքին։\n", "utf-16-le"),
        ("नाव तीन बजे बंदरगाह से निकलती है।\n", "utf-16-be"),
        ("படகு மூன்று மணிக்கு துறைமுகத்தை விட்டுச் செல்கிறது.\n", "utf-16-le"),
        ("ნავი სამ საათზე ტოვებს ნავსადგურს.\n", "utf-32-le"),
        ("ጀልባው በሦስት ሰዓት ወደቡን ይለቃል።\n", "utf-16-le"),
        ("ទូក\u200bចាកចេញ\u200bពី\u200bកំពង់ផែ\u200bនៅ\u200bម៉ោង\u200bបី\n", "utf-16-le"),
        ("Tàu rời bến cảng lúc ba giờ chiều ở phố cổ.\n", "utf-32-be"),
        ("The letter 𐌰 opens the alphabet of the Goths.\n", "utf-32-le"),
    ],
)
def test_a_few_lines_are_enough_to_tell_the_encoding(text: str, encoding: str) -> None:
    assert decode(text.encode(encoding)).text == text


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        ("倉庫の鍵は机の引き出しにあります", "cp932"),
        ("仓库的钥匙在抽屉里请明天还给办公室", "gb18030"),
        ("창고열쇠는책상서랍안에있습니다", "cp949"),
    ],
)
@pytest.mark.parametrize("at", [0, 4, 99])
def test_a_nul_in_a_text_does_not_make_it_utf_16(text: str, encoding: str, at: int) -> None:
    data = text.encode(encoding)
    assert decode(data[:at] + b"\0" + data[at:]).text.replace(" ", "") == text


@pytest.mark.parametrize("loop", ["<~a>", ":~A;", "~a~^", "<li>~A</li>", "word", "path"])
def test_a_loop_in_a_format_of_lisp_is_ascii(loop: str) -> None:
    text = f'(format t "~{{{loop}~}}" names)\n'
    assert decode(text.encode()).text == text


def test_a_detector_is_asked_for_few_encodings_of_a_text_in_capitals(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked = []

    def detect(sample: bytes) -> dict[str, float]:
        asked.append(sample)
        return detect_encodings(sample)

    monkeypatch.setattr("crx.ingest.readers.decode.detect_encodings", detect)
    text = "ŁÓDKA DO WYNAJĘCIA\nPRZYSTAŃ ZAMKNIĘTA\n"
    assert decode(text.encode("cp1250")).text == text
    assert len(asked) <= 4


def test_a_log_is_read_on_behind_what_a_disk_never_wrote() -> None:
    log = b"09:14 pump on\n" + bytes(4096) + b"09:31 pump off\n"
    assert decode(log).text == "09:14 pump on\n09:31 pump off\n"


def test_a_log_in_two_encodings_is_read_line_by_line() -> None:
    lines = ["Schleuse geöffnet\n", "Fähre fährt ab\n", "Brücke gesperrt\n", "Tor läuft an\n"]
    log = b"".join(
        line.encode("utf-8" if number % 2 else "cp1252") for number, line in enumerate(lines)
    )
    assert decode(log).text == "".join(lines)


def test_the_second_encoding_of_a_log_may_begin_late() -> None:
    german, text = "Die Fähre fährt um 9 Uhr\n", "Die Schleuse ist geöffnet und läuft\n"
    log = german.encode("utf-8") * 8_000 + text.encode("cp1252") * 3_000
    assert decode(log).text == german * 8_000 + text * 3_000


def test_utf_16_that_was_cut_within_a_letter_is_read_up_to_there() -> None:
    decoded = decode("Crème brûlée à volonté\n".encode("utf-16-le") + b"\n")
    assert (decoded.text, decoded.undecodable) == ("Crème brûlée à volonté\n\ufffd", 1)


def test_the_encoding_of_a_long_text_is_that_of_its_first_lines_beyond_ascii() -> None:
    text = "plain words\n" * 20_000 + CZECH
    assert decode(text.encode("iso8859_2")).text == text


@pytest.mark.parametrize("end", ["\n", " "])
def test_words_of_two_scripts_are_told_apart_behind_many_plain_words(end: str) -> None:
    text = f"The quick brown fox jumps.{end}" * 700 + "la forêt brûle"
    assert decode(text.encode("cp850")).text == text


@pytest.mark.parametrize(
    ("label", "charset"),
    [
        ("ISO-8859-1", "cp1252"),
        ("us-ascii", "cp1252"),
        ("latin5", "cp1254"),
        ("gb2312", "gb18030"),
        ("ks_c_5601-1987", "cp949"),
        ("shift_jis", "cp932"),
        ("x-mac-cyrillic", "mac-cyrillic"),
        ("tis-620", "cp874"),
        (" KOI8 ", "koi8-r"),
        ("cp850", "cp850"),
        ("utf-7", "utf-7"),
    ],
)
def test_a_label_means_what_it_means_to_browsers(label: str, charset: str) -> None:
    assert require_charset(label) == charset


@pytest.mark.parametrize("label", ["", "x-none", "punycode", "rot13", "hex", "unicode_escape"])
def test_what_is_no_character_set_is_no_label(label: str) -> None:
    with pytest.raises(LookupError):
        require_charset(label)


def test_a_page_in_latin_1_has_the_quotes_and_the_euro_of_windows() -> None:
    page = "<meta charset=iso-8859-1><p>The “fare” is 7 € – cash".encode("cp1252")
    (document,) = read_bytes(page, name="a.html")
    assert document.text == "The “fare” is 7 € – cash"


def test_a_page_of_ascii_that_declares_utf_16_is_ascii() -> None:
    page = b"<meta charset=utf-16><p>A caf\xe9 at the pier, closed on Sundays"
    (document,) = read_bytes(page, name="a.html")
    assert document.text == "A café at the pier, closed on Sundays"


@pytest.mark.parametrize(
    "data",
    [
        bytes(range(256)) * 8,
        b"\x89PNG\r\n\x1a\n" + bytes(range(64)) * 20,
        hashlib.shake_256(b"a").digest(4_000),
        gzip.compress(RUSSIAN.encode() * 20),
    ],
)
def test_other_bytes_are_no_text(data: bytes) -> None:
    with pytest.raises((NotText, InputError), match=r"binary|picture|gzip"):
        list(read_bytes(data, name="a.txt"))


def test_a_text_in_an_encoding_that_python_cannot_decode_is_not_taken_for_another() -> None:
    taiwan = bytes.fromhex(
        "e8b7d5f3f3a8c7e3d1d3dfe6c4a1c4b8c5a9c4a6f6b5e2e4cfdca1a2fbf4cfafe2fcfaeddaa7f8fd"
        "c7b5a1a4f3a8c4f9e5dbc5cfe3a3d3faead8debfecb7a1a2d4acd5f3dfe6d3eed2b3c4b5c4b2c5b2"
        "a1a4fafdd4ace2fccdf5ccafdfe6d0a9f2d6dca1a1a2e7b7dfe6cae4c5caeac8e0a1c4ecc4f7a1a4"
    )
    with pytest.raises(InputError, match="is in an unknown encoding; convert it to utf-8"):
        list(read_bytes(taiwan, name="a.txt"))


@pytest.mark.parametrize(
    ("system", "encoding"),
    [(r"\mac", "mac_roman"), (r"\mac\ansicpg10000", "mac_roman"), (r"\pc", "cp437")],
)
def test_rich_text_of_other_systems_is_in_their_encodings(system: str, encoding: str) -> None:
    words = "".join(f"\\'{byte:02x}" for byte in "Größe".encode(encoding))
    (document,) = read_bytes(f"{{\\rtf1{system} {words}\\par}}".encode(), name="a.rtf")
    assert document.text == "Größe"
