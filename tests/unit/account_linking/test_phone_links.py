"""A person with several numbers is one: their chats, their profile, what agents keep for them."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from itertools import product
from typing import Any

import pytest

from skein.errors import Conflict, NotFound, Unprocessable
from skein.memory.models.memory import Memory
from skein.models.api.directory import NewUser, OwnChange, UserChange
from skein.models.chats.borrowed import BorrowedContext, BorrowedMessage
from skein.models.chats.consent import Consent, ConsentedDestination
from skein.models.chats.membership import Membership
from skein.models.chats.origin import Origin
from skein.models.chats.summary import PinnedSummary, Summary
from skein.models.common.address import phone_address
from skein.models.common.base import MemberRef, NamedMember
from skein.models.common.person_names import tagged
from skein.models.common.quiet_hours import QuietHours
from skein.models.common.storage import MAX_TRANSACTION_ITEMS, Item, Key, Put, Query, Update, Write
from skein.models.delivery.sms import InboundSms
from skein.models.directory.address_index import AddressOwner
from skein.models.directory.user import Merge, User
from skein.models.items.agent_item import REVISION
from skein.models.outbox.jobs import RecallJob, SummaryJob
from skein.models.runs.completion import ModelRequest
from skein.models.runs.run import Run
from skein.models.runs.trigger import Wait
from skein.models.visibility.audience import OPEN, Audience
from skein.models.visibility.ownership import Owner, Reach, owned_partition
from skein.planning.models.goal import Goal
from skein.planning.models.plan import Plan
from skein.services.chats.post_message import PostedMessage
from skein.workspace import thread_changes as changes
from skein.workspace.document_edits import Author
from skein.workspace.models.document import DocumentReach, Folder
from tests.support.agents import rival, settle
from tests.support.api_client import Client, operator
from tests.support.builders import LINE, NOON, PHONE, TENANT, World, bot, live, person
from tests.support.choices import answer, ask, choice_in, choices_of
from tests.support.fakes import NOTHING_NEW, MeanwhileTable, calls
from tests.support.number_codes import CODE, link_number, prove
from tests.support.routes import sms_route
from tests.support.template import running

ANN = person("usr_ann", "Ann")
BEN = person("usr_ben", "Ben")
COACH = bot()
SECOND = "+15005550101"
OTHER_LINE = "+15005550007"
ACCOUNT = "AC00000000000000000000000000000001"


def called(**fields: Any) -> World:
    """A line and its agent; Ann is on record, and nobody has texted yet."""
    world = World(overrides={"table": MeanwhileTable()})
    world.table = rival(world)
    world.agent(**fields)
    world.line()
    world.app.users.create(TENANT, NewUser(id=ANN.id, name=ANN.name))
    return world


def text(world: World, body: str = "Hi", *, phone: str = PHONE, line: str = LINE) -> PostedMessage:
    return again(world, body, f"SM{world.ids.ulid()}", phone=phone, line=line)


def again(
    world: World, body: str, sid: str, *, phone: str = PHONE, line: str = LINE
) -> PostedMessage:
    sms = InboundSms(account_sid=ACCOUNT, message_sid=sid, sender=phone, recipient=line, body=body)
    posted = world.app.sms_receiver.receive(sms)
    assert posted is not None
    return posted


def link(world: World, phone: str = PHONE, who: NamedMember = ANN) -> User:
    with running("AdminApi"):
        return link_number(world, who.id, phone)


def unlink(world: World, phone: str = PHONE) -> User:
    with running("AdminApi"):
        return world.app.phone_links.unlink(TENANT, ANN.id, phone)


def owner(world: World, phone: str = PHONE) -> str | None:
    item = world.table.get(AddressOwner.key_of(TENANT, phone_address(phone)))
    return AddressOwner.from_item(item).user_id if item else None


def membership(world: World, chat_id: str, who: MemberRef = ANN) -> Membership:
    return world.membership(MemberRef(kind=who.kind, id=who.id), chat_id)


def app_chat(world: World, chat_id: str = "chat_app") -> str:
    """Ann's own direct chat with the agent, in the app."""
    return world.chat(ANN, COACH, chat_id=chat_id, kind="direct", visibility="private").id


def answered(world: World) -> None:
    world.drain()


def sms_to(world: World) -> list[str]:
    return [sms.phone for sms, _ in world.sms.taken]


def kept(world: World, user_id: str) -> list[str]:
    """What the agent keeps for one person alone."""
    partition = owned_partition(TENANT, COACH.id, f"user:{user_id}")
    return [
        item["sk"] for item in world.table.query(Query(partition)).items if item["sk"] != REVISION
    ]


def write_for(world: World, user_id: str, name: str) -> None:
    """Let the agent keep a document for one person alone."""
    audience = Audience(open=False, people=(user_id,))
    folder = Folder(tenant=TENANT, agent_id=COACH.id, scope=f"user:{user_id}")
    world.app.documents.write(
        DocumentReach(folders=(folder,), readers=audience),
        name,
        f"Of {user_id}",
        new_in=folder,
        author=Author(audience=audience),
    )


# ---------------------------------------------------------------------- who it turns out to be


def test_link_phone_merges_caller_into_user_in_the_same_chat() -> None:
    world = called()
    before = text(world, "It is me")
    answered(world)
    user = link(world)
    after = text(world, "Still me")
    chat = world.stored_chat(before.message.chat_id)
    assert user.phones == (PHONE,)
    assert after.message.chat_id == before.message.chat_id
    assert (after.message.seq, after.message.sender) == (3, ANN)
    assert chat.roster == (ANN, COACH)
    assert before.message.sender.name == "Caller 0100"
    assert world.texts(chat.id) == ["It is me", "Hello!", "Still me"]


