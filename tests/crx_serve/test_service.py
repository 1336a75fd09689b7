"""The operations over several indexes, without HTTP."""

from __future__ import annotations

import shutil
from pathlib import Path

import msgspec
import pytest
from command_line import WHALES
from served import SETTINGS

import crx
from crx.errors import NotAnIndex, NotFound, UsageError
from crx.types import Result, Window
from crx_serve.requests import AskQuery, FetchQuery, ListQuery, SearchQuery, StatusQuery
from crx_serve.responses import AnswerCitation
from crx_serve.served_index import ServedIndex, open_indexes
from crx_serve.service import SearchService


def test_a_search_of_one_index_finds_what_the_index_finds(
    service: SearchService, sea: Path
) -> None:
    found = service.search(SearchQuery(query="what do whales eat", index="sea"))
    with crx.open(sea, create=False, settings=SETTINGS) as index:
        expected = index.search("what do whales eat")
    assert [(p.uri, p.text, p.hits) for p in found.passages] == [
        (p.uri, p.text, p.hits) for p in expected
    ]
    assert found.passages[0].url.endswith("whales.md#L3")


def test_a_search_of_all_indexes_has_one_ranking(service: SearchService, sea: Path) -> None:
    with crx.open(sea, create=False) as index:
        index.add_documents([crx.Document("mem:1", "Whales sing. Whales eat krill, whales sleep.")])
    found = service.search(SearchQuery(query="what do whales eat", window=0))
    assert [each.index for each in found.passages] == ["sea", "sea", "kitchen"]
    scores = [each.index_score for each in found.passages]
    assert scores == sorted(scores, reverse=True)
    assert scores[0] == 1.0 > scores[1]
    (whales,) = {each.id for each in found.passages if each.uri.endswith("whales.md")}
    assert service.document(FetchQuery(id=whales)).text == WHALES


def test_indexes_whose_vectors_do_not_compare_take_turns(
    service: SearchService, sea: Path, tmp_path: Path
) -> None:
    with crx.open(tmp_path / "short.crx", settings={"embedder": "hashed:d=8"}) as index:
        index.add_documents([crx.Document("mem:1", "Whales sleep.")])
    both = SearchService(open_indexes([f"sea={sea}", f"short={tmp_path / 'short.crx'}"]))
    found = both.search(SearchQuery(query="whales bread", window=0))
    assert [each.index for each in found.passages] == ["sea", "short"]
    first = both.search(SearchQuery(query="whales bread", window=0, k=1))
    assert [each.index for each in first.passages] == ["sea"]
    both.close()


@pytest.mark.parametrize("k", [2, 3, 5, 10])
def test_widened_passages_of_one_index_leave_those_of_another(tmp_path: Path, k: int) -> None:
    text = "\n\n".join(f"Krill {n} is eaten by whales. " * 30 for n in range(30))
    for name, embedder in (("a", "hashed"), ("b", "hashed:d=64")):
        settings = {"embedder": embedder}
        with crx.open(tmp_path / f"{name}.crx", settings=settings) as index:
            index.add_documents([crx.Document("mem:1", text)])
    opened = open_indexes([f"{name}={tmp_path / name}.crx" for name in "ab"])
    both = SearchService(opened)
    found = both.search(SearchQuery(query="what is krill", k=k)).passages
    assert {each.index for each in found} == {"a", "b"}
    assert sum(len(each.hits) for each in found) == k
    both.close()


def test_files_of_indexes_whose_scores_do_not_compare_take_turns(
    service: SearchService, sea: Path, tmp_path: Path
) -> None:
    with crx.open(sea, create=False, settings=SETTINGS) as index:
        index.add_documents(
            [crx.Document("mem:1", "Whales sing."), crx.Document("mem:3", "Bread.")]
        )
    with crx.open(tmp_path / "short.crx", settings={"embedder": "hashed:d=8"}) as index:
        index.add_documents(
            [crx.Document("mem:1", "Whales sleep."), crx.Document("mem:2", "Bread.")]
        )
    both = SearchService(open_indexes([f"short={tmp_path / 'short.crx'}", f"sea={sea}"]))
    asked = SearchQuery(query="whales bread", window=0)
    passages = both.search(asked).passages
    files = both.search(msgspec.structs.replace(asked, by="file")).files
    assert [(each.index, each.uri) for each in files] == list(
        dict.fromkeys((each.index, each.uri) for each in passages)
    )
    both.close()


