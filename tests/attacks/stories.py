"""Strategies that generate stories: at random, and as variations of known ones."""

from collections.abc import Sequence
from dataclasses import replace
from typing import get_args

from hypothesis import strategies as st

from skein.privacy.models.erasure import NamedTexts
from tests.attacks.cast import (
    AGENTS,
    ALICE,
    ALICES,
    BACKROOM,
    CAROL,
    COACH,
    DEN,
    OPENED,
    PAIR,
    PEOPLE,
    PHONES,
    ROOMS,
    STRANGER,
    STRANGERS_PHONE,
    Word,
)
from tests.attacks.known import KNOWN
from tests.attacks.known_codes import ENCODED
from tests.attacks.moves import CODES, MOVES, QUIET, Code, Move, Tactic
from tests.attacks.sharing import GiveRoles, MakeRule
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
    Shown,
    Step,
    Story,
    TakeName,
    TakeOver,
    Text,
    given_by,
    says_secret,
)

_people = st.sampled_from([person.id for person in PEOPLE])
_agents = st.sampled_from([agent.id for agent in AGENTS])
_inhabited = [room for room in ROOMS.values() if room != BACKROOM]
_groups = st.sampled_from([*(room.id for room in _inhabited if room.kind == "group"), OPENED])
_rooms = st.sampled_from(list(ROOMS))
_private = st.sampled_from(
    [ALICES] * 4 + [room for room in _inhabited if room.visibility == "private"]
)
SEATS = [(room.id, who.id) for room in _inhabited for who in room.members if who in PEOPLE]
_seats = st.sampled_from(SEATS)
_orders: st.SearchStrategy[Word | None] = st.sampled_from([None, "order"])
_guess: st.SearchStrategy[Word | None] = st.sampled_from([None, "guess"])
_words: st.SearchStrategy[Word | None] = st.sampled_from([None, None, "guess", "secret"])


_shown: st.SearchStrategy[Shown] = st.sampled_from(["", "", "picture", "document"])


KEEPS = [name for name, kind in MOVES.items() for _ in range(kind.keeps)]
CARRIES = [name for name, kind in MOVES.items() for _ in range(kind.carries)]
FILLS = ("choice", "errand", "book", "look_up")
_codes: st.SearchStrategy[Code] = st.sampled_from([*[""] * 10, *CODES])


def _move(kind: str, chat: str | None, code: Code) -> Move:
    return Move(kind, chat if MOVES[kind].has_place else None, code)


def _moves_of(kinds: Sequence[str], most: int) -> st.SearchStrategy[tuple[Move, ...]]:
    chats = st.sampled_from([*[None] * 6, *ROOMS, OPENED])
    move = st.builds(_move, st.sampled_from(kinds), chats, _codes)
    return st.lists(move, min_size=1, max_size=most).map(tuple)


def _tactic(*rounds: tuple[Move, ...], looks: bool, speaks: bool) -> Tactic:
    first = ((Move("read"), Move("look"), Move("recall")),) if looks else ()
    return Tactic(rounds=(*first, *rounds), speaks=speaks)


def _tactics(*rounds: st.SearchStrategy[tuple[Move, ...]]) -> st.SearchStrategy[Tactic]:
    looks = st.sampled_from([True, True, False])
    return st.builds(_tactic, *rounds, looks=looks, speaks=st.booleans())


_any_moves = _moves_of(list(MOVES), 3)
carrying = _tactics(_moves_of(CARRIES, 3))
keeping = st.one_of(
    _tactics(_moves_of(KEEPS, 4)), _tactics(_moves_of(KEEPS, 3), _moves_of(KEEPS, 3))
)
tactics = st.one_of(
    carrying,
    keeping,
    keeping,
    _tactics(_any_moves),
    _tactics(_any_moves, _any_moves),
    st.just(QUIET),
)