def test_link_phone_shows_callers_messages_as_the_users() -> None:
    world = called()
    chat_id = text(world, "It is me").message.chat_id
    answered(world)
    link(world)
    text(world, "Still me")
    answered(world)
    asked = world.model.requests[-1].messages
    assert [message.content for message in asked if message.role == "user"] == [
        "[Ann (human)] It is me",
        "[Ann (human)] Still me",
    ]
    app = Client(world, sub=ANN.id)
    shown = app.get(f"/v1/chats/{chat_id}/messages").body["items"]
    assert [message["sender"]["name"] for message in shown] == ["Ann", "Coach"] * 2
    assert {message["sender"]["id"] for message in shown[::2]} == {ANN.id}
    assert world.messages(chat_id)[0].sender.name == "Caller 0100"


def test_link_phone_ends_the_callers_open_questions() -> None:
    world = called()
    message = text(world, "It is me").message
    answered(world)
    caller = NamedMember(kind="user", id=message.sender.id, name="Caller")
    chat_id = message.chat_id
    ask(world, caller, chat_id=chat_id)
    link(world)
    assert choice_in(world, 3, chat_id).status(world.clock.now()) == "expired"
    with pytest.raises(Conflict):
        answer(world, 3, ANN, chat_id=chat_id)
    assert choices_of(world, caller).version == 0


def test_link_phone_ends_the_callers_invitations() -> None:
    world = called()
    message = text(world, "It is me").message
    answered(world)
    caller = NamedMember(kind="user", id=message.sender.id, name="Caller")
    world.known(BEN)
    world.chat(BEN, COACH, chat_id="chat_bens", respond="manual")
    world.app.chat_admin.add_member(TENANT, "chat_bens", BEN, caller.ref)
    link(world)
    assert world.stored_chat("chat_bens").invited == ()
    assert choices_of(world, caller).version == 0


def test_link_phone_carries_over_no_consents() -> None:
    world = called()
    caller = text(world, "It is me").message
    answered(world)
    post = ConsentedDestination(chat_id="chat_1", title="Office", readers=OPEN)
    yes = Consent(
        tenant=TENANT,
        user_id=caller.sender.id,
        id="msg_1",
        chat_id=caller.chat_id,
        choice_seq=1,
        agent_id=COACH.id,
        agent_name=COACH.name,
        text="I moved",
        posts=(post,),
        created_at=NOON,
    )
    world.table.write(Put(yes.key, yes.attributes()))
    link(world)
    assert world.app.consents.list(TENANT, ANN.id).items == ()


def test_link_phone_without_the_code_changes_nothing() -> None:
    world = called()
    chat_id = text(world, "It is me").message.chat_id
    answered(world)
    before = world.stored_chat(chat_id)
    with pytest.raises(Conflict, match="code"):
        world.app.phone_links.link(TENANT, ANN.id, PHONE, code=CODE)
    prove(world.table, world.clock, BEN.id, PHONE)
    with pytest.raises(Conflict, match="code"):
        world.app.phone_links.link(TENANT, ANN.id, PHONE, code=CODE)
    assert world.stored_chat(chat_id) == before
    assert owner(world) != ANN.id


def test_link_phone_to_a_visitor_is_refused_even_with_the_code() -> None:
    world, visitor = called(), person("vis_1", "Visitor")
    world.known(visitor)
    caller = text(world, "It is me").message.sender.id
    prove(world.table, world.clock, visitor.id, PHONE)
    with pytest.raises(Unprocessable, match="visitor"):
        world.app.phone_links.link(TENANT, visitor.id, PHONE, code=CODE)
    assert owner(world) == caller


def test_code_links_once() -> None:
    world = called()
    link(world)
    unlink(world)
    with pytest.raises(Conflict, match="code"):
        world.app.phone_links.link(TENANT, ANN.id, PHONE, code=CODE)


def test_link_phone_merges_two_callers_into_one_user() -> None:
    world = called()
    first, second = text(world, phone=PHONE).message, text(world, phone=SECOND).message
    answered(world)
    link(world, PHONE, second.sender)
    world.app.phone_links.unlink(TENANT, second.sender.id, SECOND)
    user = link(world)
    assert user.former_ids == (first.sender.id, second.sender.id)
    chat = world.stored_chat(first.chat_id)
    assert chat.formerly == {first.sender.id: ANN.id, second.sender.id: ANN.id}
    assert membership(world, chat.id).formerly == (first.sender.id, second.sender.id)
    shown = Client(world, sub=ANN.id).get(f"/v1/chats/{chat.id}/messages").body["items"]
    assert shown[0]["sender"]["id"] == ANN.id


def test_link_phone_keeps_the_chosen_name_of_the_person() -> None:
    """A chosen name stays chosen, and a caller's chosen name is not taken over."""
    world = called()
    users = world.app.users
    message = text(world).message
    caller = message.sender
    assert users.get(TENANT, caller.id).name_source == "given"
    users.change_own(TENANT, caller, OwnChange(name="Ann"))
    users.change_own(TENANT, ANN, OwnChange(name="Alice Ward"))
    answered(world)
    user = link(world)
    assert (user.name, user.name_source) == ("Alice Ward", "chosen")
    assert user.as_member.name == tagged("Alice Ward", TENANT, ANN.id)
    assert world.stored_chat(message.chat_id).roster == (user.as_member, COACH)


def test_link_phone_deletes_the_caller_and_merges_the_profile() -> None:
    world = called()
    caller = text(world).message.sender
    users = world.app.users
    night = QuietHours(from_="22:00", to="07:00")
    profile = {"goals": "5k", "pets": "cat"}
    change = UserChange(profile=profile, time_zone="Asia/Amman", quiet_hours=night)
    users.change(TENANT, caller.id, change)
    users.change(TENANT, ANN.id, UserChange(profile={"goals": "10k"}))
    answered(world)
    user = link(world)
    assert user == users.get(TENANT, ANN.id)
    assert user.profile == {"goals": "10k", "pets": "cat"}
    assert (user.time_zone, user.quiet_hours) == ("Asia/Amman", night)
    assert user.former_ids == (caller.id,)
    with pytest.raises(NotFound):
        users.get(TENANT, caller.id)
    assert [each.id for each in users.list(TENANT).items] == [ANN.id]


