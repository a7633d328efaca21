"""Consents: exactly the words that a person saw are posted, once, and nowhere else."""

from datetime import timedelta
from typing import Any

import pytest

from skein.models.chats.chat import Message
from skein.models.chats.choice import Choice, Destination, Option, Proposal
from skein.models.chats.consent import Consent, ConsentData
from skein.models.common.storage import Delete, Missing, Put
from skein.models.visibility.audience import OPEN, Audience
from tests.support.builders import NOON, TENANT, World, bot, person

ALICE, BEN, CAROL = person("alice", "Alice"), person("ben", "Ben"), person("carol", "Carol")
COACH = bot()
WORDS = "Alice is late"


def readers(*ids: str) -> Audience:
    return Audience(open=False, people=tuple(sorted(ids)))


def private(world: World, *people: Any, chat_id: str = "chat_team", **fields: Any) -> Destination:
    fields = {"kind": "group", "visibility": "private", "title": "Team"} | fields
    chat = world.chat(*people, COACH, chat_id=chat_id, **fields)
    return Destination(chat_id=chat_id, title=chat.title or "", readers=chat.readers)


def proposed(*destinations: Destination) -> Proposal:
    return Proposal(agent_id=COACH.id, text=WORDS, destinations=destinations)


def ask(world: World, *destinations: Destination) -> Message:
    """A question to Alice in her direct chat with the agent."""
    choice = Choice(
        question=f'Post in "Team": "{WORDS}"?',
        options=(Option(id="yes", label="Yes"), Option(id="no", label="No")),
        addressee=ALICE.id,
        purpose="consent",
        expires_at=world.clock.now() + timedelta(days=1),
        data=ConsentData(proposal=proposed(*destinations)).attributes(),
    )
    return world.post(choice.question, COACH, kind="choice", choice=choice).message


def agree(world: World, *destinations: Destination) -> Consent:
    """Alice says yes: the consent is stored as the answer's transaction stores it."""
    question, proposal = ask(world, *destinations), proposed(*destinations)
    consent = Consent.of(question, proposal, user_id=ALICE.id, at=world.clock.now())
    world.table.write(Put(consent.key, consent.to_item(world.clock.now()), Missing()))
    return consent


def carry_out(world: World, consent: Consent) -> Consent:
    world.app.consents.post(consent.job, audit=world.app.audit.add_consent)
    return stored(world, consent)


def stored(world: World, consent: Consent) -> Consent:
    item = world.table.get(consent.key)
    assert item is not None
    return Consent.from_item(item)


def is_due(world: World, consent: Consent) -> bool:
    item = world.table.get(consent.key)
    return item is not None and "gsi2pk" in item


@pytest.fixture
def world() -> World:
    world = World()
    world.agent()
    world.known(ALICE, BEN, CAROL)
    world.chat(ALICE, COACH, kind="direct", visibility="private")
    return world


def test_post_is_the_persons_own_and_names_the_agent(world: World) -> None:
    team = private(world, ALICE, BEN)
    consent = agree(world, team)

    after = carry_out(world, consent)

    [message] = world.messages("chat_team")
    assert (message.text, message.sender.ref, message.kind) == (WORDS, ALICE.ref, "text")
    assert message.via == consent.via
    assert message.via is not None
    assert (message.via.agent_id, message.via.chat_id) == (COACH.id, "chat_1")
    assert message.run_id is None
    assert [(post.status, post.seq) for post in after.posts] == [("posted", 1)]
    assert not is_due(world, consent)


def test_post_wakes_agents_as_if_the_person_had_typed_the_words(world: World) -> None:
    carry_out(world, agree(world, private(world, ALICE, BEN)))

    [run] = world.runs("chat_team")
    assert run.trigger.by == ALICE.ref
    assert run.chain_depth == 0


def test_consented_post_keeps_read_position_and_route(world: World) -> None:
    team = private(world, ALICE, BEN)
    world.post("Is everybody there?", BEN, chat_id="chat_team")
    before = world.membership(ALICE, "chat_team")

    carry_out(world, agree(world, team))

    after = world.membership(ALICE, "chat_team")
    assert (after.seen_seq, after.route) == (before.seen_seq, before.route)


def test_words_that_are_a_reset_phrase_reset_nothing(world: World) -> None:
    world.agent("agt_b", "Banker")
    banker = bot("agt_b", "Banker")
    fields = {"kind": "direct", "visibility": "private", "title": "Bank"}
    chat = world.chat(ALICE, banker, chat_id="chat_bank", **fields)
    bank = Destination(chat_id=chat.id, title="Bank", readers=chat.readers)
    consent = Consent.of(ask(world, bank), proposed(bank), user_id=ALICE.id, at=world.clock.now())
    consent = consent.model_copy(update={"text": "start over"})
    world.table.write(Put(consent.key, consent.to_item(world.clock.now()), Missing()))
    carry_out(world, consent)
    [message] = world.messages("chat_bank")
    assert (message.text, message.resets) == ("start over", False)


def test_job_again_posts_nothing_more(world: World) -> None:
    consent = agree(world, private(world, ALICE, BEN))
    carry_out(world, consent)

    carry_out(world, consent)

    assert world.texts("chat_team") == [WORDS]