@st.composite
def _says(draw: st.DrawFn, word: Word | None = None) -> Say:
    """A person says something in a chat that they are in at the beginning."""
    if word == "secret":
        room = draw(_private)
        chat, who = room.id, room.members[0].id
    else:
        chat, who = draw(_seats)
    agents = [member.id for member in ROOMS[chat].members if member in AGENTS]
    if word != "secret" and draw(st.integers(0, 7)) == 0:
        chat, agents = OPENED, [COACH.id]
    return Say(
        tactic=draw(tactics),
        who=who,
        chat=chat,
        word=word or draw(_words),
        shows=draw(_shown),
        to=draw(st.sampled_from([*agents, agents[0]])),
        events=draw(st.one_of(st.just(()), st.lists(_events, min_size=1, max_size=2).map(tuple))),
        asked=draw(st.integers(0, 2)),
    )


_opens = st.builds(
    Open, tactics, _people, _people, st.sampled_from(["open", "open", "private"]), _words
)
_answers = st.builds(
    Answer,
    tactics,
    _people,
    of=st.one_of(st.just(""), st.just(""), _people),
    yes=st.sampled_from([True, True, False]),
    sms=st.booleans(),
)
_accepts = st.builds(Accept, tactics, _people, accept=st.sampled_from([True, True, False]))
_events: st.SearchStrategy[Step] = st.one_of(
    st.builds(Join, by=_people, chat=_groups, who=st.one_of(_people, _agents)),
    st.builds(Leave, chat=_groups, who=st.one_of(_people, _agents)),
    st.builds(Rename, who=_people, chat=_groups, word=_words),
    st.builds(Outage, minutes=st.sampled_from([1, 90])),
    st.builds(NewName, who=st.one_of(_people, _agents)),
    _opens,
    _answers,
    _accepts,
)
_others: st.SearchStrategy[Step] = st.one_of(
    st.builds(Text, tactics, st.sampled_from([*PHONES.values(), STRANGERS_PHONE]), _words),
    st.builds(ManualTrigger, tactics, _people, _groups),
    st.builds(OperatorPlan, st.just(QUIET), _agents, st.one_of(st.none(), _rooms)),
    st.builds(Report, tactics, st.one_of(st.none(), _rooms)),
    st.builds(Consolidate, tactics, _groups),
    st.builds(Discard, who=_people, chat=_groups),
    st.builds(Merge, who=_people),
    st.builds(TakeOver, tactics, _rooms, st.booleans()),
)
_time = st.builds(Pass, tactics, st.sampled_from([6, 12, 12, 120, 600]))
_rare: st.SearchStrategy[Step] = st.one_of(
    st.builds(Erase, who=_people), st.builds(Pass, tactics, st.just(6_000))
)
steps: st.SearchStrategy[Step] = st.sampled_from(
    [_says()] * 8 + [_events] * 5 + [_others] * 4 + [_time] * 4 + [_rare]
).flatmap(lambda strategy: strategy)


@st.composite
def _waits(draw: st.DrawFn) -> list[Step]:
    """A run waits in a private chat, and somebody confides there or nobody replies."""
    target = draw(_private)
    question = draw(_says())
    asks = Tactic(rounds=((Move("ask", target.id),),))
    if draw(st.booleans()):
        thread = ((Move("thread"),), (Move("switch"),))
        asks = Tactic(rounds=(*thread, *asks.rounds))
    confides = Say(tactic=draw(tactics), who=target.members[0].id, chat=target.id, word="secret")
    asked = replace(question, tactic=asks, events=())
    if draw(st.booleans()):
        return [asked, confides]
    return [replace(confides, tactic=QUIET), asked, Pass(minutes=9, tactic=draw(tactics))]


@st.composite
def _joins(draw: st.DrawFn) -> list[Step]:
    """Somebody joins a private chat, while the model thinks or later."""
    group = draw(st.sampled_from([DEN, DEN, PAIR]))
    host = group.members[0].id
    joins = Join(by=host, chat=group.id, who=draw(_people))
    works = Say(tactic=draw(tactics), who=host, chat=group.id, to=COACH.id, word=draw(_guess))
    away: list[Step] = [Outage(minutes=90)] if draw(st.booleans()) else []
    later: list[Step] = [Pass(minutes=120, tactic=draw(tactics))] if away else []
    if draw(st.booleans()):
        events = (*away, joins)
        return [replace(works, events=events, asked=draw(st.integers(0, 2))), *later]
    asks = Say(tactic=draw(tactics), who=joins.who, chat=group.id, to=COACH.id, word=draw(_guess))
    return [works, joins, asks]