def test_the_app_shows_the_chat_of_the_phone_and_answers_go_where_ann_last_wrote() -> None:
    world = called()
    chat_id = text(world).message.chat_id
    answered(world)
    link(world)
    app = Client(world, sub=ANN.id, claims={"name": "Ann"})
    [listed] = app.get("/v1/chats").body["items"]
    assert listed["id"] == chat_id
    said = app.get(f"/v1/chats/{chat_id}/messages").body["items"]
    assert [message["text"] for message in said] == ["Hi", "Hello!"]
    assert sms_to(world) == [PHONE]

    posted = app.post(f"/v1/chats/{chat_id}/messages", {"text": "By app", "client_id": "1"})
    assert posted.status == 201
    answered(world)
    assert sms_to(world) == [PHONE]

    text(world, "By phone")
    answered(world)
    assert sms_to(world) == [PHONE, PHONE]
    assert world.texts(chat_id) == ["Hi", "Hello!", "By app", "Hello!", "By phone", "Hello!"]


def test_linked_numbers_keep_one_chat_per_number_and_line() -> None:
    world = called()
    world.line(phone=OTHER_LINE)
    chats = {
        (phone, line): text(world, phone=phone, line=line).message.chat_id
        for phone in (PHONE, SECOND)
        for line in (LINE, OTHER_LINE)
    }
    answered(world)
    link(world)
    link(world, SECOND)
    assert world.app.users.get(TENANT, ANN.id).phones == (PHONE, SECOND)
    for (phone, line), chat_id in chats.items():
        posted = text(world, "Me again", phone=phone, line=line)
        assert (posted.message.chat_id, posted.message.sender) == (chat_id, ANN)
        assert membership(world, chat_id).route == sms_route(line=line, phone=phone)
    assert len(set(chats.values())) == 4


def test_linking_an_unowned_number_assigns_it_to_the_person() -> None:
    world = called()
    link(world)
    assert link(world).phones == (PHONE,)
    assert text(world).message.sender == ANN


@pytest.mark.parametrize("more", [{"phones": (PHONE,)}, {"phones": (PHONE, SECOND)}])
def test_link_phone_of_another_known_user_is_refused(more: dict[str, Any]) -> None:
    world = called()
    world.app.users.create(TENANT, NewUser(id="usr_ben", name="Ben", **more))
    with pytest.raises(Conflict) as refused:
        link(world)
    assert refused.value.details == {"phones": [PHONE]}
    assert owner(world) == "usr_ben"


def test_link_phone_of_caller_with_second_number_is_refused() -> None:
    world = called()
    caller = text(world).message.sender
    link(world, SECOND, caller)
    answered(world)
    with pytest.raises(Conflict):
        link(world)


def test_a_person_has_twenty_numbers_at_most() -> None:
    world = called()
    for n in range(20):
        link(world, f"+150055502{n:02d}")
    with pytest.raises(Conflict, match="20"):
        link(world)


@pytest.mark.parametrize(("tenant", "user_id"), [(TENANT, "usr_nobody"), ("other", ANN.id)])
def test_link_phone_of_unknown_user_is_not_found(tenant: str, user_id: str) -> None:
    world = called()
    with pytest.raises(NotFound):
        link_number(world, user_id, PHONE, tenant=tenant)
    with pytest.raises(NotFound):
        world.app.phone_links.unlink(tenant, user_id, PHONE)


# ---------------------------------------------------------------------- what goes along


def test_link_phone_moves_items_to_the_user_in_all_chats() -> None:
    world = called()
    caller = text(world).message.sender
    answered(world)
    audience = Audience(open=False, people=(caller.id,))
    scope = f"user:{caller.id}"
    mine = Owner(tenant=TENANT, agent_id=COACH.id, scope=scope, audience=audience)
    goals, plans = world.app.goals, world.app.plans
    goal = goals.set(mine, "Get her to run")
    done = goals.set(mine, "Learn her name")
    goals.end(mine.reach, done.id, "completed")
    plans.set(mine, "nudge", "Nudge her", run_after="1 hour")
    memory = Memory(
        tenant=TENANT,
        agent_id=COACH.id,
        scope=scope,
        audience=audience,
        id="mem_1",
        kind="journal",
        text="She is tired",
        made_by="tool",
        fades_at=NOON + timedelta(days=7),
        created_at=NOON,
    )
    world.table.write(Put(memory.key, memory.to_item()))

    link(world)

    hers = Audience(open=False, people=(ANN.id,))
    scope = f"user:{ANN.id}"
    owner_ = Owner(tenant=TENANT, agent_id=COACH.id, scope=scope, audience=hers)
    assert kept(world, caller.id) == []
    [active] = live(goals, owner_.reach)
    assert (active.id, active.audience, active.scope) == (goal.id, hers, scope)
    assert goals.get(owner_.reach, done.id).status == "completed"
    [plan] = live(plans, owner_.reach)
    assert (plan.audience, plan.name) == (hers, "nudge")
    moved = world.table.get(memory.model_copy(update={"scope": scope}).key)
    assert moved is not None
    assert Memory.from_item(moved).audience == hers
    assert moved["gsi2sk"].split("#")[0] == memory.to_item()["gsi2sk"].split("#")[0]
    in_app = app_chat(world)
    sections = {s.name: s.text for s in world.app.preview.show(TENANT, COACH.id, in_app).sections}
    assert "Get her to run" in sections["GOALS"]
    assert "nudge" in sections["PLANS"]

    plans.set(owner_, "nudge", "Nudge her more", run_after="2 hours")
    [plan] = live(plans, owner_.reach)
    assert plan.instruction == "Nudge her more"
    world.clock.advance(3 * 3600)
    world.tick()
    fired = world.table.query(Query.under(f"{TENANT}#AGENT#{COACH.id}", "RUN#")).items
    assert [Run.from_item(item).audience for item in fired] == [hers]


