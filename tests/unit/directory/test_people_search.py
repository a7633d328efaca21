"""The search for people by name, and the name index that follows every change of a name."""

import pytest

from skein.errors import Invalid
from skein.models.api.directory import NewUser, OwnChange, UserChange
from skein.models.common.base import NamedMember
from skein.models.common.storage import Query, Update
from skein.models.delivery.sms import InboundSms
from skein.models.directory.user import NAME, User, names_partition
from skein.services.directory.name_index import MAX_WORDS, name_words
from tests.support.builders import LINE, TENANT, World
from tests.support.number_codes import link_number

PHONE = "+15005550177"


def rows_of(world: World, tenant: str = TENANT) -> list[tuple[str, str]]:
    """Return the words and the person of each row of the name index."""
    page = world.table.query(Query.under(names_partition(tenant), NAME))
    return [(item["word"], item["user_id"]) for item in page.items]


def person(world: World, user_id: str, name: str) -> User:
    return world.app.users.create(TENANT, NewUser(id=user_id, name=name))


def found(world: World, text: str, limit: int = 50) -> list[str]:
    """Search to the end; return the ids in order."""
    ids: list[str] = []
    cursor: str | None = None
    while True:
        page = world.app.people_search.find(TENANT, text, limit=limit, cursor=cursor)
        assert len(page.items) <= limit
        ids.extend(user.id for user in page.items)
        cursor = page.next_cursor
        if cursor is None:
            return ids


@pytest.mark.parametrize(
    ("name", "text", "is_found"),
    [
        ("Zoë Quill", "zoe", True),
        ("Zoë Quill", "QUI", True),
        ("Zoë Quill", "quill zo", True),
        ("Zoë Quill", "quill ann", False),
        ("Zoë Quill", "uill", False),
        ("أحمد علي", "احمد", True),
        ("王小明", "小明", True),
        ("김민수", "김민", True),
        ("O'Hara-Smith", "smith", True),
        ("<img src=x>", "IMG SRC", True),
        ("Zoë Quill", "!", False),
    ],
)
def test_find_people_by_beginnings_of_words(name: str, text: str, *, is_found: bool) -> None:
    world = World()
    person(world, "usr_1", name)
    assert found(world, text) == (["usr_1"] if is_found else [])


def test_find_people_by_whole_id_shows_the_person_first_and_once() -> None:
    world = World()
    person(world, "anna", "Anna Bell")
    person(world, "usr_1", "Anna Ann")
    assert found(world, "anna") == ["anna", "usr_1"]
    assert found(world, "anna", limit=1) == ["anna", "usr_1"]
    assert found(world, "ann") == ["usr_1", "anna"]


@pytest.mark.parametrize(("limit", "people"), [(1, 12), (7, 30), (100, 130)])
def test_find_people_in_pages_shows_each_once(limit: int, people: int) -> None:
    world = World()
    names = {f"usr_{number:03d}": f"Ann Annabel {number}" for number in range(people)}
    ids = [person(world, *named).id for named in names.items()]
    assert sorted(found(world, "ann", limit=limit)) == ids


def test_find_people_among_many_callers_uses_the_rarest_word() -> None:
    world = World()
    for number in range(300):
        person(world, f"usr_{number}", f"Caller {number:04d}")
    world.table.log = []
    page = world.app.people_search.find(TENANT, "caller 0123")
    assert [user.name for user in page.items] == ["Caller 0123"]
    assert page.next_cursor is None
    assert len(world.table.log) <= 6


def test_find_people_with_no_match_reads_a_bounded_number_of_items() -> None:
    world = World()
    for number in range(1_240):
        person(world, f"usr_{number:04d}", f"{('Ann', 'Ben')[number % 2]} {number}")
    world.table.log = []
    page = world.app.people_search.find(TENANT, "ann ben")
    assert page.items == ()
    assert page.next_cursor is not None
    reads = [call for call in world.table.log if call.method in {"query", "query_index"}]
    assert len(reads) <= 6
    assert found(world, "ann ben") == []
    assert found(world, "ann 8") != []


def with_person() -> World:
    world = World()
    person(world, "usr_1", "Ann Old")
    return world


def test_rename_by_an_operator_moves_the_person_in_the_index() -> None:
    world = with_person()
    world.app.users.change(TENANT, "usr_1", UserChange(name="Ann New"))
    assert rows_of(world) == [("ann", "usr_1"), ("new", "usr_1")]
    assert (found(world, "old"), found(world, "new")) == ([], ["usr_1"])


def test_rename_by_the_person_moves_the_person_in_the_index() -> None:
    world = with_person()
    me = NamedMember(kind="user", id="usr_1", name="Ann Old")
    world.app.users.change_own(TENANT, me, OwnChange(name="Ann New"))
    assert rows_of(world) == [("ann", "usr_1"), ("new", "usr_1")]


def test_first_change_of_ones_own_record_adds_the_person_to_the_index() -> None:
    world = World()
    me = NamedMember(kind="user", id="usr_me", name="Ann")
    world.app.users.change_own(TENANT, me, OwnChange(time_zone="Europe/Rome"))
    assert rows_of(world) == [("ann", "usr_me")]


def test_caller_is_in_the_index_until_merged() -> None:
    world = World()
    world.agent()
    world.line()
    person(world, "usr_1", "Ann")
    sms = InboundSms(
        account_sid="AC1", message_sid="SM1", sender=PHONE, recipient=LINE, body="Hello"
    )
    world.app.sms_receiver.receive(sms)
    assert len(found(world, "caller 0177")) == 1
    link_number(world, "usr_1", PHONE)
    assert rows_of(world) == [("ann", "usr_1")]


def test_erasure_takes_the_person_out_of_the_index_at_once() -> None:
    world = World()
    person(world, "usr_1", "Ann Old")
    world.app.erasures.request(TENANT, "usr_1", by="usr_op")
    assert rows_of(world) == []
    assert found(world, "ann") == []
    assert found(world, "erased") == []


def test_search_by_former_name_finds_no_person() -> None:
    world = with_person()
    key = User.key_of(TENANT, "usr_1")
    world.table.write(Update(key, set={"name": "Zed", "version": 2}))
    assert found(world, "old") == []


def test_search_of_another_tenant_finds_nobody() -> None:
    world = World()
    person(world, "usr_1", "Ann")
    assert world.app.people_search.find("other", "ann").items == ()


def test_cursor_of_another_search_is_refused() -> None:
    world = World()
    for number in range(3):
        person(world, f"usr_{number}", "Ann")
    page = world.app.people_search.find(TENANT, "ann", limit=1)
    with pytest.raises(Invalid):
        world.app.people_search.find(TENANT, "ben", cursor=page.next_cursor)
    with pytest.raises(Invalid):
        world.app.people_search.find(TENANT, "ann", cursor="none")


def test_name_has_a_bounded_number_of_words() -> None:
    assert len(name_words(" ".join(f"word{number}" for number in range(50)))) == MAX_WORDS
    assert max(map(len, name_words("x" * 200))) <= 32
