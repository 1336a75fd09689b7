"""Vocabulary of a document: the words, numbers and scripts that its contexts may use."""

from __future__ import annotations

import bisect
import itertools
import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Sequence

_DENSE = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
_UNIT = re.compile(rf"[{_DENSE}]|[^\W_{_DENSE}]+")
_IS_DENSE = re.compile(rf"[{_DENSE}]")
# A sentence ends at its mark and a blank, a number's or a name's own point does not; or at a line.
_SENTENCE_END = re.compile(r"(?<=[.!?])[\"'”’»)\]]*\s+|(?<=[。！？])|\n+")


def split_units(text: str) -> list[str]:
    """Return the units of a text in lower case, in order."""
    return _UNIT.findall(text.casefold())


def is_dense(unit: str) -> bool:
    """Return whether a unit is a Han or kana character."""
    return _IS_DENSE.match(unit) is not None


def split_sentences(text: str) -> list[str]:
    """Return the sentences of a text that have a unit."""
    return [part for part in _SENTENCE_END.split(text) if _UNIT.search(part.casefold())]


def ngrams(units: Sequence[str], n: int) -> list[tuple[str, ...]]:
    """Return all runs of n units, in order."""
    return [tuple(units[i : i + n]) for i in range(len(units) - n + 1)]


# Words that say nothing of a chunk: function words, and words that any text can be described by.
#
# A list for each language that prompts and contexts are tested in. Han and kana stand as pairs of
# characters, as contexts are compared.
_ENGLISH = """
a about above according across additionally after again all allow allows along already also
although always am among amount an and another answer answers any appear appears are around
article as aspect aspects at author away back based be became because become been before begin
begins being below besides best better between beyond book both brief briefly but by called came
can cannot chapter chunk chunks clear clearly come comes concept concepts concern concerning
concerns concise contain contained containing contains content contents context contexts could
cover covers describe described describes describing description detail detailed details did
different discuss discussed discusses discussing discussion do document documentation documents
does doing done down during each either else enough ensure ensures especially etc even ever every
example examples excerpt excerpts explain explained explaining explains explanation fact facts few
file find first focus focuses following for form found from further gave general generally get
gets give given gives go goes good guide had has have having he help helps hence her here hers
highlight highlights him his how however i idea ideas identify if important in include included
includes including indeed indicate indicates inform information instead instruction instructions
into introduce introduces introduction involve involves involving is it its itself just keep kept
key kind know known last later least less let lets like likely list listed lists located location
look made main mainly make makes making many may me means mention mentioned mentions might more
most mostly much must my name named namely names near need needs neither never next no nor not
note nothing now number of off often on once one only onto or order other others our out outline
outlines over overall overview own page paragraph part particular particularly passage per perhaps
piece plain please point points present presented presents provide provided provides providing
purpose purposes put question questions quite quotation rather read reader reading really refer
reference references referring refers regarding relate related relates relevant represent
represents respectively respond response retrieval said same say says search second section
sections see seem seems seen sentence sentences set several shall she short should show shows
similar simple simply since single situate situated situates snippet so some something specific
specifically specified start state stated statement states step steps subject succinct such
summarises summarize summarized summarizes summary surrounding take taken takes talk talks tell
tells term terms text texts than that the their them themselves then there thereby therefore these
they thing things third this those though through throughout thus title titled to together too
topic topics toward towards two under understand understanding until up upon us use used useful
user uses using usually various very via was way we well were what when where whether which while
who whole whose why will with within without word words work would write writes writing written
yes yet you your
"""
_FRENCH = """
afin ainsi alors appelé après au aucun aussi autour autre autres aux avait avant avec avoir car ce
ceci cela celle celui ces cet cette ceux chapitre chaque comme comment concerne contenu contexte
contient dans davantage de depuis des document documents donc dont du décrire décrit elle elles en
encore ensemble ensuite entre est et eux exemple explique extrait faire fait général générale il
ils information informations je la le les leur leurs lors lui mais mettre moins même notamment
nous nouvelle ou où page par paragraphe parle partie pas passage pendant peu peut phrase plus
plusieurs pour présent présente qu que quel quelle question qui résumé sa sans se section ses si
soit son sont sous sujet sur texte titre tous tout toute toutes très un une utilise vers voici
voir vous y à été être
"""
_GERMAN = """
aber abschnitt alle allem allen aller alles als also am an andere anderen auch auf aus bei beim
beschreibt beschrieben bis chunk da dabei dadurch dafür damit dann daran darauf darin darüber das
dass dem den der deren des dessen die dies diese diesem diesen dieser dieses dokument dokumente
dokuments durch ein eine einem einen einer eines er erklärt erläutert es etwa falls für ganze
ganzen gegen gesamten gibt haben hat hier ihr ihre im in information informationen inhalt ins ist
jede jeder jedes kann kapitel kein keine kontext können man mehr mit muss nach nicht noch nur ob
oder ohne satz sehr sein seine seite sich sie sind sowie teil text textes thema um und uns unter
vom von vor war was weil weiter welche wenn werden wie wir wird wurde wurden zu zum zur
zusammenfassung zusammenhang zwei zwischen über
"""
_VIETNAMESE = """
bao bày bản bị bởi cho chung chương chứa cung các cách cái câu còn có cùng cũng cảnh cấp cụ của
dung dưới dụng giải giới giữa gồm hay hoặc hơn khi khác không liên liệu là lại mà mô mỗi một mới
mục người ngữ nhiều như nhưng nhất những nào này nên nêu nó nói nội phần qua quan quát ra rất rằng
sau sẽ số sự theo thiệu thuộc thêm thì thích thông thể thứ tin toàn trang trong trên trình trước
tài tóm tôi tại tả tất tập tắt tổng từ tự viết việc và vào vì văn vấn về với yêu đang đi điều đoạn
đây đã đó được đầu đến đề đều để ở
"""
_HAN_AND_KANA = """
本段 这段 一段 段落 本文 文档 文件 文章 文本 内容 部分 章节 一章 本章 一节 本节 片段 上下 下文
信息 介绍 描述 说明 解释 讨论 主要 关于 有关 其中 以及 可以 如何 什么 这个 这些 那些 一个 提供
包括 包含 总结 概述 摘要 整个 问题 位于 用于 进行 的是 了一 個文 文檔 內容 部份 介紹 說明 解釋
この その あの これ それ です ます した する して いる ある から まで より など ため こと もの
よう れて れる られ につ つい いて てい では には とし 文書 説明 概要 全体 情報 記述 述べ
"""