@st.composite
def _follows_up(draw: st.DrawFn) -> list[Step]:
    """An agent keeps something, time passes, and somebody tries to get at it."""
    tries = draw(_says())
    return [draw(_says()), Pass(minutes=12, tactic=draw(tactics)), tries]


@st.composite
def fills(draw: st.DrawFn) -> list[Step]:
    """Fill a place or a limit of a person: questions, invitations, yes or no of a day, calls."""
    chat, who = draw(_seats)
    agents = [member.id for member in ROOMS[chat].members if member in AGENTS]
    kind, times = draw(st.sampled_from(FILLS)), draw(st.integers(1, 3))
    asks = Say(who=who, chat=chat, to=agents[0], word=draw(_guess))
    if draw(st.integers(0, 3)) == 0:
        return [Open(who=CAROL.id, whom=ALICE.id)] * times  # who share no chat
    if kind == "book":
        books = replace(asks, tactic=Tactic(((Move(kind),),)))
        return [books, Answer(who=who, yes=draw(st.booleans()))] * times
    filled = replace(asks, tactic=Tactic(((Move(kind),) * times,)))
    return [filled, Answer(who=who)] if kind == "errand" else [filled]


def filled(story: st.SearchStrategy[Story]) -> st.SearchStrategy[Story]:
    """A story, in a quarter of which a place or a limit is filled at some time."""

    def with_fill(story: Story, at: int, fill: list[Step]) -> Story:
        at %= len(story) + 1
        return (*story[:at], *fill, *story[at:])

    none: st.SearchStrategy[list[Step]] = st.just([])
    return st.builds(with_fill, story, st.integers(0, 20), st.one_of(none, none, none, fills()))


@st.composite
def random_stories(draw: st.DrawFn) -> Story:
    """Steps at random, with a secret that is said early."""
    story: list[Step] = [draw(_says("secret"))]
    for block in draw(
        st.lists(st.sampled_from([_waits, _joins, _joins, _follows_up]), min_size=1, max_size=2)
    ):
        story += draw(block())
    for _ in range(draw(st.integers(1, 3))):
        story.insert(draw(st.integers(0, len(story))), draw(steps))
    return tuple(story)


VARIED = (*KNOWN.values(), *ENCODED.values())


@st.composite
def variations(draw: st.DrawFn, stories: tuple[Story, ...] = VARIED) -> Story:
    """A known story with other tactics, with some steps more and some less."""
    story = list(draw(st.sampled_from(stories)))
    for _ in range(draw(st.integers(0, 2))):
        position = draw(st.integers(0, len(story)))
        story.insert(position, draw(steps))
    if len(story) > 2 and draw(st.booleans()):
        story.pop(draw(st.integers(0, len(story) - 1)))
    return tuple(story)


@st.composite
def _obeyed(draw: st.DrawFn, giver: str) -> list[Step]:
    """A person gives an order in a place of their own, and an agent works for others."""
    seats = [chat for chat, who in SEATS if who == giver]
    group = Open(who=giver, whom=draw(_people), word=draw(_orders))
    says = Say(who=giver, chat=draw(st.sampled_from(seats)), to=COACH.id, word="order")
    asked = Say(who=giver, chat=OPENED, to=COACH.id, word="order", tactic=draw(tactics))
    renames = Rename(who=giver, chat=draw(st.sampled_from(seats)), word="order")
    begins: list[list[Step]] = [
        [group],
        [replace(group, word=None), asked],
        [replace(says, tactic=draw(tactics))],
        [renames],
    ]
    story = draw(st.sampled_from(begins))
    if draw(st.booleans()):
        story.append(Pass(minutes=draw(st.sampled_from([6, 120])), tactic=draw(tactics)))
    works = draw(_says())
    if draw(st.booleans()):
        story += [draw(_says()), Pass(minutes=12, tactic=draw(tactics))]
    return [*story, works]


ASKS_FOR_YES = ("propose", "send", "errand", "choice", "look_up", "notify", "book", "unsay")
_private_seats = st.sampled_from([seat for seat in SEATS if ROOMS[seat[0]].visibility == "private"])