def test_link_phone_keeps_the_persons_plan_if_both_have_one_of_that_name() -> None:
    world = called()
    caller = text(world).message.sender
    answered(world)
    for who, words in ((caller, "the caller's"), (ANN, "hers")):
        mine = Owner(
            tenant=TENANT,
            agent_id=COACH.id,
            scope=f"user:{who.id}",
            audience=Audience(open=False, people=(who.id,)),
        )
        world.app.plans.set(mine, "nudge", words, run_after="1 hour")
    link(world)
    partition = owned_partition(TENANT, COACH.id, f"user:{ANN.id}")
    plans = [
        Plan.from_item(item) for item in world.table.query(Query.under(partition, "PLAN#")).items
    ]
    assert [plan.instruction for plan in plans] == ["hers"]
    assert kept(world, caller.id) == []


def test_summaries_and_borrowed_words_are_shown_to_ann_as_they_were_to_the_caller() -> None:
    world = called()
    posted = text(world)
    answered(world)
    chat_id, caller = posted.message.chat_id, posted.message.sender
    audience = Audience(open=False, people=(caller.id,))
    summary = Summary(text="She runs.", from_seq=1, seq=2, audience=audience, at=NOON)
    pinned = PinnedSummary(text="She ran.", seq=1, start=2, from_seq=1, audience=audience)
    borrowed = BorrowedContext(
        tenant=TENANT,
        chat_id=chat_id,
        agent_id=COACH.id,
        staging="run_1:1:1",
        source_chat_id="chat_9",
        source_title="Elsewhere",
        messages=(
            BorrowedMessage(seq=1, author="Caller", sender=caller.ref, text="BorrowedItems words"),
            BorrowedMessage(seq=2, author="Ann", sender=BEN.ref, text="A namesake's words"),
        ),
        audience=audience,
        last_message_at=NOON,
        created_at=NOON,
    )
    world.table.write(Put(borrowed.key, borrowed.to_item()))
    change = {
        "summary": summary.model_dump(mode="json"),
        "pinned": pinned.model_dump(mode="json"),
    }
    world.table.write(Update(world.stored_chat(chat_id).key, set=change))
    note = {"summary": summary.model_dump(mode="json")}
    world.table.write(Update(membership(world, chat_id, COACH).key, set=note))

    link(world)

    hers = Audience(open=False, people=(ANN.id,))
    chat = world.stored_chat(chat_id)
    assert chat.summary == summary.model_copy(update={"audience": hers})
    assert chat.pinned == pinned.model_copy(update={"audience": hers})
    assert membership(world, chat_id, COACH).summary == summary.model_copy(
        update={"audience": hers}
    )
    prompt = [s.text for s in world.app.preview.show(TENANT, COACH.id, chat_id).sections]
    assert any("She ran." in section for section in prompt)
    [shown] = [section for section in prompt if "BorrowedItems words" in section]
    assert shown.splitlines()[3:] == [
        '  Ann: "BorrowedItems words"',
        '  Ann (2): "A namesake\'s words"',
    ]
    item = world.table.get(borrowed.key)
    assert item is not None
    staged = BorrowedContext.from_item(item)
    assert [said.sender for said in staged.messages] == [ANN.ref, BEN.ref]


@pytest.mark.parametrize("asked_in", ["chat_all", "chat_asked"])
def test_origin_of_a_caller_has_the_name_of_ann_after_the_link(asked_in: str) -> None:
    """The caller was a member of the chat of the message, or of the chat of the request."""
    world = called()
    caller = text(world).message.sender
    answered(world)
    world.known(BEN)
    both: dict[str, Any] = {"respond": "manual", "visibility": "open"}
    known = caller if asked_in == "chat_all" else ANN
    world.chat(known, BEN, COACH, chat_id="chat_all", **both)
    if asked_in == "chat_asked":
        world.chat(caller, COACH, chat_id=asked_in, **both)
    origin = Origin(
        chat_id=asked_in,
        chat_title="Asked",
        asked_by=caller.name,
        asker=caller.ref,
        text="Tell them",
        audience=OPEN,
    )
    world.post("Hello", COACH, chat_id="chat_all", origin=origin)

    def shown() -> str:
        sections = world.app.preview.show(TENANT, COACH.id, "chat_all").sections
        return next(each.text for each in sections if "[sent because" in each.text)

    assert f'[sent because {caller.name} asked "Tell them"' in shown()
    link(world)
    assert '[sent because Ann asked "Tell them"' in shown()


@pytest.mark.parametrize("agent_id", [COACH.id, None])
def test_a_summary_that_is_being_made_for_the_caller_is_not_kept(agent_id: str | None) -> None:
    world = called()
    chat_id = text(world, "It is me").message.chat_id
    for n in range(10):
        text(world, f"Text {n}")
    job = SummaryJob(tenant=TENANT, chat_id=chat_id, agent_id=agent_id)
    if agent_id:
        world.drain()  # no summary is made while a run is queued
        job = job.model_copy(update={"wanted_in": "chat_app"})

    def meanwhile(_: ModelRequest) -> str:
        link(world)
        return NOTHING_NEW

    world.model.summaries.append(meanwhile)

    def made_now() -> Summary | None:
        world.renew(job)
        keeper = membership(world, chat_id, COACH) if agent_id else world.stored_chat(chat_id)
        return keeper.summary

    assert made_now() is None
    made = made_now()
    assert made is not None
    assert made.audience.people == (ANN.id,)


