"""Invitations: limits, expiry, the question by SMS, and an answer that counts once."""

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest

from skein.errors import Conflict, NotFound, RateLimited, SkeinError, Transient, Unprocessable
from skein.models.api.chats import MemberRequest, NewChat
from skein.models.chats.chat import Chat
from skein.models.chats.choice import NO, YES
from skein.models.chats.person_choices import MAX_INVITATIONS, PersonChoices
from skein.models.common.address import route_on
from skein.models.common.base import NamedMember
from skein.models.config.overrides import TenantOverridesChange
from skein.models.outbox.jobs import InvitationJob
from skein.models.visibility.provenance import Authors
from skein.services.choices.asking import Asking
from skein.services.choices.open_choices import OpenChoices
from tests.support.builders import LINE, PHONE, TENANT, World, bot, person
from tests.support.choices import answer, choice_in, choices_of

HUSAM, AHMAD, SARAH = person(), person("usr_ahmad", "Ahmad"), person("usr_sarah", "Sarah")
COACH = bot()
SMS = route_on("sms", line=LINE, person=PHONE)
DAY = 24 * 3_600


def stage() -> World:
    """The group `chat_1` of Husam and Coach, and Ahmad's direct chat with Coach by SMS."""
    world = World()
    world.agent()
    world.line()
    world.known(HUSAM, AHMAD, SARAH)
    world.chat(HUSAM, COACH, chat_id="chat_1", title="Team", respond="manual")
    by_sms = {"kind": "direct", "visibility": "private", "title": None}
    world.chat(AHMAD, COACH, chat_id="chat_sms", route=SMS, **by_sms)
    return world


def invite(world: World, who: NamedMember = AHMAD, chat_id: str = "chat_1") -> Chat:
    """Husam invites somebody, with whom he shares a chat by the time the question is sent."""
    chat = world.app.chat_admin.add_member(TENANT, chat_id, HUSAM, who.ref)
    meet(world)
    world.drain()
    return chat


def meet(world: World) -> None:
    world.chat(HUSAM, AHMAD, chat_id="chat_both")


def join(world: World, *, accept: bool = True, chat_id: str = "chat_1") -> None:
    world.app.invitations.answer(TENANT, chat_id, AHMAD.ref, accept=accept)


def stored(world: World, who: NamedMember = AHMAD) -> PersonChoices:
    item = world.table.get(PersonChoices.key_of(TENANT, who.id))
    assert item is not None
    return PersonChoices.from_item(item)


def is_due(world: World) -> bool:
    return "gsi2pk" in (world.table.get(PersonChoices.key_of(TENANT, AHMAD.id)) or {})


# ---------------------------------------------------------------------- by SMS


def test_invited_person_on_sms_is_asked_in_their_direct_chat() -> None:
    world = stage()
    invite(world)
    [asked] = world.messages("chat_sms")
    assert asked.words == Authors.in_digests([HUSAM.id])  # who chose the title
    assert (asked.kind, asked.sender.ref) == ("choice", COACH.ref)
    assert asked.choice is not None
    assert (
        asked.choice.question
        == 'Husam invites you to "Team" (Husam and Coach). Join? Yes adds you.'
    )
    assert (asked.choice.purpose, asked.choice.data) == ("invitation", {"invited_to": "chat_1"})
    [listed] = choices_of(world, AHMAD).open
    assert (listed.chat_id, listed.seq, listed.invited_to) == ("chat_sms", 1, "chat_1")
    assert set(listed.codes) == {YES, NO}
    assert all(code in world.sms.bodies[-1] for code in listed.codes.values())


@pytest.mark.parametrize("option", [YES, NO])
def test_answer_by_sms_does_the_same_as_the_route(option: str) -> None:
    world = stage()
    invite(world)
    world.post("One", HUSAM)
    answer(world, 1, AHMAD, chat_id="chat_sms", option=option)
    chat = world.stored_chat()
    assert chat.has(AHMAD.ref) is (option == YES)
    assert chat.invited == ()
    assert choices_of(world, AHMAD).open == ()
    if option == YES:
        assert world.membership(AHMAD).joined_seq == 1
    with pytest.raises(Conflict):
        answer(world, 1, AHMAD, chat_id="chat_sms", option=YES, client_id="again")


def test_answer_in_the_app_answers_the_question_by_sms() -> None:
    world = stage()
    invite(world)
    join(world, accept=False)
    choice = choice_in(world, 1, "chat_sms")
    assert choice.answer is not None
    assert (choice.answer.option, choice.answer.seq) == (NO, 1)
    assert stored(world).over != ()
    with pytest.raises(Conflict):
        answer(world, 1, AHMAD, chat_id="chat_sms", option=YES)


def test_withdrawn_invitation_leaves_no_question_to_answer() -> None:
    world = stage()
    invite(world)
    world.app.chat_admin.remove_member(TENANT, "chat_1", HUSAM.ref, AHMAD.ref)
    with pytest.raises(Conflict):
        answer(world, 1, AHMAD, chat_id="chat_sms", option=YES)
    assert not world.stored_chat().has(AHMAD.ref)


def test_person_who_opted_out_is_not_asked_by_sms() -> None:
    world = stage()
    world.post("STOP", AHMAD, chat_id="chat_sms", route=SMS, opted_out=True)
    invite(world)
    assert world.texts("chat_sms") == ["STOP"]
    assert len(choices_of(world, AHMAD).open) == 1