GENERIC_WORDS = frozenset(f"{_ENGLISH} {_FRENCH} {_GERMAN} {_VIETNAMESE} {_HAN_AND_KANA}".split())


# Share of capitalised words above which capitals do not mark names: German prose capitalises a
# third of its words, English prose an eighth.
FREE_CAPITALS = 0.3
# Letters of a word that can be specific; shorter ones are mostly function words and list marks.
SPECIFIC_LETTERS = 3

_WORD = re.compile(r"[^\W\d_]+")
_NUMBER = re.compile(r"\d+(?:[.,\u00a0\u202f’']\d+)*")
_SENTENCE_START = ("", *".!?:;\n。！？：")
# What follows a word in a file name or an identifier, and a word with a capital inside.
_NAME_GOES_ON = re.compile(r"\.\w|_|\(\)")
_INNER_CAPITAL = re.compile(r"[^\W\d_]*[a-z][A-Z]")
_NOT_DIGIT = re.compile(r"\D")

# Names that a context may add: parts of documents, languages, file formats and months.
_COMMON_NAMES = frozenset(
    """
    annex appendix article chapter clause exhibit figure form item note paragraph part schedule
    section table volume chapitre annexe tableau partie chương phần điều mục phụ lục bảng
    english french chinese japanese vietnamese german
    ascii css html java javascript json kotlin python ruby rust scala sql swift toml typescript
    unicode xml yaml
    january february march april may june july august september october november december
    """.split()  # noqa: SIM905
)

# A Han character or a Hangul syllable stands for about three letters.
_SCRIPT_WEIGHTS = {"CJK": 3, "HANGUL": 3}


