"""Validation of answers: every rule with answers that it rejects and one that it accepts."""

from __future__ import annotations

import tracemalloc
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crx._services.prompt import Prompt
from crx.types import Chunk, Context, Document, Mark
from crx_contexts.validate import MAX_CHARS, ContextValidator, tidy

CHUNK_TEXT = "Revenue grew by 3% over the previous quarter, driven by orders from hospitals."
TEXT = f"""ACME Corp filed this report with Berlin's regulator on 30 June 2023.
Its auditor is O'Brien.
In the first quarter revenue was $314 million and headcount 1,250.
{CHUNK_TEXT}
As an aside, the chairman said that he cannot find the key to the archive.
"""


def chunk_of(text: str, *, start: int = 0) -> Chunk:
    return Chunk(0, start, start + len(text), 0, 0, 0, text)


CHUNK = chunk_of(CHUNK_TEXT, start=TEXT.index(CHUNK_TEXT))
DOCUMENT = Document("file:acme.txt", TEXT, title="Quarterly Report")

HOSPITALS = "Headcount after orders of hospitals."
FAIR = "From ACME Corp's report of June 2023: the growth follows a quarter of $314 million."


def validate(answer: str, *, finished: bool = True) -> Context:
    return ContextValidator(DOCUMENT).validate(answer, chunk=CHUNK, finished=finished)


REJECTED = [
    ("over length", ["the revenue of the quarter " * 60]),
    ("empty", ["", "   \n", "...", "<think>only a thought</think>", "“”"]),
    (
        "control characters",
        ["ACME\x00 grew.", "ACME \u202egrew\u202c.", "ACME \ufffd grew.", "ACME \x1b[31mgrew."],
    ),
    ("thinking", ["<think>The user wants a context for", "so that is it</think> ACME grew."]),
    (
        "refusal",
        [
            "I cannot help with that.",
            "I'm sorry, but the document is confidential.",
            "As an AI language model, I have no opinion.",
            "Je ne peux pas répondre.",
            "抱歉，我不能回答。",
            "申し訳ありません。",
            "Xin lỗi, tôi không thể trả lời.",
        ],
    ),
    (
        "preamble",
        [
            "Here is a succinct context for the chunk: revenue grew.",
            "Here's the context you asked for.",
            "Sure! Revenue grew.",
            "Context: revenue grew.",
            "The context is that revenue grew.",
            "Voici le contexte : le revenu augmente.",
            "以下是该片段的上下文。",
            "以下は文脈です。",
            "Đây là ngữ cảnh của đoạn này.",
        ],
    ),
    (
        "other chunk",
        [
            "Chunk 4: growth of headcount by hospitals.",
            "[2] Growth of headcount by hospitals.",
            "Growth of headcount. [2] Orders from hospitals.",
        ],
    ),
    (
        "prompt echoed",
        [
            "One or two plain sentences, in the language of the document.",
            "ACME: the chunk we want to situate within the whole document is on revenue.",
            "Revenue of hospitals, for the purposes of improving search retrieval of the chunk.",
        ],
    ),
    (
        "repetition",
        [
            "Revenue grew at hospitals in June. Revenue grew at hospitals in June.",
            "The revenue of ACME, the revenue of ACME, the revenue of ACME and hospitals.",
        ],
    ),
    (
        "copied chunk",
        [CHUNK_TEXT, CHUNK_TEXT.upper() + " Indeed.", "Revenue grew by 3% over the previous"],
    ),
    (
        "wrong script",
        ["这一段说的是公司第二季度的收入增长。", "Этот отрывок о росте выручки ACME."],
    ),
    ("unknown number", ["The growth follows a quarter of $315 million.", "This is from 2022."]),
    (
        "unknown name",
        [
            "The report that ACME filed with Siemens.",
            "This is from the Paris office.",
            "Siemens.py: growth of revenue by orders from hospitals.",
            "Siemens_orders has the growth of revenue at hospitals.",
            "SiemensReport on the growth of revenue at hospitals.",
        ],
    ),
    (
        "no content",
        [
            "This is a chunk of text that is located within the document.",
            "The document provides an overview of the main topics and their purpose.",
            "Quarterly Report of ACME Corp, Berlin.",
            "Orders from hospitals drove revenue. This section gives more detail.",
            "It is a kind of text that is used to talk about the revenue of hospitals as it was.",
        ],
    ),
    (
        "other topic",
        [
            "The chairman cannot find the key of the archive.",
            "ACME's headcount, and its report to the regulator in Berlin.",
        ],
    ),
]

