"""Four situations in which an agent is asked, with the words of people and operators in each.

They are played in memory: Skein itself makes the chats, messages, runs and plans, and a scripted
model answers. Ids are as long as Skein's.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from skein.models.common.address import phone_address
from skein.models.common.base import NamedMember
from skein.models.common.storage import Put, Update
from skein.models.directory.user import User
from skein.models.runs.completion import ModelRequest
from skein.models.visibility.ownership import Owner
from skein.workspace.models.document import DocumentReach, Folder
from tests.support.builders import LINE, NOON, PHONE, TENANT, World, bot, person
from tests.support.fakes import ScriptedModel, calls
from tests.support.routes import sms_route

DANA = person("usr_01M8158XKY6TDE9GH0W1985C22", "Dana")
LENA = person("usr_01M83R4GYQRXB9TP20FBTFDJ0T", "Lena")
MAYA = person("usr_01M83R4GZ3DDD5AF950BG2Y1ND", "Maya")
TOM = person("usr_01M83R4GZEG4KKNKKZATFZ8SJ9", "Tom")
HUSAM = person("usr_01M83R4GZVK39YCS1J79AAX5SS", "Husam")
COACH = bot("agt_01M8158XGJTBKQXQ4JPDZHXNRG", "Coach")
SCOUT = bot("agt_01M83R4GXRFS4BWV7ATBJ8NQ7T", "Scout")
LEDGER = bot("agt_01M83R4GXW2N1C5V7T0G3Q9K4D", "Ledger")
SCRIBE = bot("agt_01M83R4GY0ZB6R8S2J5D7M1X3H", "Scribe")
EDDA = bot("agt_01M84MJR2Y5XPRVS36WFQWXQNS", "Edda")
DIRECT = "chat_01M8158XKY6TDE9GH0W1985C23"
PARTY, BUDGET = "chat_01M83R4H0N5DY38A9S7XDXH98D", "chat_01M83R4H1G76RESSJP5272XFW3"
NEWSLETTER = "chat_01M84MJR3GM7J5TDZRCNZG16NY"
ADDRESS = sms_route(line=LINE, phone=PHONE)

BASE_TOOLS = ("send_message", "enter_chat", "read_messages", "get_my_runs")
GROUP_TOOLS = (
    *(*BASE_TOOLS, "borrow_context", "set_goal", "end_goal", "set_plan", "cancel_plan"),
    *("save_memory", "search_memories", "end_run"),
)
THREAD_TOOLS = (
    *(*BASE_TOOLS, "list_documents", "read_document", "write_document", "append_document"),
    *("edit_document", "delete_document", "read_skill", "create_thread", "switch_thread"),
    *("update_thread", "end_thread", "end_run"),
)

COACH_PROMPT = (
    "You are Coach, a friendly running coach. You help people train safely for races. Keep answers "
    "short."
)
PROFILE = {"goals": "Run a 10k on 2026-12-13", "skill_level": "beginner"}
KNEE = (
    "Dana asked Coach about training for a 10k with a sore left knee. Coach advised no hills this "
    "week, easy 5k on Sunday and icing, and Dana promised to report how Sunday's run felt. The "
    "race is on 13 December."
)
TALK = (
    ("Hi, I want to run a 10k in December", "Great! How much do you run now?"),
    ("5k twice a week. My left knee is sore", "Leave out hills this week and ice the knee."),
    ("Can I still run on Sunday?", "Yes, an easy 5k. Stop if the knee hurts."),
    ("OK. The race is on 13 December", "Noted. We build up slowly until then."),
    ("I'll tell you how Sunday felt", "Please do. Have fun!"),
)
REMINDER = "Ask Dana how the knee is and remind her of the easy run"
SCOUT_PROMPT = "You are Scout. You find and compare venues and vendors for events."
CORE = "Lena is the event lead and has the final say on money."
JOURNAL = (
    "Maya owns the venue contract and will sign it by Friday 2026-02-20.",
    "Tom wants vegetarian catering for 40 guests.",
    "Scout promised Lena a list of three venues.",
)
GOAL = "Have a signed venue contract by 2026-02-27"
CHASE = "Chase Tom"
PLANNED = "Ask Tom for the caterers' numbers"
PARTY_SUMMARY = (
    "Lena, Maya, Tom and Husam plan the company party with the agents Scout, Ledger and Scribe. "
    "Budget 12,000 is settled; venues Hafen and Altes Werk remain; catering for about 40 people is "
    "open."
)
SAID = (
    (LENA, "Anything new?"),
    (TOM, "Caterer A says 45 per head"),
    (HUSAM, "too much"),
    (MAYA, "Hafen offers 3,000 for the evening"),
    (TOM, "is that normal?"),
    (LENA, "Let's not waste time"),
    (HUSAM, "What about music?"),
    (MAYA, "my brother has a band"),
)
DEPOSIT = "@Scout Hafen wants a deposit of 1,000. Do we take it? Ask Ledger if we can afford it."
EDDA_PROMPT = "You are Edda, who writes and revises texts with the team."
STYLE = "# House style\n- Say you, not one.\n- No exclamation marks.\n"
NOVEMBER = (
    "# November newsletter\n\n## Party\nTBD\n\n## New faces\nAnn and Ben joined in October.\n"
)
SURVEY = "answer,count\nyes,12\nno,3\n"
THREAD = {
    "concern": "November newsletter",
    "goal": "Out by Monday",
    "deliverable": "A page of text",
    "approach": "Party first, then new faces",
}
STANDING = {
    "progress": "New faces is written; the party part waits for facts",
    "blocking": "Lena must say where the party is",
}
PENDING = ("What the survey says about food", "Job ad for a designer")
START = "Please start on the November newsletter, the survey and the job ad"
HAFEN = "The party is at Hafen on December 11, write that part please"
HOUR, DAY = 3_600, 86_400


@dataclass(frozen=True)
class Situation:
    """The request to the model in one situation.

    Attributes:
        request: The request of the activation that the situation is about.
        words: The words of people and operators that the request may hold.
    """

    request: ModelRequest
    words: Sequence[str]


def sms_after_a_day() -> Situation:
    """Dana writes to Coach by SMS, a day after they talked."""
    world = _direct_chat()
    question = "Did the run. What did you say about the knee again?"
    _said(world, question)
    return Situation(world.model.requests[-1], [*_DIRECT_WORDS, question])


def plan_in_a_direct_chat() -> Situation:
    """A plan fires that the agent set in Dana's chat the day before, at her request."""
    plan = {"name": "Knee", "instruction": REMINDER, "run_after": "26 hours"}
    world = _direct_chat(calls(("set_plan", plan), "end_run"))
    world.clock.advance(2 * HOUR)  # past the quiet hours, which end at 8 in New York
    world.tick()
    world.drain()
    request = world.model.requests[-1]
    if not any(REMINDER in message.content for message in request.messages):
        raise RuntimeError("the plan did not fire")
    return Situation(request, [*_DIRECT_WORDS, "Knee", REMINDER])