class DocumentVocabulary:
    """Words, numbers and scripts of a text."""

    def __init__(self, text: str) -> None:
        words = _WORD.findall(text)
        self._words = _COMMON_NAMES | {word.casefold() for word in words}
        self._sorted = sorted(self._words)
        self._units = set(split_units(text))
        self._dense_pairs = set(_dense_pairs(split_units(text)))
        self._initials = "".join(word[0] for word in words if word[0].isupper())
        self._numbers = {_digits(number) for number in _NUMBER.findall(text)}
        self._scripts = _scripts(text)
        self._capitals_mark_names = _share_capitalised(text) < FREE_CAPITALS

    def is_foreign(self, text: str) -> bool:
        """Return whether a text's main script has less than a quarter of the vocabulary."""
        main = max(_scripts(text).items(), key=lambda item: item[1], default=None)
        return main is not None and self._scripts[main[0]] * 4 < sum(self._scripts.values())

    def unknown_numbers(self, text: str) -> Iterator[str]:
        """Yield the numbers of two digits or more that the vocabulary lacks."""
        numbers = (_digits(number) for number in _NUMBER.findall(text))
        return (n for n in numbers if len(n) > 1 and n not in self._numbers)

    def unknown_names(self, text: str) -> Iterator[str]:
        """Yield the capitalised words that the vocabulary lacks in any form.

        At the beginning of a sentence these are file names and identifiers alone. Yields nothing if
        capitals do not mark names in the vocabulary's text (German, legal English).
        """
        if not self._capitals_mark_names:
            return
        for name in _capitalised_names(text):
            if not self._has_form(name.casefold()) and name not in self._initials:
                yield name

    def specific_words(self, text: str, *, outline: str = "") -> set[str]:
        """Return the words of a text that are specific to its part of the document.

        They are in the vocabulary (in any form), not generic, and not in the outline. Of Han and
        kana, pairs of characters count as words.
        """
        units, outlined = split_units(text), split_units(outline)
        words = {unit for unit in units if len(unit) >= SPECIFIC_LETTERS} - set(outlined)
        pairs = set(_dense_pairs(units)) - set(_dense_pairs(outlined))
        known = {word for word in words if word in self._units or self._has_form(word)}
        return (known | pairs & self._dense_pairs) - GENERIC_WORDS

    def specific_share(self, text: str) -> float:
        """Return the share of a text's different words that are in the vocabulary and not generic.

        Han and kana are left out; a text without other words has the share 1.
        """
        words = {unit for unit in split_units(text) if not is_dense(unit)}
        return len(self.specific_words(text) & words) / len(words) if words else 1.0

    def _has_form(self, word: str) -> bool:
        """Return whether the vocabulary has the word, or one that differs in its last letters."""
        if {word, word.removesuffix("s")} & self._words:
            return True
        if len(word) < 4:
            return False
        stem = word[: max(4, len(word) - 3)]
        at = bisect.bisect_left(self._sorted, stem)
        return at < len(self._sorted) and self._sorted[at].startswith(stem)


def _dense_pairs(units: list[str]) -> Iterator[str]:
    return (
        first + second
        for first, second in itertools.pairwise(units)
        if is_dense(first) and is_dense(second)
    )


def _digits(number: str) -> str:
    return _NOT_DIGIT.sub("", unicodedata.normalize("NFKC", number))


def _scripts(text: str) -> Counter[str]:
    """Count letters by script; Han and kana are one, because Japanese mixes them."""
    scripts: Counter[str] = Counter()
    for letter, count in Counter(c for c in text if c.isalpha()).items():
        script = unicodedata.name(letter, "UNKNOWN").split(maxsplit=1)[0]
        script = "CJK" if script.startswith(("HIRAGANA", "KATAKANA")) else script
        scripts[script] += count * _SCRIPT_WEIGHTS.get(script, 1)
    return scripts


def _capitalised_names(text: str) -> Iterator[str]:
    """Yield words of three letters or more that begin with a capital as names do.

    They are inside a sentence, or part of a file name or an identifier.
    """
    for found in _WORD.finditer(text):
        if not (found[0][0].isupper() and len(found[0]) > 2):
            continue
        before = text[: found.start()].rstrip(" \"'“”‘’«»([")
        is_code = _NAME_GOES_ON.match(text, found.end()) or _INNER_CAPITAL.match(found[0])
        if is_code or before[-1:] not in _SENTENCE_START:
            yield found[0]


def _share_capitalised(text: str) -> float:
    words = _WORD.findall(text[:20_000])
    return sum(word[0].isupper() for word in words) / len(words) if words else 0.0