@pytest.mark.parametrize(("window", "used"), [("auto", 0), ("grow", "grow"), (2, 2)])
def test_files_are_found_by_their_chunks_without_what_is_around_them(
    service: SearchService, monkeypatch: pytest.MonkeyPatch, window: Window, used: Window
) -> None:
    requests: list[SearchQuery] = []

    def search_index(served: ServedIndex, request: SearchQuery) -> Result:
        requests.append(request)
        return SearchService._search_index(service, served, request)

    monkeypatch.setattr(service, "_search_index", search_index)
    asked = SearchQuery(query="krill", index="sea", by="file", order="document", window=window)
    assert service.search(asked).files
    assert [(each.window, each.order) for each in requests] == [(used, "score")]


def test_a_search_of_all_indexes_ends_at_its_limit(service: SearchService) -> None:
    found = service.search(SearchQuery(query="whales bread", window=0))
    limited = service.search(SearchQuery(query="whales bread", window=0, limit=2))
    assert limited.passages == found.passages[:2]


def test_a_document_is_fetched_by_the_id_that_a_search_gave(service: SearchService) -> None:
    (passage, *_) = service.search(SearchQuery(query="krill", index="sea")).passages
    assert service.document(FetchQuery(id=passage.id)).text == WHALES
    part = service.document(FetchQuery(id=passage.id, start=10, end=32))
    assert (part.text, part.start, part.end, part.length) == (WHALES[10:32], 10, 32, len(WHALES))


@pytest.mark.parametrize("given", ["{path}", "../sea", "sea-1-00000000", "other-1-00000000", "1"])
def test_what_is_not_the_id_of_a_document_is_refused(
    given: str, service: SearchService, sea: Path
) -> None:
    with pytest.raises(UsageError):
        service.document(FetchQuery(id=given.format(path=sea.parent / "whales.md")))


def test_the_id_of_another_index_is_refused(service: SearchService) -> None:
    (passage, *_) = service.search(SearchQuery(query="krill", index="sea")).passages
    with pytest.raises(NotFound):
        service.document(FetchQuery(id=passage.id.replace("sea", "kitchen", 1)))


def test_documents_are_listed_page_by_page(service: SearchService) -> None:
    first = service.documents(ListQuery(limit=1))
    rest = service.documents(ListQuery(limit=1, cursor=first.next_cursor))
    assert [d.title for d in (*first.documents, *rest.documents)] == ["Whales", "Bread"]
    assert rest.next_cursor == ""
    assert [d.title for d in service.documents(ListQuery(contains="BREAD")).documents] == ["Bread"]


def test_an_answer_streams_text_and_citations(service: SearchService) -> None:
    events = service.ask(AskQuery(question="what do whales eat", index="sea"))
    items = list(events)
    cited = [each for each in items if isinstance(each, AnswerCitation)]
    assert "".join(each for each in items if isinstance(each, str)) == events.finished.text
    assert tuple(cited) == events.finished.citations
    assert cited[0].uri.endswith("whales.md")


def test_without_a_model_a_question_is_refused_with_the_next_step(sea: Path) -> None:
    service = SearchService([ServedIndex("sea", sea, settings={"embedder": "hashed"})])
    with pytest.raises(UsageError, match="--with MODEL"):
        service.ask(AskQuery(question="what do whales eat"))
    service.close()


def test_a_search_sees_what_another_handle_has_committed(service: SearchService, sea: Path) -> None:
    with crx.open(sea, create=False) as index:
        index.add_documents([crx.Document("mem:1", "Seals eat squid.")])
    found = service.search(SearchQuery(query="seals squid", index="sea"))
    assert found.passages[0].uri == "mem:1"


def test_an_index_that_is_rebuilt_is_opened_again(
    service: SearchService, sea: Path, kitchen: Path
) -> None:
    shutil.rmtree(sea)
    shutil.copytree(kitchen, sea)
    found = service.search(SearchQuery(query="bread", index="sea"))
    assert found.passages[0].title == "Bread"


def test_an_index_that_is_gone_is_one_line_and_the_others_answer(
    service: SearchService, sea: Path
) -> None:
    shutil.rmtree(sea)
    with pytest.raises(NotAnIndex, match="the index sea is gone"):
        service.search(SearchQuery(query="krill", index="sea"))
    assert service.search(SearchQuery(query="bread", index="kitchen")).passages
    states = {each.name: each.error for each in service.status(StatusQuery()).indexes}
    assert "is gone" in states["sea"]
    assert states["kitchen"] == ""


def test_an_index_is_named_by_its_folder_or_by_name(sea: Path, tmp_path: Path) -> None:
    shutil.copytree(sea, tmp_path / "notes" / ".crx")
    specs = [str(sea), str(tmp_path / "notes" / ".crx"), f"other={sea}"]
    assert [each.name for each in open_indexes(specs)] == ["sea", "notes", "other"]
    with pytest.raises(UsageError, match="a second index named sea"):
        open_indexes([str(sea), str(sea)])
