"""Posting in another chat than the one that asked: what is allowed, and the origin shown."""

from typing import Any

import pytest

from skein.agent.tools.send_message import ASKED
from skein.models.chats.chat import Chat
from skein.models.common.storage import Update
from skein.models.runs.run import Run
from skein.models.runs.trigger import PlanTrigger, ServiceTrigger, Trigger
from skein.models.visibility.audience import OPEN, Audience
from skein.models.visibility.ownership import Reach
from skein.services.choices.proposals import NOT_A_MEMBER
from skein.services.runs.policy import WAIT_SECONDS
from skein.services.visibility.disclosure import PRIVATE_ELSEWHERE
from tests.support.agents import (
    AHMAD,
    COACH,
    DESIGNER,
    END,
    HUSAM,
    actor,
    asked_by_service,
    job_of,
    live_pointers,
    results_of,
    settle,
    stage,
    stored,
    the_run,
)
from tests.support.api_client import Client
from tests.support.builders import TENANT, World, bot, person
from tests.support.fakes import calls, says

SARAH = person("usr_sarah", "Sarah")
ANN, OTHER_ANN = person("usr_ann", "Ann"), person("usr_other", "Ann")
PRIVATE: dict[str, Any] = {"visibility": "private"}
DIRECT: dict[str, Any] = {"visibility": "private", "kind": "direct"}
REFUSED = f"error: {PRIVATE_ELSEWHERE}"
NOT_IN_IT = "error: chat not found: you are not a member of a chat with this id"


def _house(*script: Any) -> World:
    """Two groups, of which Husam is in one, and a direct chat each with Husam and Sarah."""
    world = stage(*script)
    quiet = {"respond": "mention"}
    world.chat(HUSAM, AHMAD, SARAH, COACH, chat_id="chat_all", title="All hands", **quiet)
    world.chat(SARAH, AHMAD, COACH, chat_id="chat_others", title="Without Husam", **quiet)
    world.chat(HUSAM, COACH, chat_id="chat_husam", title="Husam and Coach", **DIRECT)
    world.chat(SARAH, COACH, chat_id="chat_sarah", title="Sarah and Coach", **DIRECT)
    return world


def _ask(world: World, chat_id: str, *script: Any, by: Any = HUSAM) -> Run:
    """Ask the agent something in a chat; the run, as it stands once all is quiet."""
    world.model.script.extend(script)
    known = {run.id for run in world.runs(chat_id)}
    world.post("@Coach, tell them", by, chat_id=chat_id)
    settle(world)
    return next(run for run in world.runs(chat_id) if run.id not in known)


def asked_in(world: World, run: Run, call: int) -> bool:
    """Whether a call only asked the person."""
    asked = world.messages(run.chat_id or "")[-1]
    return (asked.kind, results_of(world, run)[call].content) == (
        "choice",
        ASKED.format(place=f"msg:{asked.seq}"),
    )


def _prompt(world: World, chat_id: str, by: Any = HUSAM) -> str:
    """What the agent is shown in a chat when it is asked something there."""
    world.model.script.clear()
    _ask(world, chat_id, END, by=by)
    return world.model.prompt


# ---------------------------------------------------------------------- origins


def test_message_from_another_chat_shows_its_origin() -> None:
    world = _house()
    _ask(world, "chat_all", says("The numbers are late", chat_id="chat_others"), END)
    sent = world.messages("chat_others")[-1]
    assert sent.origin is not None
    assert (sent.origin.asked_by, sent.origin.text) == ("Husam", "@Coach, tell them")
    why = '[sent because Husam asked "@Coach, tell them" in "All hands"]'
    assert why in _prompt(world, "chat_others", SARAH)


def _two_anns(*here: Any) -> World:
    """Coach in an open chat with these people, and in an open chat with both Anns and Husam."""
    world = stage()
    world.known(ANN, OTHER_ANN)
    world.chat(*here, COACH, chat_id="chat_here", title="Here", respond="mention")
    roster = (HUSAM, ANN, OTHER_ANN, COACH)
    world.chat(*roster, chat_id="chat_there", title="There", respond="mention")
    return world


