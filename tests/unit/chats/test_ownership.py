"""Owners of chats, and operators where nobody owns a chat."""

import pytest

from skein.errors import Conflict, Forbidden, NotFound, Unprocessable
from skein.models.api.chats import ChatChange, NewChat
from skein.models.chats.chat import Chat
from skein.models.common.base import MemberRef
from tests.support.builders import TENANT, World, bot, person

HUSAM, AHMAD, LENA = person(), person("usr_ahmad", "Ahmad"), person("usr_lena", "Lena")
COACH = bot()


@pytest.fixture
def world() -> World:
    world = World()
    world.agent()
    world.known(HUSAM, AHMAD, LENA)
    world.chat(HUSAM, AHMAD, LENA, COACH)
    return world


def remove(world: World, by: MemberRef, member: MemberRef, *, operator: bool = False) -> None:
    world.app.chat_admin.remove_member(TENANT, "chat_1", by, member, operator=operator)


def give(world: World, by: MemberRef, member: MemberRef, role: str = "owner") -> Chat:
    return world.app.chat_admin.set_role(TENANT, "chat_1", by, member, role)  # type: ignore[arg-type]


def owners(world: World) -> list[str]:
    chat = world.stored_chat()
    return [member.id for member in chat.roster if chat.role_of(member.ref) == "owner"]


def test_creator_owns_the_chat(world: World) -> None:
    opened = world.app.chat_admin.create(TENANT, AHMAD, NewChat(kind="group"))
    assert opened.chat.role_of(AHMAD.ref) == "owner"


def test_member_does_not_remove_discard_or_change(world: World) -> None:
    before = world.stored_chat()
    for member in (HUSAM, LENA, COACH):
        with pytest.raises(Forbidden, match="only an owner"):
            remove(world, AHMAD.ref, member.ref)
    with pytest.raises(Forbidden):
        world.app.chat_admin.discard(TENANT, "chat_1", AHMAD.ref)
    for change in (ChatChange(title="Mine"), ChatChange(respond="manual")):
        with pytest.raises(Forbidden):
            world.app.chat_admin.change(TENANT, "chat_1", AHMAD.ref, change)
    with pytest.raises(Forbidden):
        give(world, AHMAD.ref, AHMAD.ref)
    assert world.stored_chat() == before


def test_owner_makes_others_owners_and_takes_the_role(world: World) -> None:
    give(world, HUSAM.ref, AHMAD.ref)
    give(world, HUSAM.ref, AHMAD.ref)
    assert owners(world) == [HUSAM.id, AHMAD.id]
    give(world, AHMAD.ref, HUSAM.ref, "member")
    assert owners(world) == [AHMAD.id]
    remove(world, AHMAD.ref, HUSAM.ref)


def test_ownership_cannot_be_given_to_agents_or_non_members(world: World) -> None:
    with pytest.raises(Unprocessable):
        give(world, HUSAM.ref, COACH.ref)
    with pytest.raises(NotFound):
        give(world, HUSAM.ref, person("usr_none").ref)


def test_last_owner_who_leaves_leaves_the_chat_without_an_owner(world: World) -> None:
    remove(world, HUSAM.ref, HUSAM.ref)
    assert not world.stored_chat().owned
    with pytest.raises(Forbidden, match="no owner"):
        remove(world, AHMAD.ref, LENA.ref)
    remove(world, AHMAD.ref, AHMAD.ref)


@pytest.mark.parametrize("removed", [True, False])
def test_returning_member_needs_an_invitation_and_has_no_role(world: World, removed: bool) -> None:
    give(world, HUSAM.ref, AHMAD.ref)
    world.chat(HUSAM, AHMAD, LENA, chat_id="chat_2")  # so they are no strangers
    remove(world, HUSAM.ref if removed else AHMAD.ref, AHMAD.ref)
    chat = world.app.chat_admin.add_member(TENANT, "chat_1", LENA, AHMAD.ref)
    assert not chat.has(AHMAD.ref)
    assert chat.invitation(AHMAD.id) is not None
    world.app.invitations.answer(TENANT, "chat_1", AHMAD.ref, accept=True)
    assert world.stored_chat().has(AHMAD.ref)
    assert owners(world) == [HUSAM.id]


def test_invitation_is_withdrawn_by_its_sender_or_an_owner(world: World) -> None:
    remove(world, LENA.ref, LENA.ref)
    world.app.chat_admin.add_member(TENANT, "chat_1", HUSAM, LENA.ref)
    with pytest.raises(Forbidden):
        remove(world, AHMAD.ref, LENA.ref)
    remove(world, HUSAM.ref, LENA.ref)
    world.app.chat_admin.add_member(TENANT, "chat_1", AHMAD, LENA.ref)
    remove(world, AHMAD.ref, LENA.ref)
    assert world.stored_chat().invited == ()


def test_operator_acts_only_in_a_chat_without_an_owner(world: World) -> None:
    operator = MemberRef(kind="user", id="usr_op")
    admin = world.app.chat_admin
    with pytest.raises(NotFound):
        remove(world, operator, AHMAD.ref, operator=True)
    with pytest.raises(NotFound):
        admin.set_role(TENANT, "chat_1", operator, AHMAD.ref, "owner", operator=True)
    remove(world, HUSAM.ref, HUSAM.ref)
    with pytest.raises(NotFound):
        remove(world, operator, LENA.ref)
    remove(world, operator, LENA.ref, operator=True)
    changed = ChatChange(respond="manual")
    shown = admin.change(TENANT, "chat_1", operator, changed, operator=True)
    assert (shown.title, shown.summary) == (None, None)
    admin.set_role(TENANT, "chat_1", operator, AHMAD.ref, "owner", operator=True)
    assert owners(world) == [AHMAD.id]
    with pytest.raises(NotFound):
        admin.discard(TENANT, "chat_1", operator, operator=True)


def test_operator_discards_a_chat_without_an_owner(world: World) -> None:
    operator = MemberRef(kind="user", id="usr_op")
    remove(world, HUSAM.ref, HUSAM.ref)
    world.app.chat_admin.discard(TENANT, "chat_1", operator, operator=True)
    assert world.stored_chat().discarded_at is not None


def test_person_of_a_direct_chat_with_an_agent_always_owns_it(world: World) -> None:
    world.chat(HUSAM, COACH, chat_id="chat_2", kind="direct", owners=())
    assert world.stored_chat("chat_2").role_of(HUSAM.ref) == "owner"
    assert world.stored_chat("chat_2").role_of(COACH.ref) == "member"
    world.app.chat_admin.discard(TENANT, "chat_2", HUSAM.ref)


def test_second_person_of_a_direct_chat_does_not_own_it(world: World) -> None:
    world.chat(HUSAM, AHMAD, chat_id="chat_2", kind="direct")
    with pytest.raises(Forbidden):
        world.app.chat_admin.discard(TENANT, "chat_2", AHMAD.ref)
    with pytest.raises(Conflict):
        world.app.chat_admin.set_role(TENANT, "chat_2", HUSAM.ref, AHMAD.ref, "owner")
