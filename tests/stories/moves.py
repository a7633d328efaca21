"""The one list of moves: all that people, operators, services, the clock and faults can do.

A move is played in a place: a chat, with a person who acts there and another one. It makes a step,
so a story is a tuple of steps whoever made it. To add one, see docs/testing.md.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

from skein.models.chats.chat import Message
from tests.attacks.cast import (
    ALICE,
    ALICES,
    BOB,
    BOBS_PHONE,
    CAROL,
    COACH,
    PAIR,
    ROOMS,
    STRANGERS_PHONE,
    TEAM,
    VISIT,
)
from tests.attacks.errands import Reach, Reply
from tests.attacks.services import BOOK
from tests.attacks.sharing import (
    EndRule,
    GiveRoles,
    Keep,
    MakeRule,
    Refuse,
    ShortenRule,
    Withdraw,
)
from tests.attacks.steps import (
    Accept,
    Answer,
    Consolidate,
    Discard,
    Erase,
    Join,
    Leave,
    MakeOwner,
    ManualTrigger,
    Merge,
    NewName,
    Open,
    OperatorPlan,
    Outage,
    Pass,
    Remove,
    Rename,
    Report,
    Say,
    Step,
    TakeName,
    Text,
)
from tests.stories.deeds import (
    CancelOutreach,
    Decide,
    Delete,
    DeskDoes,
    EndVisit,
    Fault,
    Import,
    Night,
    Pause,
    Publish,
    Setting,
    StopRun,
    TakeDown,
    Try,
    Write,
)
from tests.stories.tasks import TASKS
from tests.stories.town import Town

By = Literal["person", "operator", "desk", "service", "clock", "fault"]


@dataclass(frozen=True)
class Place:
    """Where a story is played.

    Attributes:
        chat: The chat.
        who: The person who acts there.
        other: Somebody else, who is in the chat if it is a group.
    """

    name: str
    chat: str
    who: str
    other: str

    @property
    def kind(self) -> str:
        """What kind of chat it is."""
        if self.chat == VISIT.id:
            return "web chat"
        room = ROOMS.get(self.chat)
        if room is None:
            return "open group"  # the newest
        if room.kind == "group":
            return f"{room.visibility} group"
        return "SMS" if room.channel else "app"


PLACES = {
    place.name: place
    for place in (
        Place("alice", ALICES.id, ALICE.id, BOB.id),
        Place("phone", BOBS_PHONE.id, BOB.id, ALICE.id),
        Place("visit", VISIT.id, VISIT.members[0].id, ALICE.id),
        Place("pair", PAIR.id, ALICE.id, BOB.id),
        Place("team", TEAM.id, ALICE.id, BOB.id),
    )
}
GROUPS = frozenset({"private group", "open group"})
DIRECT = frozenset({"SMS", "app", "web chat"})

Impossible = Callable[[Town, Place], str]
"""Tells why a move is impossible now, in words; '' if it is possible."""


def _never(_: Town, __: Place) -> str:
    return ""


@dataclass(frozen=True)
class Where:
    """Some kinds of chats, and why something is impossible in others."""

    kinds: frozenset[str]
    elsewhere: str = ""


EVERYWHERE = Where(GROUPS | DIRECT)


@dataclass(frozen=True)
class Move:
    """Something that somebody does.

    Attributes:
        by: Who does it.
        step: The step, in a place.
        where: The kinds of chats in which it can be done.
        impossible: Why it is impossible at a moment of a story.
        needs: The move that makes it possible.
        undo: The move that ends the state in which others would only be refused.
        ends: Whether nothing but refusals follow it, so that a tour begins another story.
    """

    name: str
    by: By
    step: Callable[[Place], Step]
    where: Where = EVERYWHERE
    impossible: Impossible = _never
    needs: str = ""
    undo: str = ""
    ends: bool = False

    def why_not(self, town: Town, place: Place) -> str:
        """Why the move is impossible in a place now; '' if it is possible."""
        if place.kind not in self.where.kinds:
            return self.where.elsewhere
        return self.impossible(town, place)


# ---------------------------------------------------------------------- what must be there first


def asked_in(town: Town, place: Place, who: str) -> list[Message]:
    """The open questions to a person in a place."""
    now = town.clock.now()
    return [
        each
        for each in town.messages(place.chat)
        if each.choice and each.choice.addressee == who and each.choice.status(now) == "open"
    ]


def no_question(town: Town, place: Place) -> str:
    return "" if asked_in(town, place, place.who) else "no question is open"


def no_errand(town: Town, _: Place) -> str:
    open_now = any(
        each.choice and each.choice.purpose == "errand" and each.choice.answer is None
        for chat in town.knowledge.chat_ids()
        for each in town.messages(chat)
    )
    return "" if open_now else "nobody is asked for somebody else"


def not_held(town: Town, place: Place) -> str:
    return "" if town.stored_chat(place.chat).holder is not None else "nobody holds the chat"


def held(town: Town, place: Place) -> str:
    return "" if not_held(town, place) else "the chat is held"


def no_rule(town: Town, _: Place) -> str:
    return "" if town.permissions.rules else "there is no rule"


def no_outreach(town: Town, _: Place) -> str:
    return "" if town.outreaches else "there is no outreach"


def no_page(town: Town, _: Place) -> str:
    return "" if town.sources else "there is no page"


def no_run(town: Town, place: Place) -> str:
    return "" if town.runs(place.chat) else "no run has begun"


def no_words(town: Town, place: Place) -> str:
    own = (m for m in town.messages(place.chat) if m.sender.id == place.who and m.kind == "text")
    return "" if any(own) else "the person has said nothing"


def works(town: Town, _: Place) -> str:
    return "" if town.services_state != "back" else "the services work"


def is_gone(town: Town, _: Place) -> str:
    return "" if town.services_state == "back" else "the services do not work already"


def is_fault(town: Town, _: Place) -> str:
    return "" if town.fault is None else "a fault is about to strike"


def is_in(member: Callable[[Place], str], *, there: bool) -> Impossible:
    """Somebody must be in the chat, or must not."""

    def impossible(town: Town, place: Place) -> str:
        ids = {each.id for each in town.stored_chat(place.chat).roster}
        if (member(place) in ids) == there:
            return ""
        return f"{'nobody' if there else 'somebody'} of this name is there"

    return impossible


def persons_decide(town: Town, _: Place) -> str:
    return "" if town.operators_decide else "people decide on calls"


def no_call_waits(town: Town, _: Place) -> str:
    return "" if town.waiting_calls() else "no call waits for an operator"


def not_invited(town: Town, _: Place) -> str:
    return "" if town.invited else "nobody is invited"


# ---------------------------------------------------------------------- the list


def who(place: Place) -> str:
    return place.who


def other(place: Place) -> str:
    return place.other


def carol(_: Place) -> str:
    return CAROL.id


def coach(_: Place) -> str:
    return COACH.id


def _asks(task: str) -> Callable[[Place], Step]:
    return lambda place: Write(who=place.who, chat=place.chat, task=task, other=place.other)


def _types(text: str) -> Callable[[Place], Step]:
    return lambda place: Write(who=place.who, chat=place.chat, text=text)


def _desk(does: Literal["take", "say", "hand back", "draft"]) -> Callable[[Place], Step]:
    return lambda place: DeskDoes(chat=place.chat, does=does)


def _set(
    name: str, value: str | int | None, *, agent: bool = False, tool: str = ""
) -> Callable[[Place], Step]:
    return lambda _: Setting(name=name, value=value, agent=agent, tool=tool)


def _always(step: Step) -> Callable[[Place], Step]:
    return lambda _: step


APP_WRITES = frozenset({"app", "web chat", *GROUPS})
ONLY_SMS = Where(frozenset({"SMS"}), "the person has no phone there")
ON_PAGES = Where(frozenset({"web chat"}), "only visitors of web pages make visits")
ONLY_GROUPS = Where(GROUPS, "a direct chat keeps its two members")
ONLY_DIRECT = Where(DIRECT, "in a group, nobody is alone with the agent")
IN_APP = Where(APP_WRITES, "a person on SMS has no app there")
IN_PRIVATE = Where(DIRECT | {"private group"}, "everybody reads an open chat")

GROUP_TASKS = {"meeting"}

_LIST: tuple[Move, ...] = (
    *(
        Move(task, "person", _asks(task), where=ONLY_GROUPS if task in GROUP_TASKS else EVERYWHERE)
        for task in TASKS
    ),
    # ------------------------------------------------------------------ words
    Move(
        "confide",
        "person",
        lambda p: Say(who=p.who, chat=p.chat, to=COACH.id, word="secret"),
        where=IN_PRIVATE,
    ),
    Move("say", "person", lambda p: Say(who=p.who, chat=p.chat, to=COACH.id)),
    Move(
        "name other",
        "person",
        lambda p: Say(who=p.who, chat=p.chat, to=COACH.id, about=p.other),
    ),
    Move("small talk", "person", _types("Nice weather."), where=ONLY_GROUPS),
    Move(
        "picture",
        "person",
        lambda p: Say(who=p.who, chat=p.chat, to=COACH.id, shows="picture"),
        where=IN_APP,
    ),
    Move(
        "document",
        "person",
        lambda p: Say(who=p.who, chat=p.chat, to=COACH.id, shows="document"),
        where=IN_APP,
    ),
    Move(
        "delete",
        "person",
        lambda p: Delete(who=p.who, chat=p.chat),
        impossible=no_words,
        needs="talk",
    ),
    Move("PRIVATE", "person", lambda p: Keep(who=p.who, chat=p.chat), where=ONLY_DIRECT),
    Move(
        "withdraw",
        "person",
        lambda p: Withdraw(who=p.who, chat=p.chat),
        impossible=no_words,
        needs="talk",
    ),
    Move("STOP", "person", _types("STOP"), undo="START", where=ONLY_SMS),
    Move("START", "person", _types("START"), where=ONLY_SMS),
    Move("reset", "person", _types("Start over"), where=ONLY_DIRECT),
    # ------------------------------------------------------------------ answers
    Move("approve", "person", lambda p: Answer(who=p.who), impossible=no_question, needs="book"),
    Move(
        "refuse",
        "person",
        lambda p: Answer(who=p.who, yes=False),
        impossible=no_question,
        needs="book",
    ),
    Move(
        "approve by number",
        "person",
        lambda p: Answer(who=p.who, sms=True),
        impossible=no_question,
        needs="book",
        where=ONLY_SMS,
    ),
    Move("typed yes", "person", _types("Yes please"), impossible=no_question, needs="book"),
    Move("typed no", "person", _types("No"), impossible=no_question, needs="book"),
    Move(
        "answer for them",
        "person",
        lambda p: Answer(who=p.other, of=p.who),
        impossible=no_question,
        needs="book",
    ),
    Move(
        "bring words", "person", lambda p: Reply(who=p.other), impossible=no_errand, needs="errand"
    ),
    Move(
        "questions run out",
        "clock",
        _always(Pass(minutes=1_500)),
        impossible=no_question,
        needs="book",
    ),
    # ------------------------------------------------------------------ chats
    Move(
        "join",
        "person",
        lambda p: Join(by=p.who, chat=p.chat, who=CAROL.id),
        impossible=is_in(carol, there=False),
        where=ONLY_GROUPS,
    ),
    Move(
        "leave",
        "person",
        lambda p: Leave(chat=p.chat, who=p.other),
        impossible=is_in(other, there=True),
        undo="return",
        where=ONLY_GROUPS,
    ),
    Move(
        "return",
        "person",
        lambda p: Join(by=p.who, chat=p.chat, who=p.other),
        impossible=is_in(other, there=False),
        needs="leave",
        where=ONLY_GROUPS,
    ),
    Move(
        "remove",
        "person",
        lambda p: Remove(by=p.who, chat=p.chat, who=CAROL.id),
        impossible=is_in(carol, there=True),
        needs="join",
        where=ONLY_GROUPS,
    ),
    Move(
        "agent leaves",
        "person",
        lambda p: Remove(by=p.who, chat=p.chat, who=COACH.id),
        impossible=is_in(coach, there=True),
        undo="agent returns",
        where=ONLY_GROUPS,
    ),
    Move(
        "agent returns",
        "person",
        lambda p: Join(by=p.who, chat=p.chat, who=COACH.id),
        impossible=is_in(coach, there=False),
        needs="agent leaves",
        where=ONLY_GROUPS,
    ),
    Move(
        "make an owner",
        "person",
        lambda p: MakeOwner(by=p.who, chat=p.chat, who=p.other),
        impossible=is_in(other, there=True),
        where=ONLY_GROUPS,
    ),
    Move("rename", "person", lambda p: Rename(who=p.who, chat=p.chat)),
    Move("open a group", "person", lambda p: Open(who=CAROL.id, whom=ALICE.id)),
    Move(
        "accept",
        "person",
        _always(Accept(who=ALICE.id)),
        impossible=not_invited,
        needs="open a group",
    ),
    Move(
        "decline",
        "person",
        _always(Accept(who=ALICE.id, accept=False)),
        impossible=not_invited,
        needs="open a group",
    ),
    Move("discard", "person", lambda p: Discard(who=p.who, chat=p.chat), ends=True),
    Move("end visit", "person", lambda p: EndVisit(who=p.who), where=ON_PAGES, ends=True),
    Move("respond now", "person", lambda p: ManualTrigger(who=p.who, chat=p.chat)),
    Move("take a name", "person", lambda p: TakeName(who=p.other, whom=p.who)),
    # ------------------------------------------------------------------ sharing
    Move("rule on", "operator", _always(MakeRule(whose="daughter", to="father"))),
    Move("roles", "operator", lambda p: GiveRoles(who=p.who, role="daughter")),
    Move("other's roles", "operator", lambda p: GiveRoles(who=p.other, role="father")),
    Move("rule ends soon", "operator", _always(ShortenRule()), impossible=no_rule, needs="rule on"),
    Move("rule off", "operator", _always(EndRule()), impossible=no_rule, needs="rule on"),
    Move("refuse to be told", "person", lambda p: Refuse(who=p.other)),
    # ------------------------------------------------------------------ the desk
    Move("take over", "desk", _desk("take"), impossible=held, undo="hand back"),
    Move("team writes", "desk", _desk("say"), impossible=not_held, needs="take over"),
    Move("draft", "desk", _desk("draft"), impossible=not_held, needs="take over"),
    Move("hand back", "desk", _desk("hand back"), impossible=not_held, needs="take over"),
    # ------------------------------------------------------------------ operators and services
    Move("operator's plan", "operator", lambda p: OperatorPlan(agent=COACH.id, chat=p.chat)),
    Move("report", "service", lambda p: Report(chat=p.chat)),
    Move("stop run", "operator", lambda p: StopRun(chat=p.chat), impossible=no_run, needs="talk"),
    Move("new name", "operator", lambda p: NewName(who=p.who)),
    Move("full name", "operator", lambda p: NewName(who=p.other, full=True)),
    Move("agent's name", "operator", _always(NewName(who=COACH.id))),
    Move("merge", "operator", lambda p: Merge(who=p.who)),
    Move("stranger texts", "person", _always(Text(phone=STRANGERS_PHONE))),
    Move("erase", "operator", lambda p: Erase(who=p.who), ends=True),
    Move("erase other", "operator", lambda p: Erase(who=p.other)),
    Move("outreach", "operator", _always(Reach(people=(BOB.id,)))),
    Move("written outreach", "operator", _always(Reach(people=(BOB.id,), written=True))),
    Move(
        "cancel outreach",
        "operator",
        _always(CancelOutreach()),
        impossible=no_outreach,
        needs="outreach",
    ),
    Move("consolidate", "operator", lambda p: Consolidate(chat=p.chat)),
    Move(
        "no outsiders", "operator", _set("outsiders", "none", agent=True), undo="quoted outsiders"
    ),
    Move("fewer tokens", "operator", _set("user_tokens_per_day", 1), undo="more tokens"),
    Move("more tokens", "operator", _set("user_tokens_per_day", 0)),
    Move(
        "one message a minute",
        "operator",
        _set("user_messages_per_minute", 1),
        undo="many messages",
    ),
    Move("many messages", "operator", _set("user_messages_per_minute", 0)),
    Move("quoted outsiders", "operator", _set("outsiders", "quoted", agent=True)),
    Move(
        "operators decide",
        "operator",
        _set("approval", "operator", tool=BOOK),
        undo="people decide",
    ),
    Move("people decide", "operator", _set("approval", "person", tool=BOOK)),
    Move(
        "order",
        "person",
        _asks("book"),
        impossible=persons_decide,
        needs="operators decide",
    ),
    Move(
        "operator approves",
        "operator",
        _always(Decide()),
        impossible=no_call_waits,
        needs="order",
    ),
    Move(
        "operator refuses",
        "operator",
        _always(Decide(yes=False)),
        impossible=no_call_waits,
        needs="order",
    ),
    Move("page", "operator", _always(Publish())),
    Move("no page", "operator", _always(TakeDown()), impossible=no_page, needs="page"),
    Move("try", "operator", lambda p: Try(chat=p.chat), impossible=no_run, needs="talk"),
    Move("import", "operator", _always(Import())),
    Move("import anew", "operator", _always(Import(new=True))),
    Move("pause runs", "operator", _always(Pause()), undo="resume runs"),
    Move("resume runs", "operator", _always(Pause(on=False))),
    Move("pause texts", "operator", _always(Pause(kind="texts")), undo="resume texts"),
    Move("resume texts", "operator", _always(Pause(kind="texts", on=False))),
    # ------------------------------------------------------------------ the clock
    Move("minutes pass", "clock", _always(Pass(minutes=12))),
    Move("hours pass", "clock", _always(Pass(minutes=130))),
    Move("a day passes", "clock", _always(Pass(minutes=1_450))),
    Move("night", "clock", _always(Night())),
    # ------------------------------------------------------------------ faults
    Move("model is down", "fault", _always(Outage(minutes=20)), undo="minutes pass"),
    Move(
        "tool slow", "fault", _always(Fault(what="no answer")), impossible=is_gone, undo="tool back"
    ),
    Move("tool dies", "fault", _always(Fault(what="dies")), impossible=is_gone, undo="tool back"),
    Move("tool gone", "fault", _always(Fault(what="gone")), impossible=is_gone, undo="tool back"),
    Move("tool back", "fault", _always(Fault(what="back")), impossible=works, needs="tool gone"),
    Move("worker dies", "fault", _always(Fault(at=3)), impossible=is_fault),
    Move("dies at call", "fault", _always(Fault(at=0)), impossible=is_fault),
    Move("lease lost", "fault", _always(Fault(what="slow worker")), impossible=is_fault),
    Move("twice", "fault", _always(Fault(what="twice")), impossible=is_fault),
)

MOVES: Mapping[str, Move] = {move.name: move for move in _LIST}
assert len(MOVES) == len(_LIST)