@pytest.mark.parametrize(
    ("here", "asker", "shown"),
    [
        ((SARAH, OTHER_ANN, ANN), ANN, "Ann (2)"),
        ((SARAH, OTHER_ANN, ANN), OTHER_ANN, "Ann"),
        ((SARAH, OTHER_ANN), ANN, "Ann (2)"),
        ((SARAH,), OTHER_ANN, "Ann (2)"),  # the chat There has the other Ann too
    ],
)
def test_origin_names_the_asker_as_the_legend_or_with_a_number_of_their_own(
    here: Any, asker: Any, shown: str
) -> None:
    world = _two_anns(*here)
    _ask(world, "chat_there", says("Hello", chat_id="chat_here"), END, by=asker)
    sent = world.messages("chat_here")[-1].origin
    assert sent is not None
    assert (sent.asker, sent.asked_by) == (asker.ref, "Ann")
    why = f'[sent because {shown} asked "@Coach, tell them" in "There"]'
    assert why in _prompt(world, "chat_here", SARAH)


def test_origin_whose_asker_has_left_the_other_chat_has_a_number_of_its_own() -> None:
    world = _two_anns(SARAH, OTHER_ANN)
    _ask(world, "chat_there", says("Hello", chat_id="chat_here"), END, by=ANN)
    world.app.chat_admin.remove_member(TENANT, "chat_there", ANN.ref, ANN.ref)
    assert "[sent because Ann (2) asked" in _prompt(world, "chat_here", SARAH)


def test_read_messages_gives_an_unknown_asker_a_number_of_their_own() -> None:
    world = _two_anns(SARAH)
    world.chat(OTHER_ANN, COACH, chat_id="chat_other", title="Other", respond="mention")
    world.chat(HUSAM, ANN, COACH, chat_id="chat_ask", title="Ask", respond="mention")
    _ask(world, "chat_other", says("Hello", chat_id="chat_here"), END, by=OTHER_ANN)
    for chat_id in ("chat_there", "chat_other"):
        world.app.chat_admin.remove_member(TENANT, chat_id, OTHER_ANN.ref, OTHER_ANN.ref)
    world.model.script.append(calls(("read_messages", {"chat_id": "chat_here"})))
    _ask(world, "chat_ask", END)
    assert "[sent because Ann (2) asked" in world.model.told[0]


def test_origin_that_is_not_shown_does_not_number_a_name() -> None:
    """What Ann asked, for a message in a chat that she has left since, is for her alone."""
    world = _two_anns(SARAH, ANN)
    for chat_id, asker in (("chat_ann", ANN), ("chat_other", OTHER_ANN)):
        world.chat(asker, COACH, chat_id=chat_id, title="Other", respond="mention")
        _ask(world, chat_id, says("Hello", chat_id="chat_here"), END, by=asker)
    left = (
        ("chat_here", ANN),
        ("chat_there", ANN),
        ("chat_ann", ANN),
        ("chat_there", OTHER_ANN),
        ("chat_other", OTHER_ANN),
    )
    for chat_id, member in left:
        world.app.chat_admin.remove_member(TENANT, chat_id, member.ref, member.ref)
    first, second = (message.origin for message in world.messages("chat_here"))
    assert first is not None
    assert second is not None
    assert (first.asker, second.asker) == (ANN.ref, OTHER_ANN.ref)
    hidden = first.model_copy(update={"audience": Audience(open=False, people=(ANN.id,))})
    key = world.messages("chat_here")[0].key
    world.table.write(Update(key, set={"origin": hidden.model_dump(mode="json")}))
    prompt = _prompt(world, "chat_here", SARAH)
    assert prompt.count("[sent because") == 1
    assert "[sent because Ann asked" in prompt


def test_origin_is_shown_only_to_readers_who_know_its_title() -> None:
    """Sarah leaves after the question, and before the chat gets the title that is told."""
    world = _house(says("The numbers are late", chat_id="chat_husam"), END)
    world.chat(HUSAM, SARAH, COACH, chat_id="chat_us", respond="mention", **PRIVATE)
    world.post("@Coach, tell me", HUSAM, chat_id="chat_us")
    roster = [member.model_dump(mode="json") for member in (HUSAM, COACH)]
    renamed = {"roster": roster, "title": "Without Sarah"}
    world.table.write(Update(Chat.key_of(TENANT, "chat_us"), renamed))
    settle(world)
    origin = world.messages("chat_husam")[-1].origin
    assert origin is not None
    assert (origin.chat_title, origin.audience.people) == ("Without Sarah", (HUSAM.id,))


