"""Chats are opened, changed and discarded."""

from collections.abc import Callable
from typing import Any

import pytest

from skein.errors import Conflict, NotFound, Unprocessable
from skein.models.api.chats import ChatChange, MemberRequest, NewChat
from skein.models.chats.chat import Chat, chat_partition
from skein.models.chats.membership import Membership
from skein.models.common.base import MemberKind, NamedMember
from skein.models.common.storage import Query, Update
from skein.models.directory.user import User
from tests.support.builders import TENANT, World, bot, person, statuses

HUSAM = person()
AHMAD = person("usr_ahmad", "Ahmad")
COACH = bot()


def asked(kind: MemberKind, member_id: str) -> MemberRequest:
    return MemberRequest(kind=kind, id=member_id)


def group(*members: MemberRequest, **fields: Any) -> NewChat:
    return NewChat(**{"kind": "group", "title": "Alpha", "members": members} | fields)


def create(world: World, new: NewChat, by: NamedMember = HUSAM) -> Chat:
    return world.app.chat_admin.create(TENANT, by, new).chat


# ---------------------------------------------------------------------- opening a chat


def test_the_creator_is_a_member_without_being_named() -> None:
    world = World()
    world.agent()
    chat = create(world, group(asked("agent", "agt_a")))
    assert chat.roster == (HUSAM, COACH)
    assert world.stored_chat(chat.id) == chat
    assert world.membership(HUSAM, chat.id).active


def test_a_member_named_twice_is_there_once() -> None:
    world = World()
    chat = create(world, group(asked("user", HUSAM.id), asked("user", HUSAM.id)))
    assert chat.roster == (HUSAM,)


@pytest.mark.parametrize(
    ("kind", "visibility"),
    [("group", "open"), ("direct", "private")],
)
def test_defaults_follow_the_kind(kind: str, visibility: str) -> None:
    world = World()
    world.agent()
    chat = create(world, group(asked("agent", "agt_a"), kind=kind))
    assert (chat.visibility, chat.consolidate, chat.respond) == (
        visibility,
        None,
        "every",
    )


def test_given_options_of_a_chat_override_the_defaults() -> None:
    world = World()
    world.agent()
    new = group(
        asked("agent", "agt_a"),
        kind="direct",
        visibility="open",
        consolidate=True,
        respond="manual",
    )
    chat = create(world, new)
    assert (chat.visibility, chat.consolidate, chat.respond) == ("open", True, "manual")


def test_people_are_called_by_their_records() -> None:
    world = World()
    world.known(person("usr_ahmad", "Ahmad"))
    world.chat(HUSAM, person("usr_ahmad", "Ahmad"), chat_id="chat_shared")
    first = create(world, group(asked("user", "usr_ahmad")))
    assert [member.name for member in first.roster] == ["Husam", "Ahmad"]

    stranger = person(HUSAM.id, "Another name in the token")
    again = create(world, group(asked("user", "usr_ahmad")), by=stranger)
    assert again.roster == first.roster


def test_create_chat_by_person_without_record_makes_the_record() -> None:
    world = World()
    create(world, group())
    assert world.app.users.get(TENANT, HUSAM.id).name == "Husam"


def test_create_chat_with_unknown_people_is_refused_and_makes_no_record() -> None:
    world = World()
    world.known(person("usr_ahmad", "Ahmad"))
    wanted = [asked("user", user) for user in ("usr_x", "usr_ahmad", "usr_y")]
    with pytest.raises(NotFound) as refused:
        create(world, group(*wanted))
    assert refused.value.details == {"user_ids": ["usr_x", "usr_y"]}
    with pytest.raises(NotFound):
        world.app.users.get(TENANT, "usr_x")


def test_a_record_made_meanwhile_is_used() -> None:
    world = World()
    real_get_many = world.table.get_many
    once = iter([True])

    def racing(keys: Any, **how: Any) -> Any:
        found = real_get_many(keys, **how)
        if next(once, False):
            user = User(tenant=TENANT, id=HUSAM.id, name="Husam B.", created_at=world.clock.now())
            world.table.write(Update(user.key, set=user.to_item()))
        return found

    world.table.get_many = racing  # type: ignore[method-assign]
    chat = create(world, group())
    assert [member.name for member in chat.roster] == ["Husam B."]


def test_an_unknown_agent_is_refused_and_nothing_is_stored() -> None:
    world = World()
    with pytest.raises(Unprocessable) as refused:
        create(world, group(asked("agent", "agt_nobody")))
    assert refused.value.details == {"agent_ids": ["agt_nobody"]}
    assert world.app.views.chats(TENANT, HUSAM.id).items == ()


def test_a_deleted_agent_is_refused() -> None:
    world = World()
    world.agent(deleted_at=world.clock.now())
    with pytest.raises(Unprocessable):
        create(world, group(asked("agent", "agt_a")))


@pytest.mark.parametrize("others", [0, 2])
def test_a_direct_chat_has_exactly_two_members(others: int) -> None:
    members = [asked("user", f"usr_{n}") for n in range(others)]
    with pytest.raises(Unprocessable):
        create(World(), group(*members, kind="direct"))


