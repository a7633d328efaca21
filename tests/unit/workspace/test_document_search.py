"""Search for documents: passages, bounds and ranking."""

import pytest

from skein.workspace import document_search
from skein.workspace.models.document import DocumentReach, Folder
from tests.support.builders import TENANT, World

FOLDER = Folder(tenant=TENANT, agent_id="agt_a")
REACH = DocumentReach(folders=(FOLDER,))


def given_document(world: World, name: str, text: str) -> None:
    world.app.documents.write(REACH, name, text, new_in=FOLDER)


def names(world: World, query: str, limit: int = 10) -> list[str]:
    found = world.app.document_search.search(REACH, query, limit=limit)
    return [each.document.name for each in found.items]


@pytest.fixture
def world() -> World:
    return World()


def test_search_returns_each_document_once(world: World) -> None:
    given_document(world, "long", "the comet is bright tonight. " * 500)
    given_document(world, "short", "a comet")
    assert sorted(names(world, "comet")) == ["long", "short"]
    assert len(names(world, "comet", limit=1)) == 1


def test_search_reads_a_bounded_number_of_characters(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(document_search, "MAX_CHARACTERS", 100)
    given_document(world, "one", "a comet " * 10)
    found = world.app.document_search.search(REACH, "comet", limit=10)
    assert found.complete
    given_document(world, "two", "a comet " * 10)
    found = world.app.document_search.search(REACH, "comet", limit=10)
    assert len(found.items) == 2
    assert not found.complete
    given_document(world, "three", "a comet")
    assert len(names(world, "comet")) == 2


def test_search_reads_a_bounded_number_of_documents(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(document_search, "MAX_DOCUMENTS", 1)
    given_document(world, "one", "comet")
    given_document(world, "two", "comet")
    found = world.app.document_search.search(REACH, "comet", limit=10)
    assert (len(found.items), found.complete) == (1, False)


def test_document_is_found_by_a_later_passage_and_by_its_name(world: World) -> None:
    given_document(world, "log", "the sky is clear tonight. " * 100 + "a comet came by.")
    given_document(world, "comet", "")
    found = world.app.document_search.search(REACH, "comet", limit=10).items
    assert {each.document.name: each.offset > 1_000 for each in found} == {
        "log": True,
        "comet": False,
    }


def test_changed_document_is_found_by_its_new_words_only(world: World) -> None:
    given_document(world, "log", "a comet")
    assert names(world, "comet") == ["log"]
    given_document(world, "log", "an eclipse of the sun")
    assert names(world, "comet") == []
    assert names(world, "eclipse") == ["log"]