ACCEPTED = [
    ("over length", "Growth of revenue at hospitals, and headcount of auditors. ".ljust(1000, ".")),
    ("empty", "Revenue: hospitals."),
    (
        "control characters",
        "The growth of revenue\nafter the first quarter’s — hospitals, naïvely.",
    ),
    ("thinking", "<think>\nThe report is by ACME.\n</think>\n\nHow revenue grew by hospitals."),
    ("refusal", "Orders from hospitals, with an aside of the chairman, who cannot find the key."),
    ("preamble", "Here in Berlin, ACME reports that orders from hospitals drove its growth."),
    ("other chunk", "3% growth of revenue by orders from hospitals."),
    ("prompt echoed", "Within the whole quarter, growth came from orders of hospitals."),
    ("repetition", "Revenue of ACME, orders of ACME, headcount of ACME, growth by hospitals."),
    ("copied chunk", "Revenue grew by 3% at ACME Corp in the quarter after that of $314 million."),
    ("wrong script", "Orders from hospitals and growth (成長)."),
    ("unknown number", "One of 3 paragraphs on ACME's headcount of 1250, June 30, 2023."),
    (
        "unknown name",
        "Section on revenue, by O'Brien, for Berlin's regulators. Hospitals.growth.",
    ),
    ("no content", "This section of the report is on orders from hospitals."),
    ("other topic", "The chairman on orders from hospitals."),
]


@pytest.mark.parametrize(
    ("reason", "answer"), [(reason, answer) for reason, answers in REJECTED for answer in answers]
)
def test_a_rule_rejects(reason: str, answer: str) -> None:
    assert validate(answer) == Context.rejected(reason)


@pytest.mark.parametrize(("rule", "answer"), ACCEPTED)
def test_a_rule_accepts(rule: str, answer: str) -> None:
    assert validate(answer) == Context(tidy(answer))


def test_every_rule_has_rejected_and_accepted_answers() -> None:
    rules = [reason for reason, _ in ContextValidator(DOCUMENT)._rules if reason != "same text"]
    assert [reason for reason, _ in REJECTED] == [rule for rule, _ in ACCEPTED] == rules


def test_one_text_is_accepted_for_few_chunks_of_a_document() -> None:
    validator = ContextValidator(DOCUMENT)
    chunks = [chunk_of(f"{line} orders from hospitals") for line in TEXT.splitlines()]
    outcomes = [validator.validate(HOSPITALS, chunk=each) for each in chunks]
    assert [each.reason for each in outcomes] == ["", "", "", "same text", "same text"]


def test_chunks_of_one_text_may_share_a_context() -> None:
    validator = ContextValidator(DOCUMENT)
    outcomes = [validator.validate(HOSPITALS, chunk=CHUNK) for _ in range(9)]
    assert {each.status for each in outcomes} == {"ok"}


def test_words_of_a_template_of_the_user_are_an_echo_unless_the_document_has_them() -> None:
    template = "{document}{chunk} Write about growth, revenue and orders from all hospitals."
    validator = ContextValidator(DOCUMENT, prompt=Prompt.of(template))
    echo = "Growth, revenue and orders from all hospitals."
    assert validator.validate(echo, chunk=CHUNK) == Context.rejected("prompt echoed")
    document = Document("u", f"{TEXT}\nGrowth, revenue and orders from all hospitals are below.")
    validator = ContextValidator(document, prompt=Prompt.of(template))
    assert validator.validate(echo, chunk=CHUNK) == Context(echo)


def test_the_label_of_the_chunk_s_own_number_is_removed() -> None:
    validator = ContextValidator(DOCUMENT)
    own = validator.validate(f"[3] {HOSPITALS}", chunk=CHUNK, number=3)
    assert own == Context(HOSPITALS)
    other = validator.validate(f"[4] {HOSPITALS}", chunk=CHUNK, number=3)
    assert other == Context.rejected("other chunk")