def test_queued_run_of_a_merged_caller_answers_ann_and_owns_its_items_for_her() -> None:
    world = called(
        reply_mode="tools",
        history_format="timeline",
        enabled_tools=("set_goal", "send_message", "end_run"),
    )
    world.model.script.append(
        calls(("set_goal", {"text": "Run"}), ("send_message", {"text": "Yes"}), "end_run")
    )
    chat_id = text(world, "Shall I?").message.chat_id
    link(world)
    queued = membership(world, chat_id, COACH).queued_run
    assert queued is not None
    assert (queued.trigger.by, queued.audience.people) == (ANN.ref, (ANN.id,))
    answered(world)
    assert world.texts(chat_id) == ["Shall I?", "Yes"]
    assert sms_to(world) == [PHONE]
    [goal] = kept(world, ANN.id)
    assert goal.startswith("GOAL#")


def test_link_phone_during_a_run_is_a_conflict() -> None:
    world = called()
    caller = text(world).message.sender
    seen: list[str] = []

    def thinks(_: object) -> str:
        with pytest.raises(Conflict, match="an agent is running"):
            link(world)
        seen.append("tried")
        return "Hello!"

    world.model.script.append(thinks)
    answered(world)
    assert (seen, owner(world)) == (["tried"], caller.id)
    assert link(world).phones == (PHONE,)


def test_link_phone_while_a_run_waits_is_refused_with_the_end_of_the_wait() -> None:
    world = called()
    chat_id = text(world).message.chat_id
    answered(world)
    until = NOON + timedelta(days=7)
    wait = Wait(run_id="run_1", seq=1, until=until)
    agent = membership(world, chat_id, COACH).model_copy(update={"wait": wait})
    world.table.write(Update(agent.key, set={"wait": agent.attributes()["wait"]}))
    with pytest.raises(Conflict, match="waits for a reply until 2026-02-25T12:00:00") as refused:
        link(world)
    assert "minute" not in str(refused.value)
    assert refused.value.details == {"run_id": "run_1", "waits_until": "2026-02-25T12:00:00.000Z"}
    world.table.write(Update(agent.key, set={"wait": None}))
    assert link(world).phones == (PHONE,)


def test_sms_in_flight_during_link_is_sent_and_its_status_recorded() -> None:
    world = called()
    chat_id = text(world).message.chat_id
    world.clock.advance(5)
    for job in world.queues.ready("turns"):
        world.take(job)  # type: ignore[arg-type]
    link(world)
    answered(world)
    assert sms_to(world) == [PHONE]
    [delivery] = world.deliveries(chat_id)
    assert (delivery.user_id, delivery.status) == (ANN.id, "sent")


def test_link_phone_keeps_the_opt_out() -> None:
    world = called()
    chat_id = text(world, "STOP").message.chat_id
    link(world)
    assert membership(world, chat_id).opt_outs == {"sms": NOON}
    world.post("Hello?", COACH, chat_id=chat_id)
    answered(world)
    assert sms_to(world) == []


def test_link_phone_keeps_unread_counts_and_message_numbers() -> None:
    world = called()
    chat_id = text(world).message.chat_id
    answered(world)
    link(world)
    chat = Client(world, sub=ANN.id).get("/v1/chats").body["items"][0]
    assert (chat["unread"], chat["last_seq"]) == (1, 2)
    assert membership(world, chat_id).joined_seq == 0


def test_a_text_that_twilio_repeats_after_the_link_is_the_same_message() -> None:
    world = called()
    first = again(world, "once", "SM_once")
    answered(world)
    link(world)
    repeated = again(world, "once", "SM_once")
    assert (repeated.created, repeated.message) == (False, first.message)
    assert world.texts(first.message.chat_id) == ["once", "Hello!"]


# ---------------------------------------------------------------------- other chats


def test_link_phone_replaces_the_caller_in_other_chats() -> None:
    world = called()
    caller = text(world).message.sender
    answered(world)
    ben = person("usr_ben", "Ben")
    world.chat(ben, caller, COACH, chat_id="chat_g", visibility="private", respond="manual")
    world.chat(caller, ANN, COACH, chat_id="chat_h", visibility="private", respond="manual")
    world.post("Hi", caller, chat_id="chat_g")
    link(world)
    assert world.stored_chat("chat_g").roster == (ben, ANN, COACH)
    assert world.stored_chat("chat_h").roster == (ANN, COACH)
    assert (membership(world, "chat_g").active, membership(world, "chat_h").active) == (True, True)
    assert membership(world, "chat_g", caller).left_seq == 1
    listed = Client(world, sub=ANN.id).all_pages("/v1/chats")
    assert {"chat_g", "chat_h"} <= {chat["id"] for chat in listed}
    assert Client(world, sub=caller.id).get("/v1/chats").body["items"] == []


def test_link_phone_moves_items_of_private_groups() -> None:
    world = called()
    caller = text(world).message.sender
    answered(world)
    ben = person("usr_ben", "Ben")
    world.chat(ben, caller, COACH, chat_id="chat_g", visibility="private", respond="manual")
    both = Audience(open=False, people=tuple(sorted((ben.id, caller.id))))
    mine = Owner(tenant=TENANT, agent_id=COACH.id, scope="chat:chat_g", audience=both)
    goal = world.app.goals.set(mine, "Win")
    link(world)
    found = world.table.get(goal.key)
    assert found is not None
    assert Goal.from_item(found).audience.people == tuple(sorted((ANN.id, ben.id)))


