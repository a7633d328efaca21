"""Invitations of strangers by SMS: first without a word of the inviter, then by name."""

import re
from datetime import timedelta
from typing import Any

import pytest

from skein.errors import Unprocessable
from skein.models.api.chats import MemberRequest, NewChat
from skein.models.chats.chat import Chat
from skein.models.chats.choice import NO, SEE, YES
from skein.models.common.base import NamedMember
from skein.models.config.overrides import TenantOverridesChange
from skein.models.quotas.usage import user_usage_key
from skein.services.chats.views import ChatViews
from skein.services.choices.open_choices import OpenChoices
from skein.services.choices.wording import YES_NO
from skein.settings import Settings
from tests.support.builders import NOON, TENANT, World, person
from tests.support.choices import answer, choices_of
from tests.support.first_contact import reachable, text_in

MALLORY = person("usr_mallory", "Mallory evil.example")
PERSON = person("usr_0", "Person 0")
TITLE = "Win at https://evil.example/pay"
NIGHT, MORNING = timedelta(hours=14, minutes=18), timedelta(hours=20)  # after noon


def phone_of(number: int) -> str:
    return f"+1202555{number:04}"


def stage(
    people: int = 1, *, consent: bool = True, team: str | None = "Acme", **settings: Any
) -> World:
    """Mallory in the app, and people on SMS who share no chat with him."""
    world = World(settings=Settings(**settings))
    world.agent()
    world.line()
    world.known(MALLORY)
    if team is not None:
        change = TenantOverridesChange.model_validate({"team_name": team})
        world.app.tenant_settings.change(TENANT, change)
    for number in range(people):
        given = (f"usr_{number}", f"Person {number}", phone_of(number))
        reachable(world, *given, consent=False)
        text_in(world, "START", f"SM{number}", phone_of(number))
        if not consent:
            reachable(world, *given, consent=False)
    world.drain()
    world.sms.taken.clear()
    return world


def invite(world: World, *people: int) -> Chat:
    members = tuple(MemberRequest(kind="user", id=f"usr_{each}") for each in people)
    new = NewChat(kind="group", title=TITLE, members=members)
    chat = world.app.chat_admin.create(TENANT, MALLORY, new).chat
    world.drain()
    return chat


def bodies(world: World) -> list[str]:
    return world.sms.bodies


def code_in(body: str) -> str:
    [code] = re.findall(r"Reply (\d+)", body)
    return str(code)


def reply(world: World, body: str, sid: str = "SM-reply") -> None:
    text_in(world, body, sid, phone_of(0))
    world.drain()


def later(world: World, after_noon: timedelta) -> None:
    world.clock.set(NOON + after_noon)
    world.tick()
    world.drain()


def own_chat(world: World) -> str:
    """The chat of the person with the agent."""
    [own] = world.app.get(ChatViews).direct_chats(TENANT, PERSON.id, limit=10).items
    return own.chat.id


def used(world: World, who: NamedMember) -> tuple[int, int]:
    """The SMS and segments of today that count for a person."""
    item = world.table.get(user_usage_key(TENANT, world.clock.now(), who.id)) or {}
    return int(item.get("texts#sms", 0)), int(item.get("units#sms", 0))


def test_stranger_inviting_twenty_people_at_night_sends_nothing_in_their_words() -> None:
    world = stage(people=20)
    world.clock.set(NOON + NIGHT)
    invite(world, *range(20))
    assert bodies(world) == []

    later(world, MORNING)
    assert len(bodies(world)) == 5
    assert not [body for body in bodies(world) if "evil" in body or "Mallory" in body]


def test_announcement_says_how_to_see_who_invites_and_how_to_stop() -> None:
    world = stage()
    invite(world, 0)
    [body] = bodies(world)
    code = code_in(body)
    assert body == (
        "Somebody at Acme with whom you share no chat invites you to a group. "
        f"Reply {code} to see who. STOP ends texts."
    )
    [listed] = choices_of(world, PERSON).open
    assert listed.codes == {SEE: code}


def test_announcement_of_tenant_without_team_name_names_no_team() -> None:
    world = stage(team=None)
    invite(world, 0)
    [body] = bodies(world)
    assert body.startswith("Somebody with whom you share no chat invites you to a group. Reply ")


def test_answer_to_announcement_brings_the_named_question_without_links() -> None:
    world = stage()
    chat = invite(world, 0)
    reply(world, code_in(bodies(world)[0]))
    _, question = bodies(world)
    assert question.startswith(
        'Mallory evil. example invites you to "Win at https: //evil. example/pay" '
        "(Mallory evil. example). Join? Yes adds you."
    )
    assert not world.stored_chat(chat.id).has(PERSON.ref)
    [listed] = choices_of(world, PERSON).open
    assert (listed.invited_to, set(listed.codes)) == (chat.id, {YES, NO})