def test_lost_job_is_sent_by_the_tick(world: World) -> None:
    agree(world, private(world, ALICE, BEN))

    world.clock.advance(60)
    world.tick()
    world.drain()

    assert world.texts("chat_team")[0] == WORDS


def test_one_consent_posts_in_each_of_its_chats(world: World) -> None:
    team = private(world, ALICE, BEN)
    town = private(world, ALICE, chat_id="chat_town", visibility="open", title="Town")

    after = carry_out(world, agree(world, team, town))

    assert world.texts("chat_team") == world.texts("chat_town") == [WORDS]
    assert [post.status for post in after.posts] == ["posted", "posted"]


def test_person_who_joined_since_the_question_stops_the_post(world: World) -> None:
    team = private(world, ALICE, BEN)
    consent = agree(world, team)
    add(world, CAROL)

    after = carry_out(world, consent)

    assert world.texts("chat_team") == []
    assert [post.failure for post in after.posts] == ["readers_changed"]
    assert notices(world) == [
        'Not posted in "Team": people have joined who were not named in the question.'
    ]


def test_invited_person_does_not_stop_the_post(world: World) -> None:
    consent = agree(world, private(world, ALICE, BEN))
    stranger = person("dora", "Dora")
    world.known(stranger)
    world.app.chat_admin.add_member(TENANT, "chat_team", ALICE, stranger.ref)

    carry_out(world, consent)

    assert world.texts("chat_team") == [WORDS]


def test_person_who_left_since_the_question_does_not_stop_the_post(world: World) -> None:
    consent = agree(world, private(world, ALICE, BEN, CAROL))
    remove(world, BEN)

    carry_out(world, consent)

    assert world.texts("chat_team") == [WORDS]


def test_consented_post_after_leaving_is_dropped_with_a_notice(world: World) -> None:
    consent = agree(world, private(world, ALICE, BEN))
    remove(world, ALICE)

    after = carry_out(world, consent)

    assert world.texts("chat_team") == []
    assert [post.failure for post in after.posts] == ["left"]
    assert notices(world) == ['Not posted in "Team": you are no longer a member of it.']
    assert not is_due(world, consent)


def test_discarded_chat_gets_no_post_and_the_others_do(world: World) -> None:
    team = private(world, ALICE, BEN)
    town = private(world, ALICE, chat_id="chat_town", visibility="open", title="Town")
    consent = agree(world, team, town)
    world.app.chat_admin.discard(TENANT, "chat_team", ALICE.ref)

    after = carry_out(world, consent)

    assert [post.status for post in after.posts] == ["failed", "posted"]
    assert notices(world) == ['Not posted in "Team": the chat was discarded.']
    [notice] = [message for message in world.messages() if message.kind == "notice"]
    assert notice.reply_to == consent.choice_seq


def test_consent_that_waits_for_a_day_posts_nothing(world: World) -> None:
    consent = agree(world, private(world, ALICE, BEN))
    world.clock.advance(timedelta(days=1).total_seconds())

    carry_out(world, consent)

    assert world.texts("chat_team") == []
    assert notices(world) == ['Not posted in "Team": more than a day has passed.']


def test_agent_that_has_left_the_question_leaves_no_work_behind(world: World) -> None:
    consent = agree(world, private(world, ALICE, BEN))
    remove(world, ALICE)
    world.close_membership(COACH)

    after = carry_out(world, consent)

    assert after.over
    assert not is_due(world, consent)
    assert notices(world) == []


def test_erased_consent_posts_nothing(world: World) -> None:
    consent = agree(world, private(world, ALICE, BEN))
    world.table.write(Delete(consent.key))

    world.app.consents.post(consent.job, audit=world.app.audit.add_consent)

    assert world.texts("chat_team") == []


def test_consent_has_one_audit_entry_without_words(world: World) -> None:
    consent = agree(world, private(world, ALICE, BEN))
    carry_out(world, consent)
    world.app.audit.add_consent(consent)

    [entry] = world.app.audit.of_day(TENANT, day=NOON.date()).items
    assert (entry.who, entry.verb, entry.kind) == (ALICE.id, "create", "consent")
    assert entry.ids["posted_in_1"] == "chat_team"
    assert WORDS not in entry.model_dump_json()


def test_list_has_the_newest_consent_first(world: World) -> None:
    team = private(world, ALICE, BEN)
    first, second = agree(world, team), agree(world, team)

    listed = world.app.consents.list(TENANT, ALICE.id)

    assert [consent.id for consent in listed.items] == [second.id, first.id]
    assert world.app.consents.list(TENANT, BEN.id).items == ()


def test_open_destination_stays_open_to_everyone(world: World) -> None:
    private(world, ALICE, chat_id="chat_town", visibility="open", title="Town")
    consent = agree(world, Destination(chat_id="chat_town", title="Town", readers=OPEN))
    add(world, CAROL, "chat_town")

    carry_out(world, consent)

    assert world.texts("chat_town") == [WORDS]


def notices(world: World) -> list[str]:
    return [message.text for message in world.messages() if message.kind == "notice"]


def add(world: World, member: Any, chat_id: str = "chat_team") -> None:
    world.add(member, by=ALICE, chat_id=chat_id)


def remove(world: World, member: Any, chat_id: str = "chat_team") -> None:
    world.app.chat_admin.remove_member(TENANT, chat_id, ALICE.ref, member.ref)