def test_inviting_again_asks_once() -> None:
    world = stage()
    invite(world)
    invite(world)
    assert len(world.messages("chat_sms")) == 1


@pytest.mark.parametrize(
    ("error", "asked"), [(Transient("throttled"), 1), (Unprocessable("too long for SMS"), 0)]
)
def test_invitation_is_in_the_app_until_the_question_by_sms_works(
    error: SkeinError, asked: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = stage()
    job = InvitationJob(tenant=TENANT, user_id=AHMAD.id)

    def failing(*_: Any, **__: Any) -> Any:
        raise error

    world.app.chat_admin.add_member(TENANT, "chat_1", HUSAM, AHMAD.ref)
    meet(world)
    with monkeypatch.context() as patch:
        patch.setattr(Asking, "ask", failing)
        with suppress(Transient):
            world.app.invitation_texts.ask(job)
    [listed] = world.app.get(OpenChoices).of(TENANT, AHMAD.id)
    assert (listed.chat.id, listed.message) == ("chat_1", None)
    world.app.invitation_texts.ask(job)
    assert len(world.messages("chat_sms")) == asked
    assert not is_due(world)


@pytest.mark.parametrize(
    "ends",
    [
        lambda world: world.clock.advance(DAY),
        lambda world: join(world, accept=False),
        lambda world: world.app.chat_admin.discard(TENANT, "chat_1", HUSAM.ref),
    ],
)
def test_invitation_that_is_over_before_the_question_is_due_no_more(
    ends: Callable[[World], None],
) -> None:
    world = stage()
    world.app.chat_admin.add_member(TENANT, "chat_1", HUSAM, AHMAD.ref)
    assert is_due(world)
    ends(world)
    world.app.invitation_texts.ask(InvitationJob(tenant=TENANT, user_id=AHMAD.id))
    assert not is_due(world)
    assert world.messages("chat_sms") == []


def test_new_chat_asks_each_invited_person_on_sms() -> None:
    world = stage()
    members = tuple(MemberRequest(kind="user", id=who.id) for who in (AHMAD, SARAH))
    new = NewChat(kind="group", title="Trip", members=members)
    chat = world.app.chat_admin.create(TENANT, HUSAM, new).chat
    meet(world)
    world.drain()
    assert [each.member for each in chat.invited] == [AHMAD, SARAH]
    assert [message.kind for message in world.messages("chat_sms")] == ["choice"]


# ---------------------------------------------------------------------- what is kept


def test_expired_invitations_are_forgotten_on_both_sides() -> None:
    world = stage()
    for n in range(8):
        world.chat(HUSAM, chat_id=f"chat_more_{n}")
        invite(world, SARAH, f"chat_more_{n}")
        world.clock.advance(DAY)
    kept = stored(world, SARAH).invited_in
    naming = [f"chat_more_{n}" for n in range(8) if world.stored_chat(f"chat_more_{n}").invited]
    assert set(naming) <= set(kept)
    assert len(kept) <= MAX_INVITATIONS


def test_invitation_to_a_chat_names_it_until_it_is_over() -> None:
    world = stage()
    invite(world, SARAH)
    assert stored(world, SARAH).invited_in == ("chat_1",)
    world.app.invitations.answer(TENANT, "chat_1", SARAH.ref, accept=True)
    assert (stored(world, SARAH).invited_in, stored(world, SARAH).open) == ((), ())


def test_hours_of_a_choice_limit_an_invitation() -> None:
    world = stage()
    world.app.tenant_settings.change(
        TENANT, TenantOverridesChange.model_validate({"choice_hours": 1})
    )
    invite(world)
    world.clock.advance(3_600)
    with pytest.raises(Conflict):
        join(world)


def test_a_limit_of_one_person_refuses_the_whole_chat() -> None:
    world = stage()
    for n in range(MAX_INVITATIONS):
        world.chat(HUSAM, chat_id=f"chat_more_{n}")
        invite(world, SARAH, f"chat_more_{n}")
    members = tuple(MemberRequest(kind="user", id=who.id) for who in (AHMAD, SARAH))
    with pytest.raises(RateLimited):
        world.app.chat_admin.create(TENANT, HUSAM, NewChat(kind="group", members=members))
    assert choices_of(world, AHMAD).open == ()


def test_renamed_person_joins_with_the_name_of_now() -> None:
    world = stage()
    invite(world)
    world.known(person(AHMAD.id, "Ahmad B."))
    join(world)
    assert [member.name for member in world.stored_chat().roster][-1] == "Ahmad B."


def test_accepting_an_invitation_to_a_private_chat_updates_its_readers() -> None:
    world = stage()
    world.chat(HUSAM, COACH, chat_id="chat_2", visibility="private", respond="manual")
    world.post("A secret", HUSAM, chat_id="chat_2")
    invite(world, AHMAD, "chat_2")
    assert world.stored_chat("chat_2").readers.people == (HUSAM.id,)
    join(world, chat_id="chat_2")
    chat = world.stored_chat("chat_2")
    assert chat.readers.people == tuple(sorted((HUSAM.id, AHMAD.id)))
    assert chat.joined_late == {f"user#{AHMAD.id}": 1}


def test_person_who_is_not_invited_cannot_answer() -> None:
    with pytest.raises(NotFound):
        join(stage())