@pytest.mark.parametrize(("label", "joins"), [("Yes", True), ("No", False)])
def test_only_yes_to_the_named_question_joins(label: str, joins: bool) -> None:
    world = stage()
    chat = invite(world, 0)
    reply(world, code_in(bodies(world)[0]))
    reply(world, re.findall(rf"{label}: reply (\d+)", bodies(world)[1])[0], "SM-again")
    assert world.stored_chat(chat.id).has(PERSON.ref) is joins
    assert world.stored_chat(chat.id).invited == ()
    assert choices_of(world, PERSON).open == ()


def test_yes_to_an_announcement_does_not_join() -> None:
    world = stage()
    chat = invite(world, 0)
    own = own_chat(world)
    [asked] = [each for each in world.messages(own) if each.choice is not None]
    with pytest.raises(Unprocessable):
        answer(world, asked.seq, PERSON, chat_id=own, option=YES)
    assert not world.stored_chat(chat.id).has(PERSON.ref)


def test_invitation_in_the_app_still_names_who_invites() -> None:
    world = stage()
    chat = invite(world, 0)
    [listed] = world.app.get(OpenChoices).of(TENANT, PERSON.id)
    assert (listed.chat.id, listed.choice.options) == (chat.id, YES_NO)
    world.app.invitations.answer(TENANT, chat.id, PERSON.ref, accept=True)
    assert world.stored_chat(chat.id).has(PERSON.ref)


def test_withdrawn_invitation_leaves_nothing_to_see() -> None:
    world = stage()
    chat = invite(world, 0)
    world.app.chat_admin.remove_member(TENANT, chat.id, MALLORY.ref, PERSON.ref)
    reply(world, code_in(bodies(world)[0]))
    assert not [body for body in bodies(world) if "evil" in body]


def test_person_without_consent_gets_no_announcement() -> None:
    world = stage(consent=False)
    invite(world, 0)
    later(world, MORNING)
    assert bodies(world) == []
    assert len(choices_of(world, PERSON).open) == 1


def test_announcement_comes_when_quiet_hours_end() -> None:
    world = stage()
    world.clock.set(NOON + NIGHT)
    invite(world, 0)
    later(world, MORNING - timedelta(minutes=1))
    assert bodies(world) == []
    later(world, MORNING)
    assert len(bodies(world)) == 1


def test_sixth_announcement_of_an_inviter_comes_when_the_limit_allows() -> None:
    world = stage(people=6)
    invite(world, *range(6))
    assert len(bodies(world)) == 5
    later(world, timedelta(hours=4, minutes=40))
    assert len(bodies(world)) == 5
    later(world, timedelta(hours=5))
    assert len(bodies(world)) == 6


def test_segments_of_an_invitation_are_charged_to_the_inviter() -> None:
    world = stage()
    before = used(world, PERSON)
    invite(world, 0)
    reply(world, code_in(bodies(world)[0]))
    assert len(bodies(world)) == 2
    assert used(world, PERSON) == before
    *_, announced, named = world.deliveries(own_chat(world))
    segments = sum(part.segments for each in (announced, named) for part in each.parts)
    assert used(world, MALLORY) == (2, segments)


def test_inviter_without_segments_left_sends_nothing() -> None:
    world = stage(people=2, user_segments_per_day=1)
    invite(world, 0, 1)
    assert len(bodies(world)) == 1


def test_person_who_shares_a_chat_by_then_gets_the_named_question_at_once() -> None:
    world = stage()
    world.clock.set(NOON + NIGHT)
    invite(world, 0)
    world.chat(MALLORY, PERSON, chat_id="chat_both")
    later(world, MORNING)
    [body] = bodies(world)
    assert body.startswith("Mallory evil. example invites you to ")


def test_acquaintance_who_is_removed_and_invited_again_gets_five_texts_a_day() -> None:
    world = stage()
    for chat_id in ("chat_both", "chat_team"):
        world.chat(MALLORY, PERSON, chat_id=chat_id)
    for _ in range(6):
        world.app.chat_admin.remove_member(TENANT, "chat_team", MALLORY.ref, PERSON.ref)
        world.app.chat_admin.add_member(TENANT, "chat_team", MALLORY, PERSON.ref)
        world.drain()
        world.clock.advance(60)
    assert len(bodies(world)) == 5
    assert all(body.startswith("Mallory evil. example invites you to ") for body in bodies(world))
