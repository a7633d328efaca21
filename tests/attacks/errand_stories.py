"""Strategies that generate stories of errands, meetings and outreach."""

from dataclasses import replace

from hypothesis import strategies as st

from tests.attacks.cast import ALICE, BOB, CAROL, COACH, HALL, PAIR, PHONES, TEAM, Word
from tests.attacks.errands import Reach, Reply
from tests.attacks.known import does
from tests.attacks.known_errands import ERRANDS
from tests.attacks.steps import Answer, Join, Open, Pass, Say, Step, Story, Text, says_secret
from tests.attacks.stories import steps, tactics, variations

_people = st.sampled_from([ALICE.id, BOB.id, CAROL.id])
_words: st.SearchStrategy[Word | None] = st.sampled_from([None, "secret", "secret", "guess"])
_groups = st.sampled_from([PAIR, PAIR, TEAM, HALL])
_finding = st.sampled_from(
    [does("find_time"), does("find_time", speaks=True), does("look", "find_time"), does("errand")]
)
_replies: st.SearchStrategy[Step] = st.builds(
    Reply,
    tactics,
    _people,
    _words,
    sms=st.booleans(),
    unclear=st.sampled_from([False, False, True]),
)
_answers: st.SearchStrategy[Step] = st.builds(
    Answer,
    tactics,
    _people,
    yes=st.sampled_from([True, True, False]),
    sms=st.booleans(),
    word=_words,
)
_phones = st.sampled_from(list(PHONES))
_reaches: st.SearchStrategy[Step] = st.builds(
    Reach,
    tactics,
    people=st.lists(_phones, min_size=1, max_size=2, unique=True).map(tuple),
    word=_words,
    written=st.booleans(),
)
_texts: st.SearchStrategy[Step] = st.builds(
    Text, tactics, st.sampled_from(list(PHONES.values())), _words
)
_joins: st.SearchStrategy[Step] = st.builds(
    Join, by=st.just(ALICE.id), chat=st.just(PAIR.id), who=_people
)
_time: st.SearchStrategy[Step] = st.builds(Pass, tactics, st.sampled_from([12, 70, 1_500]))
_next = st.one_of(_replies, _replies, _replies, _answers, _answers, _texts, _joins, _time, steps)


@st.composite
def _begins(draw: st.DrawFn) -> list[Step]:
    """A group looks for a time, somebody has people asked, or an operator reaches people."""
    if draw(st.integers(0, 2)) == 0:
        return [draw(_reaches)]
    group = draw(_groups)
    who = draw(st.sampled_from([each for each in group.members if each.id.startswith("usr_")]))
    asks = Say(who=who.id, chat=group.id, to=COACH.id, tactic=draw(_finding))
    if draw(st.booleans()):
        return [replace(asks, word=draw(_words) if group == PAIR else None)]
    opened = Open(who=ALICE.id, whom=BOB.id, visibility="private")
    return [replace(asks, word="secret"), opened] if group == PAIR else [asks, opened]


@st.composite
def _new_stories(draw: st.DrawFn) -> Story:
    story = draw(_begins())
    story += draw(st.lists(_next, min_size=3, max_size=7))
    if draw(st.booleans()):
        story += draw(_begins())
        story += draw(st.lists(_next, min_size=1, max_size=3))
    return tuple(story)


errand_stories = st.one_of(
    _new_stories(), _new_stories(), variations(tuple(ERRANDS.values()))
).filter(says_secret)
