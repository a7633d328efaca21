"""Documents: one name, one text, no change lost and none made twice."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from skein.account_linking.owned_items import move_owned
from skein.errors import Conflict, LostLease, NotFound, TooLarge, Unprocessable
from skein.models.common.storage import Check, Exists, Key, Missing, Query
from skein.models.visibility.audience import OPEN, Audience
from skein.models.visibility.ownership import Owner
from skein.models.visibility.provenance import MadeFrom
from skein.workspace.document_edits import Author, Revision
from skein.workspace.models.document import (
    MAX_DOCUMENT_BYTES,
    MAX_OF_CHAT,
    MAX_PINNED,
    MAX_SOURCES,
    Document,
    DocumentReach,
    Folder,
    PinnedDocuments,
)
from tests.support.builders import NOON, TENANT, World, person
from tests.support.fakes import MeanwhileTable

FOLDER = Folder(tenant=TENANT, agent_id="agt_a")
HERS = Folder(tenant=TENANT, agent_id="agt_a", scope="user:usr_ann")
OF_CHAT = Folder(tenant=TENANT, chat_id="chat_1")
REACH = DocumentReach(folders=(FOLDER,))
IN_CHAT = DocumentReach(folders=(OF_CHAT,))
ANN = Audience(open=False, people=("usr_ann",))
NOWHERE = Key("nowhere", "nothing")
HOLDS, FAILS = Check(NOWHERE, Missing()), Check(NOWHERE, Exists())


def write(world: World, name: str = "plan", text: str = "One\n", **fields: object) -> Document:
    world.app.documents.write(REACH, name, text, new_in=FOLDER, **fields)  # type: ignore[arg-type]
    return world.app.documents.get(REACH, name)


def pins(world: World) -> list[str]:
    """The names of what is always on show."""
    ids = PinnedDocuments.from_optional(world.table.get(FOLDER.pins_key)).documents
    return [world.app.documents.get(REACH, each).name for each in ids]


# ---------------------------------------------------------------------- writing


def test_a_new_document_is_markdown_at_version_1() -> None:
    document = write(World())
    assert (document.text, document.media_type, document.version) == (
        "One\n",
        "text/markdown",
        1,
    )
    assert (document.audience, document.pinned, document.created_at) == (OPEN, False, NOON)


def test_writing_again_replaces_the_text_and_leaves_the_rest() -> None:
    world = World()
    write(world, media_type="text/csv", pinned=True)
    world.clock.advance(60)
    document = write(world, text="a,b\n")
    assert (document.text, document.media_type, document.version) == ("a,b\n", "text/csv", 2)
    assert document.pinned
    assert document.created_at == NOON
    assert document.updated_at == world.clock.now()


def test_a_name_and_its_id_find_the_same_document() -> None:
    world = World()
    document = write(world, "  Notes / über alles  ")
    assert document.name == "Notes / über alles"
    assert world.app.documents.get(REACH, document.id) == document
    assert world.app.documents.get(REACH, document.name) == document


@pytest.mark.parametrize(
    "name",
    ["", "   ", "two\nlines", "half\u2028line", "\u202eturned", "n" * 201, "doc_" + "0" * 26],
)
def test_a_name_that_could_mislead_is_refused(name: str) -> None:
    with pytest.raises(Unprocessable):
        write(World(), name)


def test_create_document_with_existing_name_is_refused() -> None:
    world = World()
    write(world, only_new=True)
    with pytest.raises(Conflict, match="already"):
        write(world, only_new=True)


def test_replace_missing_document_is_refused() -> None:
    with pytest.raises(NotFound):
        World().app.documents.write(REACH, "plan", "text")


def test_a_change_of_another_version_than_the_one_that_is_meant_is_refused() -> None:
    world = World()
    write(world)
    write(world, text="Two\n", version=1)
    with pytest.raises(Conflict, match="at version 2"):
        write(world, text="Three\n", version=1)
    with pytest.raises(Conflict, match="at version 2"):
        world.app.documents.revise(REACH, "plan", Revision(append="x", version=1))
    with pytest.raises(Conflict, match="at version 2"):
        world.app.documents.delete(REACH, "plan", version=1)
    with pytest.raises(Conflict, match="no version"):
        write(world, "other", version=1)
    assert world.app.documents.get(REACH, "plan").text == "Two\n"


def test_a_document_holds_256_kib_of_utf8_and_no_more() -> None:
    world = World()
    most = "é" * (MAX_DOCUMENT_BYTES // 2)
    assert write(world, text=most).text == most
    with pytest.raises(TooLarge, match="262,144"):
        world.app.documents.revise(REACH, "plan", Revision(append="x"))
    with pytest.raises(TooLarge, match="262,144"):
        write(world, "other", text=most + "x")


def test_a_text_that_is_no_unicode_is_refused() -> None:
    with pytest.raises(Unprocessable, match="unpaired surrogate"):
        write(World(), text="\ud800")


# ---------------------------------------------------------------------- revising


def test_appending_adds_to_the_end() -> None:
    world = World()
    write(world)
    done = world.app.documents.revise(REACH, "plan", Revision(append="Two\n"))
    assert (done.change, done.version, done.characters) == ("changed", 2, 8)
    assert world.app.documents.get(REACH, "plan").text == "One\nTwo\n"


def test_edit_replaces_text_that_occurs_exactly_once() -> None:
    world = World()
    write(world, text="one two two")
    world.app.documents.revise(REACH, "plan", Revision(find="one ", replace=""))
    with pytest.raises(Unprocessable, match="2 times"):
        world.app.documents.revise(REACH, "plan", Revision(find="two", replace="three"))
    for absent in ("Two", ""):
        with pytest.raises(Unprocessable, match="match the document exactly"):
            world.app.documents.revise(REACH, "plan", Revision(find=absent, replace="x"))
    assert world.app.documents.get(REACH, "plan").text == "two two"


def test_changing_a_missing_document_is_not_found() -> None:
    with pytest.raises(NotFound):
        World().app.documents.revise(REACH, "plan", Revision(append="x"))
    with pytest.raises(NotFound):
        World().app.documents.delete(REACH, "plan")


def test_a_deleted_document_is_gone_and_a_new_one_of_its_name_is_another() -> None:
    world = World()
    first = write(world, pinned=True)
    done = world.app.documents.delete(REACH, "plan")
    assert (done.change, done.name, done.version) == ("deleted", "plan", 1)
    with pytest.raises(NotFound):
        world.app.documents.get(REACH, "plan")
    assert pins(world) == []
    again = write(world)
    assert (again.version, again.key) == (1, first.key)
    assert again.generation != first.generation


# ---------------------------------------------------------------------- at once


def test_concurrent_appends_to_a_document_are_all_kept() -> None:
    world = World()
    write(world, text="")
    with ThreadPoolExecutor(8) as pool:
        work = [
            pool.submit(world.app.documents.revise, REACH, "plan", Revision(append=f"<{n}>"))
            for n in range(24)
        ]
        versions = sorted(each.result().version for each in work)
    document = world.app.documents.get(REACH, "plan")
    assert versions == list(range(2, 26))
    assert sorted(document.text.strip("<>").split("><")) == sorted(map(str, range(24)))


def test_concurrent_pins_over_limit_are_refused() -> None:
    world = World()

    def put(n: int) -> bool:
        try:
            write(world, f"doc {n}", pinned=True)
        except Conflict:
            return False
        return True

    with ThreadPoolExecutor(8) as pool:
        outcomes = list(pool.map(put, range(12)))
    assert sum(outcomes) == MAX_PINNED == len(pins(world))
    kept = world.app.documents.list(FOLDER, limit=100).items
    assert {document.name for document in kept} == set(pins(world))


def test_change_of_a_recreated_document_applies_to_the_new_one() -> None:
    table = MeanwhileTable()
    world = World(overrides={"table": table})
    write(world, text="old")

    def once_in_between() -> None:
        world.app.documents.delete(REACH, "plan")
        write(world, text="new")

    table.before = ("DOC#", once_in_between)
    world.app.documents.revise(REACH, "plan", Revision(append=" text"))
    assert world.app.documents.get(REACH, "plan").text == "new text"


# ---------------------------------------------------------------------- once


def test_repeated_document_effect_changes_nothing() -> None:
    world = World()
    write(world)
    append, remove = Author(effect="run:1:0", guard=HOLDS), Author(effect="run:1:1", guard=HOLDS)
    for _ in range(2):
        done = world.app.documents.revise(REACH, "plan", Revision(append="Two\n"), author=append)
        assert (done.change, done.version) == ("changed", 2)
    assert world.app.documents.get(REACH, "plan").text == "One\nTwo\n"
    first = world.app.documents.delete(REACH, "plan", author=remove)
    write(world, text="Since then\n")
    assert world.app.documents.delete(REACH, "plan", author=remove) == first
    assert world.app.documents.get(REACH, "plan").text == "Since then\n"


def test_an_effect_on_one_document_is_not_repeated_on_another_of_the_same_name() -> None:
    world = World()
    both = DocumentReach(folders=(HERS, FOLDER))
    write(world)
    world.app.documents.write(
        DocumentReach(folders=(HERS,)), "plan", "hers", new_in=HERS, author=Author(audience=ANN)
    )
    for _ in range(2):
        world.app.documents.delete(both, "plan", author=Author(effect="run:1:0"))
    assert world.app.documents.get(both, "plan").text == "One\n"


def test_document_change_with_lost_lease_is_refused() -> None:
    world = World()
    write(world)
    lost = Author(effect="run:1:0", guard=FAILS)
    with pytest.raises(LostLease):
        world.app.documents.revise(REACH, "plan", Revision(append="x"), author=lost)
    with pytest.raises(LostLease):
        world.app.documents.delete(REACH, "plan", author=lost)
    assert world.app.documents.get(REACH, "plan").text == "One\n"


# ---------------------------------------------------------------------- on show


def test_pinned_document_is_listed_until_unpinned() -> None:
    world = World()
    write(world, "b", pinned=True)
    write(world, "a", pinned=True)
    write(world, "c")
    assert pins(world) == ["b", "a"]
    world.app.documents.revise(REACH, "b", Revision(pinned=False))
    assert pins(world) == ["a"]


def test_a_chats_documents_are_listed_on_the_chat_ten_at_most() -> None:
    world = World()
    world.chat()
    for n in range(MAX_OF_CHAT):
        world.app.documents.write(IN_CHAT, f"doc {n}", "text", new_in=OF_CHAT)
    with pytest.raises(Conflict, match="10 documents of a chat"):
        world.app.documents.write(IN_CHAT, "one more", "text", new_in=OF_CHAT)
    assert world.app.documents.get(IN_CHAT, "doc 3").folder == OF_CHAT
    world.app.documents.delete(IN_CHAT, "doc 3")
    kept = [f"doc {n}" for n in range(MAX_OF_CHAT) if n != 3]
    assert world.stored_chat().documents == tuple(map(Document.id_of, kept))


def test_concurrent_chat_documents_and_messages_are_all_stored() -> None:
    world = World()
    ann = person("usr_ann", "Ann")
    world.chat(ann)
    with ThreadPoolExecutor(8) as pool:
        posts = [pool.submit(world.post, f"Message {n}", ann) for n in range(20)]
        writes = [
            pool.submit(world.app.documents.write, IN_CHAT, f"doc {n}", "", new_in=OF_CHAT)
            for n in range(5)
        ]
        assert sorted(each.result().message.seq for each in posts) == list(range(1, 21))
        assert {each.result().change for each in writes} == {"created"}
    assert len(world.stored_chat().documents) == 5
    assert world.stored_chat().last_seq == 20


def test_a_chat_that_is_not_there_or_was_discarded_has_no_documents() -> None:
    world = World()
    with pytest.raises(NotFound):
        world.app.documents.write(IN_CHAT, "doc", "text", new_in=OF_CHAT)
    world.chat(discarded_at=NOON)
    with pytest.raises(NotFound):
        world.app.documents.write(IN_CHAT, "doc", "text", new_in=OF_CHAT)


def test_a_list_has_every_document_of_one_folder_once() -> None:
    world = World()
    for n in range(7):
        write(world, f"doc {n}")
    names: list[str] = []
    cursor = None
    while True:
        page = world.app.documents.list(FOLDER, limit=3, cursor=cursor)
        names += [document.name for document in page.items]
        cursor = page.next_cursor
        if cursor is None:
            break
    assert sorted(names) == [f"doc {n}" for n in range(7)]


# ---------------------------------------------------------------------- for whom


def test_a_document_is_found_only_where_it_may_be_shown() -> None:
    world = World()
    hers = Author(audience=ANN)
    within = DocumentReach(folders=(HERS, FOLDER), readers=ANN)
    world.app.documents.write(within, "diary", "secret", new_in=HERS, author=hers)
    assert world.app.documents.get(within, "diary").text == "secret"
    two = Audience(open=False, people=("usr_ann", "usr_ben"))
    for readers in (OPEN, two, Audience(open=False)):
        elsewhere = DocumentReach(folders=(HERS, FOLDER), readers=readers)
        with pytest.raises(NotFound):
            world.app.documents.get(elsewhere, "diary")
        with pytest.raises(NotFound):
            world.app.documents.revise(elsewhere, "diary", Revision(append="x"))


TEAM = Folder(tenant=TENANT, agent_id="agt_a", scope="chat:chat_1")
BOTH = Audience(open=False, people=("usr_ann", "usr_ben"))
EARLIER, LATER = (DocumentReach(folders=(TEAM, FOLDER), readers=who) for who in (ANN, BOTH))


def texts_of(world: World, reach: DocumentReach, *names: str) -> list[str]:
    return [world.app.documents.get(reach, name).text for name in names]


def test_name_of_a_hidden_document_is_free() -> None:
    """What they are told is what they would be told of any other name."""
    world = World()
    for text in ("secret", "second secret"):
        world.app.documents.write(EARLIER, "log", text, new_in=TEAM, author=Author(audience=ANN))
    told = [
        world.app.documents.write(LATER, name, "ours", new_in=TEAM, author=Author(audience=BOTH))
        for name in ("log", "log (2)", "free")
    ]
    assert {(done.change, done.version, done.characters) for done in told} == {("created", 1, 4)}
    with pytest.raises(NotFound):
        world.app.documents.get(LATER, "log (3)")
    names = ("log", "log (2)", "log (2) (2)")
    assert texts_of(world, EARLIER, *names) == ["ours", "ours", "second secret"]
    changed = world.app.documents.write(LATER, "log", "more", author=Author(audience=BOTH))
    assert (changed.change, changed.version) == ("changed", 2)


def test_renamed_hidden_document_stays_pinned_and_listed_by_threads() -> None:
    world = World()
    earlier = Author(audience=ANN)
    world.app.documents.write(EARLIER, "log", "secret", new_in=TEAM, pinned=True, author=earlier)
    before, after = (
        Owner(tenant=TENANT, agent_id="agt_a", scope=TEAM.scope, audience=who)
        for who in (ANN, BOTH)
    )
    threads = world.app.threads
    old = threads.create(before, {"concern": "Before", "documents": ("log",)})
    new = threads.create(after, {"concern": "After", "documents": ("log",)})
    world.app.documents.write(LATER, "log", "ours", new_in=TEAM, author=Author(audience=BOTH))
    shown = PinnedDocuments.from_optional(world.table.get(TEAM.pins_key)).documents
    assert shown == (Document.id_of("log (2)"),)
    lists = [threads.get(after.reach, each.id).documents for each in (old, new)]
    assert lists == [("log (2)",), ("log",)]
    assert texts_of(world, EARLIER, "log (2)") == ["secret"]


def test_hidden_chat_document_is_renamed_and_stays_listed_on_the_chat() -> None:
    world = World()
    world.chat(person("usr_ann", "Ann"), chat_id="chat_1", visibility="private")
    earlier, later = (DocumentReach(folders=(OF_CHAT,), readers=who) for who in (ANN, BOTH))
    world.app.documents.write(earlier, "log", "x", new_in=OF_CHAT, author=Author(audience=ANN))
    world.app.documents.write(later, "log", "y", new_in=OF_CHAT, author=Author(audience=BOTH))
    ids = [Document.id_of(name) for name in ("log (2)", "log")]
    assert list(world.stored_chat("chat_1").documents) == ids
    assert texts_of(world, earlier, "log", "log (2)") == ["y", "x"]


def test_change_during_the_renaming_of_a_document_is_kept() -> None:
    table = MeanwhileTable()
    world = World(overrides={"table": table})
    hers, ours = Author(audience=ANN), Author(audience=BOTH)
    world.app.documents.write(EARLIER, "log", "secret", new_in=TEAM, author=hers)
    append = Revision(append="!")
    table.before = ("DOC#", lambda: world.app.documents.revise(EARLIER, "log", append, author=hers))
    world.app.documents.write(LATER, "log", "ours", new_in=TEAM, author=ours)
    assert texts_of(world, EARLIER, "log", "log (2)") == ["ours", "secret!"]


def test_an_open_document_can_be_read_in_private_but_not_changed() -> None:
    world = World()
    write(world, author=Author())
    within = DocumentReach(folders=(HERS, FOLDER), readers=ANN)
    assert world.app.documents.get(within, "plan").text == "One\n"
    hers = Author(audience=ANN)
    with pytest.raises(Conflict, match="not changed"):
        world.app.documents.write(within, "plan", "secret", new_in=HERS, author=hers)
    with pytest.raises(Conflict, match="not changed"):
        world.app.documents.revise(within, "plan", Revision(append="secret"), author=hers)
    with pytest.raises(Conflict, match="not changed"):
        world.app.documents.delete(within, "plan", author=hers)
    assert world.app.documents.get(REACH, "plan").text == "One\n"


def test_change_document_from_narrower_content_is_refused() -> None:
    world = World()
    both = Audience(open=False, people=("usr_ann", "usr_ben"))
    hers = Author(audience=ANN)
    private = Folder(tenant=TENANT, agent_id="agt_a", scope="chat:chat_9")
    reach = DocumentReach(folders=(private,), readers=both, content=ANN)
    world.app.documents.write(reach, "log", "a", new_in=private, author=Author(audience=both))
    with pytest.raises(Conflict, match="not changed"):
        world.app.documents.revise(reach, "log", Revision(append="b"), author=hers)
    with pytest.raises(Conflict, match="not changed"):
        world.app.documents.write(reach, "log", "b", new_in=private, author=hers)
    with pytest.raises(Conflict, match="not changed"):
        world.app.documents.delete(reach, "log", author=hers)
    document = world.app.documents.get(reach, "log")
    assert (document.text, document.audience, document.version) == ("a", both, 1)


# ---------------------------------------------------------------------- moving


def test_documents_of_a_merged_person_move_without_loss() -> None:
    world = World()
    caller = Folder(tenant=TENANT, agent_id="agt_a", scope="user:usr_caller")
    for folder, people, count in ((caller, "usr_caller", 4), (HERS, "usr_ann", 3)):
        author = Author(audience=Audience(open=False, people=(people,)))
        for n in range(count):
            world.app.documents.write(
                DocumentReach(folders=(folder,)),
                f"doc {n}",
                f"{people} {n}",
                new_in=folder,
                pinned=True,
                author=author,
            )
    for _ in range(2):
        move_owned(world.table, TENANT, "agt_a", "usr_caller", "usr_ann")
    kept = {each.name: each for each in world.app.documents.list(HERS).items}
    assert {name: each.text for name, each in kept.items()} == {
        **{f"doc {n}": f"usr_ann {n}" for n in range(3)},
        **{f"doc {n} (2)": f"usr_caller {n}" for n in range(3)},
        "doc 3": "usr_caller 3",
    }
    assert {each.audience for each in kept.values()} == {ANN}
    assert {each.scope for each in kept.values()} == {"user:usr_ann"}
    pinned = PinnedDocuments.from_optional(world.table.get(HERS.pins_key)).documents
    assert sorted(pinned) == sorted(each.id for each in kept.values())
    assert world.table.query(Query(caller.partition)).items == ()


def test_document_records_a_limited_number_of_source_chats(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert MAX_SOURCES == 100
    monkeypatch.setattr("skein.workspace.document_edits.MAX_SOURCES", 10)
    world = World()
    write(world)
    for n in range(10):
        author = Author(made_from=MadeFrom.messages(f"chat_{n:03}", 1, 1, ()))
        for _ in range(2):
            world.app.documents.revise(REACH, "plan", Revision(append="x"), author=author)
    document = world.app.documents.get(REACH, "plan")
    assert document.made_from.chats == tuple(f"chat_{n:03}" for n in range(10))
    late = Author(made_from=MadeFrom.messages("chat_late", 1, 1, ()))
    with pytest.raises(Conflict, match="10 chats"):
        world.app.documents.revise(REACH, "plan", Revision(append="x"), author=late)
    known = Author(made_from=MadeFrom.messages("chat_005", 1, 1, ()))
    world.app.documents.revise(REACH, "plan", Revision(append="x"), author=known)