def test_a_message_in_the_chat_of_the_question_needs_no_reason() -> None:
    world = _house()
    _ask(world, "chat_all", says("The numbers are late"), END)
    assert world.messages("chat_all")[-1].origin is None


def _told_in_den() -> World:
    """Husam has Coach post in a private group of his, which Sarah joins afterwards."""
    world = _house()
    world.chat(HUSAM, COACH, chat_id="chat_den", title="Den", respond="mention", **PRIVATE)
    _ask(world, "chat_husam", says("The numbers are late", chat_id="chat_den"), END)
    world.known(SARAH)
    world.add(SARAH, chat_id="chat_den")
    return world


def test_private_origin_is_shown_only_where_its_person_is_alone() -> None:
    world = _told_in_den()
    prompt = _prompt(world, "chat_den")
    assert "The numbers are late" in prompt
    assert "sent because" not in prompt
    world.chat(HUSAM, COACH, chat_id="chat_two", title="Again", **DIRECT)
    world.model.script.append(calls(("read_messages", {"chat_id": "chat_den"})))
    _ask(world, "chat_two", END)
    assert 'sent because Husam asked "@Coach, tell them"' in world.model.told[0]
    world.model.script.append(calls(("read_messages", {"chat_id": "chat_den"})))
    _ask(world, "chat_sarah", END, by=SARAH)
    assert "sent because" not in world.model.told[0]


def test_people_never_see_an_origin() -> None:
    world = _told_in_den()
    messages = Client(world, sub=SARAH.id).get("/v1/chats/chat_den/messages")
    assert "The numbers are late" in str(messages.body)
    assert "tell them" not in str(messages.body)


# ---------------------------------------------------------------------- how far


@pytest.mark.parametrize(
    ("target", "refused"),
    [
        ("chat_all", ASKED.format(place="msg:2")),
        ("chat_others", f"error: {NOT_A_MEMBER}"),
        ("chat_sarah", NOT_IN_IT),
        ("chat_pair", ASKED.format(place="msg:2")),
        ("chat_den", None),
    ],
)
def test_send_message_from_a_private_chat_of_one_reaches_only_private_chats_of_that_person(
    target: str, refused: str | None
) -> None:
    """The request makes no exception: nothing shows that the words are the person's, but a yes."""
    world = _house()
    world.chat(HUSAM, SARAH, COACH, chat_id="chat_pair", respond="mention", **PRIVATE)
    world.chat(HUSAM, COACH, chat_id="chat_den", respond="mention", **PRIVATE)
    run = _ask(world, "chat_husam", says("Psst", chat_id=target), END)
    assert results_of(world, run)[0].content == (refused or 'sent to "Project Alpha" as msg:1')
    assert world.texts(target) == ([] if refused else ["Psst"])


@pytest.mark.parametrize("wait", [True, False])
def test_asking_and_waiting_reaches_no_further_than_saying(wait: bool) -> None:
    world = _house()
    run = _ask(world, "chat_husam", says("Psst", chat_id="chat_others", wait=wait), END)
    assert (run.status, world.texts("chat_others")) == ("done", [])


@pytest.mark.parametrize("asker", [HUSAM, SARAH])
def test_send_message_from_a_private_group_of_two_to_an_open_group_asks_first(asker: Any) -> None:
    world = _house()
    world.chat(HUSAM, SARAH, COACH, chat_id="chat_pair", respond="mention", **PRIVATE)
    run = _ask(world, "chat_pair", says("1", chat_id="chat_all"), END, by=asker)
    assert results_of(world, run)[0].content == ASKED.format(place="msg:2")
    assert world.texts("chat_all") == []


def test_send_message_from_a_private_group_to_one_of_its_people_is_posted() -> None:
    world = _house()
    world.chat(HUSAM, SARAH, COACH, chat_id="chat_pair", respond="mention", **PRIVATE)
    run = _ask(world, "chat_pair", says("1", chat_id="chat_sarah"), END, by=SARAH)
    assert results_of(world, run)[0].status == "done"
    assert world.texts("chat_sarah") == ["1"]


def test_send_message_when_an_agent_asked_in_a_private_chat_of_one_is_refused() -> None:
    world = _house()
    world.chat(HUSAM, COACH, DESIGNER, chat_id="chat_both", **PRIVATE)
    world.model.script.append(says("1", chat_id="chat_all"))
    world.post("Tell them", DESIGNER, depth=1, chat_id="chat_both")
    settle(world)
    assert world.texts("chat_all") == []


