"""The validator: every rule with what it turns away and what it lets pass."""

import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crx.context.validate import MAX_CHARS, ContextValidator, tidy
from crx.types import Context, Document

CHUNK = "Revenue grew by 3% over the previous quarter, driven by orders from hospitals."
TEXT = f"""ACME Corp filed this report with Berlin's regulator on 30 June 2023.
Its auditor is O'Brien.
In the first quarter revenue was $314 million and headcount 1,250.
{CHUNK}
As an aside, the chairman said that he cannot find the key to the archive.
"""
VALIDATOR = ContextValidator(Document("file:acme.txt", TEXT, title="Quarterly Report"))

FAIR = "From ACME Corp's report of June 2023: the growth follows a quarter of $314 million."

TURNED_AWAY = [
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
    ("copied chunk", [CHUNK, CHUNK.upper() + " Indeed.", "Revenue grew by 3% over the previous"]),
    (
        "wrong script",
        ["这一段说的是公司第二季度的收入增长。", "Этот отрывок о росте выручки ACME."],
    ),
    ("unknown number", ["The growth follows a quarter of $315 million.", "This is from 2022."]),
    (
        "unknown name",
        ["The report that ACME filed with Siemens.", "This is from the Paris office."],
    ),
]

LET_PASS = [
    ("over length", "The growth. " * 80),
    ("empty", "1."),
    ("control characters", "The growth of revenue\nafter the first quarter’s — ACME, naïvely."),
    ("thinking", "<think>\nThe report is by ACME.\n</think>\n\nHow revenue grew at ACME."),
    ("refusal", "An aside in which the chairman says that he cannot find the key."),
    ("preamble", "Here in Berlin, ACME reports what its revenue was."),
    ("copied chunk", "Revenue grew by 3% at ACME Corp in the quarter after that of $314 million."),
    ("wrong script", "What ACME says of its growth (成長)."),
    ("unknown number", "One of 3 paragraphs on ACME's headcount of 1250, June 30, 2023."),
    (
        "unknown name",
        "Section on revenue, audited by O'Brien, for Berlin's regulators and hospitals.",
    ),
]


@pytest.mark.parametrize(
    ("why", "answer"), [(why, answer) for why, answers in TURNED_AWAY for answer in answers]
)
def test_a_rule_turns_away(why: str, answer: str) -> None:
    assert VALIDATOR.validate(answer, chunk=CHUNK) == Context.rejected(why)


@pytest.mark.parametrize(("rule", "answer"), LET_PASS)
def test_a_rule_lets_pass(rule: str, answer: str) -> None:
    assert VALIDATOR.validate(answer, chunk=CHUNK) == Context(tidy(answer), "ok")


def test_every_rule_has_both_examples() -> None:
    rules = [why for why, _ in VALIDATOR._rules]
    assert [why for why, _ in TURNED_AWAY] == [why for why, _ in LET_PASS] == rules


def test_a_chinese_document_takes_chinese_contexts_with_latin_names() -> None:
    validator = ContextValidator(Document("u", "SQLite 的预写日志让读者和写者互不阻塞。" * 5))
    text = "本段介绍 SQLite 预写日志对并发的影响。"
    assert validator.validate(text, chunk="读者和写者") == Context(text)
    assert validator.validate("How readers and writers work.", chunk="读") == Context.rejected(
        "wrong script"
    )


def test_japanese_may_mix_han_and_kana_as_it_likes() -> None:
    validator = ContextValidator(Document("u", "契約解除条件一覧表。" * 5))
    assert validator.validate("このデータは契約の解除について。", chunk="条件").outcome == "ok"


def test_a_document_that_capitalises_freely_silences_the_rule_of_names() -> None:
    validator = ContextValidator(
        Document("u", "Die Firma und der Umsatz im Jahr der Krise und die Folgen. " * 9)
    )
    assert validator.validate("Es geht um den Gewinn.", chunk="Umsatz").outcome == "ok"


def test_names_may_come_from_the_title_and_the_glossary() -> None:
    document = Document("u", "the profit rose.", title="Zenith")
    validator = ContextValidator(document, glossary="EBIT: earnings of Quadrant")
    assert validator.validate("The profit of Zenith and Quadrant.", chunk="x").outcome == "ok"


def test_an_answer_stopped_at_its_limit_keeps_its_whole_sentences() -> None:
    answer = "Growth of revenue at ACME. The regulator then"
    assert VALIDATOR.validate(answer, chunk=CHUNK, finished=False) == Context(
        "Growth of revenue at ACME."
    )
    assert VALIDATOR.validate("Growth of", chunk=CHUNK, finished=False) == Context.rejected(
        "over length"
    )


@pytest.mark.parametrize(
    ("answer", "kept"),
    [
        ("Growth at ACME. Margins rose by 3.5 per", "Growth at ACME."),
        ("Growth at ACME. Margins rose by 3.", "Growth at ACME."),
        ("Growth at ACME, by margin.py", ""),
        ("“Growth at ACME.” The", "“Growth at ACME.”"),
    ],
)
def test_a_point_within_a_number_or_a_name_ends_no_sentence(answer: str, kept: str) -> None:
    assert VALIDATOR.validate(answer, chunk=CHUNK, finished=False).text == kept


def test_a_document_of_one_endless_word_costs_no_more_memory_than_itself() -> None:
    tracemalloc.start()
    ContextValidator(Document("dna.fasta", "ACGT" * 5000))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 10_000_000


def test_a_fair_context_passes_as_it_is() -> None:
    assert VALIDATOR.validate(FAIR, chunk=CHUNK) == Context(FAIR)
    assert VALIDATOR.validate(f'"{FAIR}"', chunk=CHUNK) == Context(FAIR)
    assert VALIDATOR.validate(f"<context>\n{FAIR}\n</context>", chunk=CHUNK) == Context(FAIR)


@given(st.text(max_size=2000), st.booleans())
def test_whatever_passes_is_printable_and_short(answer: str, finished: bool) -> None:  # noqa: FBT001
    context = VALIDATOR.validate(answer, chunk=CHUNK, finished=finished)
    assert (context.status == "ok") == bool(context.text)
    assert len(context.text) <= MAX_CHARS
    assert "\x00" not in context.text
    assert "\u202e" not in context.text