def busy_group() -> Situation:
    """Maya asks Scout in a group of four people and three agents."""
    world = World(model=ScriptedModel.saying(default=calls("end_run")))
    world.agent(
        SCOUT.id,
        SCOUT.name,
        system_prompt=SCOUT_PROMPT,
        reply_mode=None,
        history_format=None,
        time_zone="Europe/Berlin",
        enabled_tools=GROUP_TOOLS,
    )
    for other in (LEDGER, SCRIBE):
        world.agent(other.id, other.name, reply_mode=None, history_format=None)
    people = (LENA, MAYA, TOM, HUSAM)
    world.known(*people)
    group = {"chat_id": PARTY, "title": "Company party", "respond": "mention"}
    world.chat(*people, SCOUT, LEDGER, SCRIBE, **group)
    world.chat(LENA, SCOUT, LEDGER, chat_id=BUDGET, title="Budget sheet", respond="mention")
    owner = Owner(tenant=TENANT, agent_id=SCOUT.id, source_chat_id=PARTY)
    memories = world.app.memories
    memories.add(owner, CORE, "core", made_by="tool")
    for text in JOURNAL:
        memories.add(owner, text, "journal", made_by="tool")
    world.app.goals.set(owner, text=GOAL, priority=1)
    world.app.plans.set(owner, name=CHASE, instruction=PLANNED, run_after="2 days")
    world.model.summaries.extend([_summary(PARTY_SUMMARY)] * 100)
    said = [(who, f"{text} ({n})") for n in range(1, 8) for who, text in SAID][:51]
    for who, text in said:
        world.clock.advance(15)
        world.post(text, who, chat_id=PARTY)
        if len(text) % 4 == 0:
            world.drain()
    world.drain()
    _seen(world, PARTY, SCOUT)
    world.post(DEPOSIT, MAYA, chat_id=PARTY)
    world.drain()
    texts = [text for _, text in said]
    return Situation(
        world.model.requests[-1],
        [SCOUT_PROMPT, CORE, *JOURNAL, GOAL, CHASE, PLANNED, PARTY_SUMMARY, *texts, DEPOSIT],
    )