def test_a_chat_in_which_an_agent_is_at_work_follows_later() -> None:
    world = called()
    caller = text(world).message.sender
    answered(world)
    ben = person("usr_ben", "Ben")
    world.chat(ben, caller, COACH, chat_id="chat_g")
    busy = membership(world, "chat_g", COACH)
    world.table.write(Update(busy.key, set={"running_run": "run_1_chat_g"}))
    link(world)
    assert caller in world.stored_chat("chat_g").roster
    world.clock.advance(61)
    world.tick()
    assert caller in world.stored_chat("chat_g").roster
    world.table.write(Update(busy.key, set={"running_run": None}))
    world.clock.advance(61)
    world.tick()
    assert world.stored_chat("chat_g").roster == (ben, ANN, COACH)


def test_link_phone_moves_items_stored_shortly_after_the_merge() -> None:
    """A worker had begun when the caller was a person of their own."""
    world = called()
    caller = text(world).message.sender
    answered(world)
    link(world)
    late = Owner(
        tenant=TENANT,
        agent_id=COACH.id,
        scope=f"user:{caller.id}",
        audience=Audience(open=False, people=(caller.id,)),
    )
    world.clock.advance(60)
    world.tick()
    goal = world.app.goals.set(late, "Late")
    world.clock.advance(15 * 60)
    world.tick()
    assert kept(world, ANN.id) == [f"GOAL#{goal.id}"]
    assert kept(world, caller.id) == []
    assert world.table.get(Merge.key_of(TENANT, caller.id)) is None


def test_link_phone_moves_open_threads_to_existing_user() -> None:
    world = called()
    caller = text(world).message.sender
    answered(world)
    agent = {"tenant": TENANT, "agent_id": COACH.id}
    people = {who.id: Audience(open=False, people=(who.id,)) for who in (caller, ANN)}
    owners = {
        who: Owner(**agent, scope=f"user:{who}", audience=audience)
        for who, audience in people.items()
    }
    threads = world.app.threads
    made = {
        who: [threads.create(owner, {"concern": f"{n} of {who}"}) for n in range(3)]
        for who, owner in owners.items()
    }
    threads.switch(owners[caller.id].reach, made[caller.id][1].id)
    link(world)
    hers = Reach(**agent, scopes=(f"user:{ANN.id}",), readers=people[ANN.id])
    found = {thread.id for thread in threads.list(hers).items}
    assert found == {thread.id for each in made.values() for thread in each}
    assert threads.active_id(hers) == made[caller.id][1].id
    noted = changes.fields({"progress": "Half"})
    assert threads.change(hers, made[caller.id][1].id, noted).progress == "Half"
    assert kept(world, caller.id) == []


def test_a_document_that_moves_under_another_name_is_listed_by_it_in_the_threads_that_move() -> (
    None
):
    world = called()
    caller = text(world).message.sender
    answered(world)
    agent = {"tenant": TENANT, "agent_id": COACH.id}
    made: dict[str, list[str]] = {}
    for who in (caller.id, ANN.id):
        audience = Audience(open=False, people=(who,))
        owner = Owner(**agent, scope=f"user:{who}", audience=audience)
        for name in ("plan.md", f"{who}.md"):
            write_for(world, who, name)
        listed = {"concern": f"Of {who}", "documents": ("plan.md", f"{who}.md")}
        made[who] = [world.app.threads.create(owner, listed).id for _ in range(2)]
        ended = changes.ended("completed", NOON, evidence="It is done")
        world.app.threads.change(owner.reach, made[who][1], ended)
    link(world)
    hers = Reach(**agent, scopes=(f"user:{ANN.id}",))
    lists = {
        who: {world.app.threads.get(hers, thread_id).documents for thread_id in ids}
        for who, ids in made.items()
    }
    assert lists == {
        caller.id: {("plan.md (2)", f"{caller.id}.md")},
        ANN.id: {("plan.md", f"{ANN.id}.md")},
    }
    thread = world.app.threads.get(hers, made[caller.id][0])
    found = world.app.threads.documents(hers, thread, thread.documents)
    texts = {name: document.text for name, document in found.items() if document}
    assert texts == dict.fromkeys(thread.documents, f"Of {caller.id}")
    assert kept(world, caller.id) == []


def test_link_phone_updates_the_audience_of_open_threads() -> None:
    world = called()
    caller = text(world).message.sender
    answered(world)
    world.chat(caller, BEN, COACH, chat_id="chat_group", visibility="private", respond="manual")
    audience = Audience(open=False, people=tuple(sorted((caller.id, BEN.id))))
    owner = Owner(tenant=TENANT, agent_id=COACH.id, scope="chat:chat_group", audience=audience)
    thread = world.app.threads.create(owner, {"concern": "Ours"})
    link(world)
    after = world.app.threads.get(owner.reach, thread.id)
    assert after.audience.people == tuple(sorted((ANN.id, BEN.id)))


# ---------------------------------------------------------------------- taken away again


def test_sms_from_unlinked_number_creates_a_new_caller() -> None:
    world = called()
    chat_id = text(world, "It is me").message.chat_id
    answered(world)
    link(world)
    assert unlink(world).phones == ()
    assert owner(world) is None
    stranger = text(world, "Who is this?")
    assert stranger.message.chat_id != chat_id
    assert stranger.message.sender.id != ANN.id
    assert world.texts(chat_id) == ["It is me", "Hello!"]
    assert membership(world, chat_id).active


@pytest.mark.parametrize("how", ["unlink", "patch"])
def test_unlinked_number_receives_no_sms(how: str) -> None:
    world = called()
    former = text(world).message.chat_id
    answered(world)
    world.agent("agt_b", "Tutor")
    world.line(agent_id="agt_b")  # the number leads to a new chat from now on
    current = text(world).message.chat_id
    answered(world)
    link(world)
    sent = len(sms_to(world))
    if how == "unlink":
        unlink(world)
    else:
        world.app.users.change(TENANT, ANN.id, UserChange(phones=()))
    world.post("Are you there?", COACH, chat_id=former)
    world.post("Are you there?", bot("agt_b", "Tutor"), chat_id=current)
    answered(world)
    assert len(sms_to(world)) == sent
    assert (membership(world, former).route, membership(world, current).route) == (None, None)