def test_words_of_the_outline_are_no_content() -> None:
    marks = (Mark("heading", 0, len(TEXT), "Hospitals and headcount", 1),)
    validator = ContextValidator(Document("u", TEXT, marks=marks))
    outlined = validator.validate(HOSPITALS, chunk=replace(CHUNK, section=1))
    assert outlined == Context.rejected("no content")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("本段是文档的一部分，介绍了主要内容。", "no content"),
        ("预写日志让读者和写者互不阻塞，检查点合并日志。", ""),
        ("预写日志的检查点，预写日志的检查点，预写日志的检查点。", "repetition"),
    ],
)
def test_the_rules_hold_for_chinese(text: str, reason: str) -> None:
    source = "SQLite 的预写日志让读者和写者互不阻塞。检查点把日志合并回数据库文件。"
    validator = ContextValidator(Document("u", source * 3))
    assert validator.validate(text, chunk=chunk_of("预写日志")).reason == reason


@pytest.mark.parametrize(
    "text",
    [
        "Ce passage décrit le contenu général du document et son sujet principal.",
        "Dieser Abschnitt beschreibt den Inhalt des gesamten Dokuments.",
        "Đoạn này nói về nội dung chung của tài liệu.",
    ],
)
def test_generic_words_of_other_languages_are_no_content(text: str) -> None:
    assert ContextValidator(Document("u", text * 3)).validate(
        text, chunk=chunk_of("hospitals")
    ) == Context.rejected("no content")


def test_a_chinese_document_takes_chinese_contexts_with_latin_names() -> None:
    validator = ContextValidator(Document("u", "SQLite 的预写日志让读者和写者互不阻塞。" * 5))
    text = "本段介绍 SQLite 预写日志对并发的影响。"
    assert validator.validate(text, chunk=chunk_of("SQLite 的预写日志")) == Context(text)
    english = validator.validate("How readers and writers work.", chunk=chunk_of("读"))
    assert english == Context.rejected("wrong script")


def test_japanese_may_mix_han_and_kana() -> None:
    validator = ContextValidator(Document("u", "契約解除条件一覧表。" * 5))
    context = validator.validate("このデータは契約の解除について。", chunk=chunk_of("契約解除"))
    assert context.status == "ok"


def test_names_are_not_checked_if_the_document_capitalises_freely() -> None:
    text = "Die Firma und der Umsatz im Jahr der Krise und ihre spürbaren Folgen. " * 9
    validator = ContextValidator(Document("u", text))
    context = validator.validate(
        "Der Gewinn der Firma und die spürbaren Folgen ihrer Krisen.", chunk=chunk_of(text[:60])
    )
    assert context.status == "ok"


def test_names_may_come_from_the_title_and_the_glossary() -> None:
    document = Document("u", "the profit rose again.", title="Zenith")
    prompt = Prompt.of(glossary="EBIT: earnings of Quadrant")
    validator = ContextValidator(document, prompt=prompt)
    context = validator.validate("How profit of Zenith and Quadrant rose.", chunk=chunk_of("x"))
    assert context.status == "ok"


def test_an_answer_stopped_at_its_limit_keeps_its_complete_sentences() -> None:
    answer = "Orders and revenue at ACME. The regulator then"
    assert validate(answer, finished=False) == Context("Orders and revenue at ACME.")
    assert validate("Growth of", finished=False) == Context.rejected("over length")


@pytest.mark.parametrize(
    ("answer", "kept"),
    [
        ("Orders and revenue. Margins rose by 3.5 per", "Orders and revenue."),
        ("Orders and revenue. Margins rose by 3.", "Orders and revenue."),
        ("Orders and revenue, by margin.py", ""),
        ("“Orders and revenue.” The", "“Orders and revenue.”"),
    ],
)
def test_a_point_inside_a_number_or_a_name_ends_no_sentence(answer: str, kept: str) -> None:
    assert validate(answer, finished=False).text == kept


def test_a_document_of_one_endless_word_takes_little_memory() -> None:
    tracemalloc.start()
    ContextValidator(Document("dna.fasta", "ACGT" * 5000))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 10_000_000


def test_a_fair_context_is_accepted_unchanged() -> None:
    assert validate(FAIR) == Context(FAIR)
    assert validate(f'"{FAIR}"') == Context(FAIR)
    assert validate(f"<context>\n{FAIR}\n</context>") == Context(FAIR)


@given(st.text(max_size=2000), st.booleans())
def test_an_accepted_context_is_printable_and_short(answer: str, finished: bool) -> None:  # noqa: FBT001
    context = validate(answer, finished=finished)
    assert (context.status == "ok") == bool(context.text)
    assert len(context.text) <= MAX_CHARS
    assert "\x00" not in context.text
    assert "\u202e" not in context.text