def test_private_chat_without_people_cannot_post_to_other_chats() -> None:
    world = _house()
    world.chat(COACH, DESIGNER, chat_id="chat_agents", **PRIVATE)
    world.model.script.append(says("1", chat_id="chat_all"))
    world.post("Tell them", DESIGNER, depth=1, chat_id="chat_agents")
    settle(world)
    assert world.texts("chat_all") == []


@pytest.mark.parametrize("wait", [False, True])
def test_send_message_from_an_open_chat_to_another_persons_private_chat_is_refused(
    wait: bool,
) -> None:
    world = _house()
    run = _ask(world, "chat_all", says("Hello Sarah", chat_id="chat_sarah", wait=wait), END)
    assert results_of(world, run)[0].content == NOT_IN_IT
    assert world.texts("chat_sarah") == []


def test_send_message_from_an_open_chat_to_the_askers_private_chat_is_posted() -> None:
    world = _house()
    _ask(world, "chat_all", says("Hello Sarah", chat_id="chat_sarah"), END, by=SARAH)
    assert world.texts("chat_sarah") == ["Hello Sarah"]


def test_send_message_when_an_agent_asked_traces_back_to_the_person() -> None:
    """Husam asks the designer, who asks the coach: the coach may write to Husam, not to Sarah."""
    world = _house()
    actor(world, DESIGNER)
    world.chat(HUSAM, SARAH, COACH, DESIGNER, chat_id="chat_team", respond="mention")
    to_both = calls(
        ("send_message", {"text": "Hi", "chat_id": "chat_husam"}),
        ("send_message", {"text": "Hi", "chat_id": "chat_sarah"}),
    )
    world.model.script.extend([says("@Coach, write to them"), to_both])
    world.post("@Designer, let the coach write to us", HUSAM, chat_id="chat_team")
    settle(world)
    assert (world.texts("chat_husam"), world.texts("chat_sarah")) == (["Hi"], [])


@pytest.mark.parametrize(("named", "texts"), [("chat_sarah", ["Hi"]), (None, [])])
def test_send_message_of_a_service_run_reaches_only_the_private_chat_it_names(
    named: str | None, texts: list[str]
) -> None:
    world = _house(says("Hi", chat_id="chat_sarah"))
    service = ServiceTrigger(id="svc_1", name="jira", payload="{}", chat_id=named)
    asked_by_service(world, trigger=Trigger(type="service", service=service))
    settle(world)
    assert world.texts("chat_sarah") == texts


@pytest.mark.parametrize(("named", "texts"), [("chat_sarah", ["Hi"]), ("chat_all", [])])
def test_send_message_of_an_operators_plan_reaches_only_the_private_chat_it_names(
    named: str, texts: list[str]
) -> None:
    world = _house(says("Hi", chat_id="chat_sarah"))
    _planned(world, OPEN, chat_id=named)
    settle(world)
    assert world.texts("chat_sarah") == texts


@pytest.mark.parametrize("answered", [True, False], ids=["reply", "timeout"])
def test_run_that_waited_in_a_private_chat_shows_nothing_of_it_in_an_open_chat(
    answered: bool,
) -> None:
    world = _house()
    run = _ask(world, "chat_all", says("Well?", chat_id="chat_sarah", wait=True), by=SARAH)
    told = [says("Told", chat_id=chat_id) for chat_id in ("chat_all", "chat_others", "chat_sarah")]
    world.model.script.extend(told)
    if answered:
        world.post("Yes, but keep it quiet", SARAH, chat_id="chat_sarah")
    else:
        world.clock.advance(WAIT_SECONDS)
        world.run_ready()
    settle(world)
    assert stored(world, run).status == "done"
    assert [result.content for result in results_of(world, run)[:2]] == [REFUSED, REFUSED]
    assert (world.texts("chat_all"), world.texts("chat_others")) == (["@Coach, tell them"], [])
    assert world.texts("chat_sarah")[-1] == "Told"


def _joined_late() -> World:
    """Sarah joins a private chat after its first message, and a hundred more follow."""
    world = _house()
    world.chat(HUSAM, COACH, chat_id="chat_pair", respond="mention", **PRIVATE)
    world.post("Before", HUSAM, chat_id="chat_pair")
    world.known(SARAH)
    world.add(SARAH, chat_id="chat_pair")
    for n in range(100):
        world.post(f"After {n}", HUSAM, chat_id="chat_pair")
    return world


