"""Order of the documents in a run."""

from crx._context.documents import estimate_need


def test_chunks_that_refer_to_earlier_text_need_a_context_most() -> None:
    plain = ["The heron nests in trees."] * 4
    referring = ["It nests in trees."] * 4
    assert estimate_need(referring) > estimate_need(plain)
    assert estimate_need(plain * 10) > estimate_need(plain)