def on_lines(world: World, phones: Sequence[str], lines: Sequence[str]) -> list[str]:
    """Texts from each number of Ann's to each line; returns the ids of the chats."""
    for line in lines:
        world.line(phone=line)
    for phone in phones:
        link_number(world, ANN.id, phone)
    chats = []
    for phone, line in product(phones, lines):
        world.clock.advance(60)  # so that no text exceeds a limit
        chats.append(text(world, phone=phone, line=line).message.chat_id)
    return chats


def test_patch_that_takes_20_numbers_with_chats_on_2_lines_stops_texts_to_all_of_them() -> None:
    world = called()
    phones = [f"+150055502{n:02d}" for n in range(20)]
    chats = on_lines(world, phones, [f"+150055500{n:02d}" for n in range(10, 12)])
    assert len(set(chats)) == 40
    admin = operator(world)

    for _ in range(2):
        answer = admin.patch(f"/v1/users/{ANN.id}", {"phones": []})
        assert (answer.status, answer.body["phones"]) == (200, [])

    assert {owner(world, phone) for phone in phones} == {None}
    assert {membership(world, chat_id).route for chat_id in chats} == {None}


def test_number_with_more_chats_than_a_transaction_has_items_can_be_taken_away() -> None:
    world = called()
    lines = [f"+15005551{n:03d}" for n in range(MAX_TRANSACTION_ITEMS + 1)]
    chats = on_lines(world, [PHONE], lines)
    assert unlink(world).phones == ()
    assert {membership(world, chat_id).route for chat_id in chats} == {None}