def test_reading_back_beyond_a_join_narrows_the_disclosure_of_a_run() -> None:
    """Sarah joined late; what the coach reads of before goes to no chat of hers."""
    world = _joined_late()
    reads = calls(("read_messages", {"before": 3}))
    script = (says("1", chat_id="chat_sarah"), reads, says("2", chat_id="chat_sarah"), END)
    run = _ask(world, "chat_pair", *script, by=SARAH)
    first, read, second = results_of(world, run)[:3]
    assert first.status == "done"
    assert "Before" in read.content
    assert second.content == REFUSED


def test_reading_back_beyond_a_join_narrows_the_audience_of_new_items() -> None:
    """The goal is made of what was said before Sarah joined, so it is for Husam alone."""
    world = _joined_late()
    reads, sets = calls(("read_messages", {"before": 3})), calls(("set_goal", {"text": "Before"}))
    run = _ask(world, "chat_pair", reads, sets, END)
    assert [result.status for result in results_of(world, run)[:2]] == ["done", "done"]
    reach = Reach(tenant=TENANT, agent_id=COACH.id, scopes=("chat:chat_pair",))
    [goal] = world.app.goals.list(reach).items
    assert goal.audience == HUSAMS


# ---------------------------------------------------------------------- runs without a chat


def _planned(
    world: World, audience: Audience, *, chat_id: str = "chat_husam", set_by: str | None = None
) -> Run:
    plan = PlanTrigger(
        id="plan_1",
        name="Surprise",
        instruction="Order the secret cake",
        scheduled_at=world.clock.now(),
        chat_id=chat_id,
    )
    trigger = Trigger(type="plan", plan=plan, traced_to=set_by)
    return asked_by_service(world, trigger=trigger, audience=audience)


HUSAMS = Audience(open=False, people=(HUSAM.id,))


def test_a_private_plans_run_speaks_only_in_private_chats_of_its_person() -> None:
    world = _house()
    run = _planned(world, HUSAMS, set_by=HUSAM.id)
    chats = ("chat_husam", "chat_all", "chat_others", "chat_sarah")
    world.model.script.append(
        calls(*[("send_message", {"text": "Cake", "chat_id": chat_id}) for chat_id in chats])
    )
    settle(world)
    assert [result.status for result in results_of(world, run)[:4]] == [
        *("done", "failed", "failed", "failed"),
    ]


def test_plans_run_without_a_chat_sees_open_things_only_but_its_own_instruction() -> None:
    world = _house()
    world.post("My secret", HUSAM, chat_id="chat_husam")
    world.queues.ready("turns")
    run = _planned(world, HUSAMS)
    world.model.script.append(calls(("read_messages", {"chat_id": "chat_husam"}), "get_my_runs"))
    settle(world)
    prompt = world.model.requests[0].messages[0].content
    assert "Order the secret cake" in prompt
    assert "Husam and Coach" not in prompt
    assert "error: that chat is private" in results_of(world, run)[0].content
    assert "chat_husam" not in results_of(world, run)[1].content


def test_a_private_plans_instruction_is_not_shown_to_someone_who_joins_where_it_waits() -> None:
    world = _house(says("Who bakes?", chat_id="chat_one", wait=True))
    world.chat(HUSAM, COACH, chat_id="chat_one", **PRIVATE)
    _planned(world, HUSAMS, set_by=HUSAM.id)
    settle(world)
    world.known(SARAH)
    world.add(SARAH, chat_id="chat_one")
    world.post("I do", SARAH, chat_id="chat_one")
    settle(world)
    assert '"I do"' in world.model.prompt
    assert "cake" not in world.model.prompt
    assert "Surprise" not in world.model.prompt


def test_items_of_a_private_plans_run_are_limited_to_its_audience() -> None:
    world = _house()
    _planned(world, HUSAMS)
    world.model.script.append(calls(("set_goal", {"text": "Bake the cake"})))
    settle(world)
    assert "Bake the cake" not in _prompt(world, "chat_all")
    assert "Bake the cake" not in _prompt(world, "chat_sarah", SARAH)
    assert "Bake the cake" in _prompt(world, "chat_husam")