def test_a_chat_may_have_100_members() -> None:
    world = World()
    people = [person(f"usr_{n}") for n in range(99)]
    world.known(*people)
    world.chat(HUSAM, *people, chat_id="chat_shared")
    chat = create(world, group(*(asked("user", f"usr_{n}") for n in range(99))))
    assert len(chat.roster) == 100
    page = world.table.query(Query.under(chat_partition(TENANT, chat.id), "MEMBER#"))
    memberships = [Membership.from_item(item) for item in page.items]
    assert {membership.member for membership in memberships} == set(chat.roster)


def test_a_chat_has_at_most_100_members_and_20_agents() -> None:
    world = World()
    with pytest.raises(Unprocessable):
        create(world, group(*(asked("user", f"usr_{n}") for n in range(100))))
    with pytest.raises(Unprocessable):
        create(world, group(*(asked("agent", f"agt_{n}") for n in range(21))))


# ---------------------------------------------------------------------- changing it


def test_a_change_raises_the_version_and_touches_nothing_else() -> None:
    world = World()
    before = world.chat(HUSAM, COACH)
    changed = world.app.chat_admin.change(
        TENANT, "chat_1", HUSAM.ref, ChatChange(respond="mention")
    )
    assert changed == world.stored_chat()
    assert changed == before.model_copy(update={"respond": "mention", "version": 2})


def test_the_title_can_be_taken_away_and_left_alone() -> None:
    world = World()
    world.chat(HUSAM)
    world.app.chat_admin.change(TENANT, "chat_1", HUSAM.ref, ChatChange(consolidate=True))
    assert world.stored_chat().title == "Project Alpha"
    world.app.chat_admin.change(TENANT, "chat_1", HUSAM.ref, ChatChange(title=None))
    assert world.stored_chat().title is None


def test_a_change_of_nothing_writes_nothing() -> None:
    world = World()
    before = world.chat(HUSAM)
    assert world.app.chat_admin.change(TENANT, "chat_1", HUSAM.ref, ChatChange()) == before
    assert world.stored_chat() == before


def test_a_change_that_crosses_a_message_loses_neither() -> None:
    world = World()
    world.chat(HUSAM)
    real_write = world.table.write
    once = iter([True])

    def racing(write: Any) -> None:
        if next(once, False):
            world.post("in between", HUSAM)
        real_write(write)

    world.table.write = racing  # type: ignore[method-assign]
    changed = world.app.chat_admin.change(TENANT, "chat_1", HUSAM.ref, ChatChange(title="Beta"))
    assert (changed.title, changed.last_seq, changed.version) == ("Beta", 1, 3)


def test_only_members_may_change_a_chat() -> None:
    world = World()
    world.agent()
    world.chat(AHMAD)
    chat_admin = world.app.chat_admin
    attempts: list[Callable[[], object]] = [
        lambda: chat_admin.change(TENANT, "chat_1", HUSAM.ref, ChatChange(title="Mine")),
        lambda: chat_admin.discard(TENANT, "chat_1", HUSAM.ref),
        lambda: chat_admin.add_member(TENANT, "chat_1", HUSAM, HUSAM.ref),
        lambda: chat_admin.remove_member(TENANT, "chat_1", HUSAM.ref, AHMAD.ref),
        lambda: chat_admin.discard("other", "chat_1", AHMAD.ref),
        lambda: chat_admin.discard(TENANT, "chat_unknown", AHMAD.ref),
    ]
    for attempt in attempts:
        with pytest.raises(NotFound):
            attempt()


# ---------------------------------------------------------------------- discarding it


def test_discard_chat_cancels_queued_runs_and_frees_the_slots() -> None:
    world = World()
    world.chat(HUSAM, COACH, bot("agt_b", "Designer"))
    world.post("Hello", HUSAM)
    assert statuses(world.runs()) == ["queued", "queued"]

    world.app.chat_admin.discard(TENANT, "chat_1", HUSAM.ref)

    assert statuses(world.runs()) == ["canceled", "canceled"]
    assert all(run.ended_at == world.clock.now() for run in world.runs())
    assert world.membership(COACH).queued_run is None
    world.clock.advance(3600)
    assert world.tick() == 0
    world.drain()
    assert world.texts() == ["Hello"]


def test_discarding_twice_is_discarding_once() -> None:
    world = World()
    world.chat(HUSAM)
    world.app.chat_admin.discard(TENANT, "chat_1", HUSAM.ref)
    discarded = world.stored_chat()
    world.clock.advance(60)
    world.app.chat_admin.discard(TENANT, "chat_1", HUSAM.ref)
    assert world.stored_chat() == discarded


def test_a_discarded_chat_does_not_change() -> None:
    world = World()
    world.chat(HUSAM, AHMAD)
    chat_admin = world.app.chat_admin
    chat_admin.discard(TENANT, "chat_1", HUSAM.ref)
    attempts: list[Callable[[], object]] = [
        lambda: chat_admin.change(TENANT, "chat_1", HUSAM.ref, ChatChange(title="Beta")),
        lambda: chat_admin.add_member(TENANT, "chat_1", HUSAM, person("usr_new").ref),
        lambda: chat_admin.remove_member(TENANT, "chat_1", HUSAM.ref, AHMAD.ref),
        lambda: world.post("Hello?", HUSAM),
    ]
    for attempt in attempts:
        with pytest.raises(Conflict):
            attempt()