def test_unlink_phone_keeps_answers_to_the_other_number(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    world = called()
    link(world)
    link(world, SECOND)
    chat_id = app_chat(world)
    one, two = (sms_route(line=LINE, phone=phone) for phone in (PHONE, SECOND))
    key = membership(world, chat_id).key
    world.table.write(Update(key, set={"route": one.model_dump(mode="json")}))
    write = world.table.write

    def sms_from_the_other(last: Write) -> None:
        monkeypatch.undo()
        world.table.write(Update(key, set={"route": two.model_dump(mode="json")}))
        write(last)

    monkeypatch.setattr(world.table, "write", sms_from_the_other)
    unlink(world)
    assert membership(world, chat_id).route == two


def test_a_text_that_is_still_to_go_to_a_number_that_was_taken_away_is_withheld() -> None:
    world = called()
    chat_id = text(world).message.chat_id
    answered(world)
    link(world)
    world.post("Your results are in", COACH, chat_id=chat_id)
    unlink(world)
    sent = len(sms_to(world))
    answered(world)
    assert len(sms_to(world)) == sent
    newest = world.deliveries(chat_id)[-1]
    assert (newest.status, newest.error) == (
        "canceled",
        "the phone number no longer belongs to the person",
    )


def test_a_text_that_is_being_sent_while_its_number_is_linked_goes_out_once() -> None:
    world = called()
    chat_id = text(world).message.chat_id
    world.clock.advance(5)
    for turn in world.queues.ready("turns"):
        world.take(turn)  # type: ignore[arg-type]
    real, met = world.table.get_many, iter([True])

    def meanwhile(keys: Sequence[Key], *, consistent: bool = True) -> dict[Key, Item]:
        if any(key.sk.startswith("MSG#") for key in keys) and next(met, False):
            link(world)
        return real(keys, consistent=consistent)

    world.table.get_many = meanwhile  # type: ignore[method-assign]
    settle(world)
    assert sms_to(world) == [PHONE]
    [delivery] = world.deliveries(chat_id)
    assert (delivery.user_id, delivery.status) == (ANN.id, "sent")


def test_a_number_that_comes_back_leads_to_its_chat_again() -> None:
    world = called()
    chat_id = text(world).message.chat_id
    answered(world)
    link(world)
    unlink(world)
    link(world)
    assert text(world).message.chat_id == chat_id


def test_unlink_foreign_phone_changes_nothing() -> None:
    world = called()
    ben = world.app.users.create(TENANT, NewUser(name="Ben", phones=(PHONE,)))
    unlink(world)
    assert owner(world) == ben.id


# ---------------------------------------------------------------------- races


def test_sms_during_link_is_stored_as_the_linked_persons() -> None:
    world = called()
    chat_id = text(world, "One").message.chat_id
    answered(world)
    rival(world).before = ("MSG#", lambda: link(world))
    posted = text(world, "Two")
    assert (posted.message.chat_id, posted.message.sender) == (chat_id, ANN)
    assert world.texts(chat_id) == ["One", "Hello!", "Two"]


def test_a_text_that_comes_while_the_number_is_being_linked_is_in_the_chat() -> None:
    world = called()
    chat_id = text(world, "One").message.chat_id
    answered(world)
    rival(world).before = ("MERGE", lambda: text(world, "Two"))
    link(world)
    assert text(world, "Three").message.chat_id == chat_id
    assert world.stored_chat(chat_id).roster == (ANN, COACH)
    answered(world)
    assert [t for t in world.texts(chat_id) if t != "Hello!"] == ["One", "Two", "Three"]


def test_first_sms_during_link_belongs_to_the_linked_person() -> None:
    world = called()
    rival(world).before = ("META", lambda: link(world))
    posted = text(world)
    assert posted.message.sender == ANN
    assert [user.id for user in world.app.users.list(TENANT).items] == [ANN.id]


def test_sms_during_unlink_goes_to_a_new_caller() -> None:
    world = called()
    chat_id = text(world).message.chat_id
    answered(world)
    link(world)
    rival(world).before = ("MSG#", lambda: unlink(world))
    posted = text(world, "Who is this?")
    assert posted.message.chat_id != chat_id
    assert posted.message.sender.id != ANN.id
    assert membership(world, chat_id).route is None


def test_a_stop_that_comes_while_the_number_is_being_linked_holds() -> None:
    world = called()
    chat_id = text(world).message.chat_id
    answered(world)
    rival(world).before = ("MERGE", lambda: text(world, "STOP"))
    link(world)
    assert membership(world, chat_id).opt_outs


def test_caller_cannot_be_merged_into_two_people() -> None:
    world = called()
    text(world)
    answered(world)
    ben = person("usr_ben", "Ben")
    world.app.users.create(TENANT, NewUser(id=ben.id, name=ben.name))
    rival(world).before = ("MERGE", lambda: link(world, who=ben))
    with pytest.raises(Conflict):
        link(world)
    assert owner(world) == ben.id


def test_concurrent_texts_and_links_lose_and_duplicate_no_message() -> None:
    world = called(enabled_tools=())
    chat_id = text(world, "0").message.chat_id
    answered(world)

    def act(n: int) -> PostedMessage | User:
        return link(world) if n == 4 else again(world, str(n), f"SM_n{n // 2}")

    with ThreadPoolExecutor(8) as pool:
        done = list(pool.map(act, range(1, 16)))
    posted = [each for each in done if isinstance(each, PostedMessage)]
    assert {each.message.chat_id for each in posted} == {chat_id}
    assert len({each.message.id for each in posted}) == 8
    answered(world)
    assert world.stored_chat(chat_id).roster == (ANN, COACH)
    people = [m for m in world.messages(chat_id) if m.sender.kind == "user"]
    assert len(people) == 9
    assert [m.seq for m in world.messages(chat_id)] == list(
        range(1, world.stored_chat(chat_id).last_seq + 1)
    )
    assert text(world, "last").message.sender == ANN


def recall_scopes(world: World) -> set[str]:
    """The partitions of all blocks and postings of recall."""
    items = world.table.all_items()
    blocks = {item["recall_scope"] for key, item in items.items() if "recall_scope" in item}
    return blocks | {key.pk for key in items if key.pk.endswith("#WORDS")}


def test_recall_blocks_of_a_caller_move_to_the_known_person() -> None:
    world = called()
    posted = text(world)
    answered(world)
    again(world, "My locker is 4711", "SM9")
    answered(world)
    deadline = world.clock.now() + timedelta(seconds=900)
    for chat_id in (posted.message.chat_id, app_chat(world)):
        job = RecallJob(tenant=TENANT, chat_id=chat_id)
        world.app.recall_worker.take(job, deadline=deadline)
    caller = posted.message.sender.id
    assert {scope.split("#WORDS")[0].split("#AUD#")[1] for scope in recall_scopes(world)} == {
        f"user:{caller}"
    }
    link(world)
    answered(world)
    assert {scope.split("#WORDS")[0].split("#AUD#")[1] for scope in recall_scopes(world)} == {
        f"user:{ANN.id}"
    }
    assert any(scope.endswith("#WORDS") for scope in recall_scopes(world))


def test_recall_job_of_a_merge_that_was_lost_is_sent_again_by_the_tick() -> None:
    world = called()
    posted = text(world)
    answered(world)
    link(world)
    assert [job.chat_id for job in recall_jobs(world)] == [posted.message.chat_id]
    world.clock.advance(20 * 60)
    world.tick()
    assert [job.chat_id for job in recall_jobs(world)] == [posted.message.chat_id]


def recall_jobs(world: World) -> list[RecallJob]:
    """Take the jobs off the queue, as if they were lost."""
    return [*world.queues.take(RecallJob)]


def test_link_carries_over_no_role() -> None:
    """The caller owned a group; the account that takes the number is a member only."""
    world = called()
    text(world)
    caller = owner(world)
    assert caller is not None
    world.chat(person(caller, "Caller 0100"), BEN, COACH, chat_id="chat_group")
    link(world)
    chat = world.stored_chat("chat_group")
    assert chat.has(ANN.ref)
    assert (chat.owned, chat.owners) == (False, ())


def test_link_carries_over_no_role_that_rules_name() -> None:
    world = called()
    text(world)
    caller = owner(world)
    assert caller is not None
    boss = operator(world)
    assert boss.patch(f"/v1/users/{caller}", {"roles": [{"role": "nurse"}]}).status == 200
    sides = {"from": {"role": "nurse"}, "to": {"role": "doctor"}}
    assert boss.post("/v1/sharing-rules", {"name": "Rule", "reason": "So.", **sides}).status == 201
    text(world, "Hello again")
    answered(world)
    ann = Client(world, sub=ANN.id)
    [chat] = [each.chat for each in world.app.views.direct_chats(TENANT, caller).items]
    assert chat.sharing is not None
    link(world)
    seen = ann.get("/v1/me/sharing").body
    assert (seen["roles"], seen["rules"], seen["talks"]) == ([], [], [])
    assert boss.patch(f"/v1/users/{ANN.id}", {"roles": [{"role": "nurse"}]}).status == 200
    assert ann.post(f"/v1/chats/{chat.id}/sharing/keep", {}).status == 404  # nothing is covered


def test_link_leaves_the_roles_of_the_account() -> None:
    world = called()
    text(world)
    caller = owner(world)
    assert caller is not None
    world.chat(ANN, person(caller, "Caller 0100"), BEN, chat_id="chat_group")
    link(world)
    assert world.stored_chat("chat_group").role_of(ANN.ref) == "owner"