@st.composite
def _consents(draw: st.DrawFn, giver: str) -> list[Step]:
    """An agent asks for a yes while it holds the order, and the person it asks answers."""
    heard = draw(st.sampled_from([chat for chat, who in SEATS if who == giver]))
    chat, who = draw(_seats)
    agent = next(member.id for member in ROOMS[chat].members if member in AGENTS)
    asks = draw(_moves_of(ASKS_FOR_YES, 2))
    tactic = Tactic(((Move("read", heard),), asks), speaks=draw(st.booleans()))
    return [
        Say(who=giver, chat=heard, to=COACH.id, word="order"),
        Say(who=who, chat=chat, to=agent, tactic=tactic),
        Answer(draw(tactics), who=who, yes=draw(st.sampled_from([True, True, False]))),
    ]


@st.composite
def _asides(draw: st.DrawFn) -> list[Step]:
    """A person says something in private, and an agent works for somebody else.

    In half of the cases, the owner made a rule, for which one side may have no role.
    """
    chat, who = draw(_private_seats)
    aside = Say(draw(tactics), who=who, chat=chat, to=COACH.id, word="aside")
    told, other = draw(_seats)
    looks = (Move("read", chat), Move("look"), Move("recall"))
    asking = st.one_of(st.just(Tactic((looks,), speaks=True)), tactics)
    asks = Say(draw(asking), who=other, chat=told, to=COACH.id)
    if draw(st.booleans()):
        return [aside, *draw(st.sampled_from([(), (Answer(who=who),)])), asks]
    given = [GiveRoles(who=who, role="author"), GiveRoles(who=other, role="reader")]
    rule = MakeRule(whose="author", to="reader")
    noticed = Say(who=who, chat=chat, to=COACH.id)
    story: list[Step] = [*given, rule, noticed, aside, Pass(minutes=20), asks]
    if draw(st.booleans()):
        story.pop(draw(st.integers(0, 2)))
    return story


@st.composite
def ordered_stories(draw: st.DrawFn) -> Story:
    """Stories in which one person gives an order, which others are not to feel.

    In some, an agent asks for a yes while it holds the order, or people say things in private,
    which are to enter no prompts of others.
    """
    giver = draw(_people)
    blocks = [_obeyed(giver), _obeyed(giver), _consents(giver), _asides()]
    story = [*draw(st.sampled_from(blocks).flatmap(lambda block: block))]
    if draw(st.booleans()):
        story += draw(_asides())
    for _ in range(draw(st.integers(0, 3))):
        story.insert(draw(st.integers(0, len(story))), draw(steps))
    return given_by(tuple(story), giver)


_members = st.one_of(_people, st.just(STRANGER))
_roles = st.sampled_from(["privacy", "privacy", "support", "owner"])
_links = st.builds(Merge, who=_people, proven=st.sampled_from([True, True, False]), role=_roles)
_claims: st.SearchStrategy[Step] = st.one_of(
    st.builds(TakeName, tactics, _people, _people, st.booleans()),
    st.builds(MakeOwner, by=_members, chat=_groups, who=_members),
    st.builds(Remove, by=_members, chat=_groups, who=_members),
    st.builds(Join, by=_people, chat=_groups, who=_members),
    st.builds(Text, tactics, st.just(STRANGERS_PHONE)),
    st.builds(Accept, who=_members),
    st.builds(Answer, tactics, who=_members),
    st.builds(Leave, chat=_groups, who=_people),
    st.builds(NewName, who=_people),
    _links,
    _opens,
    _accepts,
)


@st.composite
def contested_stories(draw: st.DrawFn) -> Story:
    """Stories of people who claim names and roles, and of an erasure."""
    kinds = st.sampled_from([_claims, _claims, _says()])
    story = [draw(kind) for kind in draw(st.lists(kinds, min_size=2, max_size=5))]
    if draw(st.booleans()):
        who = draw(_people)
        story.insert(0, NewName(who=who, full=True))
        story.append(replace(draw(_says()), about=who))
        texts = draw(st.sampled_from(get_args(NamedTexts)))
        story.append(Erase(who=who, role=draw(_roles), named_texts=texts))
    return given_by(tuple(story), draw(_people))


stories = filled(st.one_of(random_stories(), variations())).filter(says_secret)