def agent_with_threads() -> Situation:
    """Lena asks Edda, who has three open threads and works on one of them."""
    world = World(model=ScriptedModel.saying(default=calls("end_run")))
    world.agent(
        EDDA.id,
        EDDA.name,
        system_prompt=EDDA_PROMPT,
        reply_mode=None,
        history_format=None,
        enabled_tools=THREAD_TOOLS,
    )
    world.known(LENA, TOM)
    world.chat(LENA, TOM, EDDA, chat_id=NEWSLETTER, title="Newsletter")
    folder = Folder(tenant=TENANT, agent_id=EDDA.id)
    reach = DocumentReach(folders=(folder,))
    documents = world.app.documents
    documents.write(reach, "house-style.md", STYLE, new_in=folder, pinned=True)
    documents.write(reach, "november.md", NOVEMBER, new_in=folder)
    documents.write(reach, "survey.csv", SURVEY, new_in=folder, media_type="text/csv")
    owner = Owner(tenant=TENANT, agent_id=EDDA.id)
    threads = world.app.threads
    fields: dict[str, Any] = {**THREAD, "kind": "deliverable", "documents": ["november.md"]}
    active = threads.create(owner, fields)
    threads.create(owner, {"concern": PENDING[0], "documents": ["survey.csv"]})
    threads.create(owner, {"concern": PENDING[1]})
    threads.switch(owner.reach, active.id)
    threads.revise(owner.reach, active.id, STANDING)
    for text in (START, HAFEN):
        world.clock.advance(600)
        world.post(text, LENA, chat_id=NEWSLETTER)
        world.drain()
    lines = [line for text in (STYLE, NOVEMBER) for line in text.splitlines() if line]
    words = [*THREAD.values(), *STANDING.values(), *PENDING, *lines, START, HAFEN]
    return Situation(world.model.requests[-1], [EDDA_PROMPT, *words])


SITUATIONS: Mapping[str, Callable[[], Situation]] = {
    "SMS after a day": sms_after_a_day,
    "busy group of three agents": busy_group,
    "agent with threads": agent_with_threads,
    "plan in a direct chat": plan_in_a_direct_chat,
}

_DIRECT_WORDS = (
    *(COACH_PROMPT, *PROFILE.values(), KNEE),
    *(text for pair in TALK for text in pair),
)


def _direct_chat(*last: Any) -> World:
    """Let Dana and Coach talk by SMS, and advance the clock by a day."""
    answers = [*(answer for _, answer in TALK[: len(TALK) - len(last)]), *last]
    world = World(model=ScriptedModel.saying(*answers, default="Ice it, and no hills."))
    fields: dict[str, Any] = {"system_prompt": COACH_PROMPT, "time_zone": "America/New_York"}
    if last:
        fields["enabled_tools"] = (*BASE_TOOLS, "set_plan", "cancel_plan", "end_run")
    world.agent(COACH.id, COACH.name, reply_mode=None, history_format=None, **fields)
    world.line(COACH.id)
    user = User(
        tenant=TENANT,
        id=DANA.id,
        name=DANA.name,
        addresses=(phone_address(PHONE),),
        profile=PROFILE,
        created_at=NOON,
    )
    world.table.write(Put(user.key, user.to_item()))
    direct = {
        "kind": "direct",
        "visibility": "private",
        "title": None,
        "line": phone_address(LINE),
        "route": ADDRESS,
    }
    world.chat(DANA, COACH, chat_id=DIRECT, **direct)
    world.model.summaries.extend([_summary(KNEE)] * 100)
    for text, _ in TALK:
        world.clock.advance(60)
        _said(world, text)
    world.tick()
    world.drain()
    world.clock.advance(DAY)
    world.tick()
    world.drain()
    return world


def _said(world: World, text: str) -> None:
    world.post(text, DANA, chat_id=DIRECT, route=ADDRESS)
    world.drain()


def _summary(text: str) -> str:
    return json.dumps({"lines": [text, "Nothing is open."], "summary": text})


def _seen(world: World, chat_id: str, agent: NamedMember) -> None:
    """Mark all messages of a chat as shown to an agent."""
    member = world.membership(agent, chat_id)
    seen = world.stored_chat(chat_id).last_seq
    world.table.write(Update(member.key, set={"seen_seq": seen}))