def test_a_private_plans_run_is_listed_as_alive_only_where_its_people_are() -> None:
    world = _house(says("Who bakes?", chat_id="chat_husam", wait=True))
    run = _planned(world, HUSAMS, set_by=HUSAM.id)
    settle(world)
    assert live_pointers(world) == 1
    world.chat(HUSAM, COACH, chat_id="chat_two", title="Again", **DIRECT)
    assert run.id not in _prompt(world, "chat_all")
    assert run.id not in _prompt(world, "chat_sarah", SARAH)
    assert run.id in _prompt(world, "chat_two")


# ---------------------------------------------------------------------- who is woken there


@pytest.mark.parametrize(
    ("respond", "text", "woken"),
    [
        ("every", "Figures?", True),
        ("mention", "Figures?", False),
        ("mention", "@Designer, figures?", True),
        ("manual", "@Designer, figures?", False),
    ],
)
def test_message_to_another_chat_triggers_agents_by_that_chats_policy(
    respond: str, text: str, woken: bool
) -> None:
    world = stage(says(text, chat_id="chat_2"))
    actor(world, DESIGNER)
    world.chat(HUSAM, COACH)
    world.chat(HUSAM, COACH, DESIGNER, chat_id="chat_2", respond=respond)
    world.post("Ask", HUSAM)
    world.take(job_of(the_run(world)))
    assert [(r.agent_id, r.chain_depth) for r in world.runs("chat_2")] == (
        [(DESIGNER.id, 1)] if woken else []
    )


def test_chain_depth_continues_in_another_chat() -> None:
    world = stage()
    other = bot("agt_c", "Other")
    for who in (COACH, DESIGNER, other):
        actor(world, who)
    world.chat(HUSAM, COACH, other)
    world.chat(HUSAM, COACH, DESIGNER, chat_id="chat_2")
    world.chat(HUSAM, DESIGNER, other, chat_id="chat_3")
    route = {COACH.name: "chat_2", DESIGNER.name: "chat_3", other.name: "chat_1"}

    def passes_on(request: Any) -> Any:
        prompt = request.messages[0].content
        me = prompt.split('name: "')[1].split('"')[0]
        done = any(message.role == "tool" for message in request.messages)
        return END if done else says("Pass it on", chat_id=route[me])

    world.model.default = passes_on
    world.post("Go", HUSAM)
    world.drain(rounds=1_000)
    messages = [m for c in ("chat_1", "chat_2", "chat_3") for m in world.messages(c)]
    assert max(message.depth for message in messages) == 5


# ---------------------------------------------------------------------- reading elsewhere


def _pair(world: World) -> None:
    world.chat(HUSAM, SARAH, COACH, chat_id="chat_pair", title="Pair", respond="mention", **PRIVATE)
    world.post("Our secret", SARAH, chat_id="chat_pair")


@pytest.mark.parametrize("tool", ["read_messages", "enter_chat", "borrow_context"])
def test_send_message_after_reading_a_private_group_elsewhere_asks_first(tool: str) -> None:
    """Sarah was present for what the coach read, and has not asked for it to be told."""
    world = _house()
    _pair(world)
    reads = calls((tool, {"chat_id": "chat_pair"}))
    run = _ask(world, "chat_husam", reads, says("Told", chat_id="chat_all"), END)
    assert asked_in(world, run, 1)
    assert world.texts("chat_all") == []


def test_send_message_when_the_prompt_names_a_private_group_asks_first() -> None:
    world = _house()
    _pair(world)
    run = _ask(world, "chat_husam", says("I am in Pair", chat_id="chat_all"), END)
    assert "Pair" in world.model.requests[0].messages[0].content
    assert asked_in(world, run, 0)


def test_send_message_to_chat_with_words_of_a_former_member_asks_first() -> None:
    world = _house()
    _pair(world)
    world.app.chat_admin.remove_member(TENANT, "chat_pair", SARAH.ref, SARAH.ref)
    run = _ask(world, "chat_pair", says("Told", chat_id="chat_all"), END)
    assert asked_in(world, run, 0)


def test_send_message_after_reading_another_private_chat_of_the_same_person_asks_first() -> None:
    world = _house()
    world.chat(HUSAM, COACH, chat_id="chat_two", title="Again", respond="manual", **DIRECT)
    world.post("My secret", HUSAM, chat_id="chat_two")
    reads = calls(("read_messages", {"chat_id": "chat_two"}))
    run = _ask(world, "chat_husam", reads, says("I am late", chat_id="chat_all"), END)
    assert asked_in(world, run, 1)
