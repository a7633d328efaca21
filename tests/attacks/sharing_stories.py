"""Strategies that generate stories of sharing rules, in most of which words are told by rule."""

from dataclasses import dataclass

from hypothesis import strategies as st

from tests.attacks.cast import (
    ALICE,
    ALICES,
    BOB,
    BOBS,
    BOBS_PHONE,
    CAROL,
    CAROLS_PHONE,
    COACH,
    STRANGER,
    STRANGERS_PHONE,
    Word,
)
from tests.attacks.known import does
from tests.attacks.known_sharing import SHARED
from tests.attacks.moves import Tactic
from tests.attacks.permissions import KEEP_WORDS
from tests.attacks.sharing import (
    EndRule,
    GiveRoles,
    Keep,
    Linger,
    MakeRule,
    Refuse,
    ShortenRule,
    Withdraw,
)
from tests.attacks.steps import Discard, Erase, Merge, Pass, Say, Step, Story, Text, says_secret
from tests.attacks.stories import carrying, keeping, steps, tactics

WHOSE, TO = "daughter", "father"
SUBJECTS = (ALICE.id, CAROL.id)


@dataclass(frozen=True)
class Talker:
    """A person with a private chat with Coach; the stranger texts, and all others write.

    Attributes:
        chat: The chat; empty for the stranger's, whose id is not known before.
    """

    who: str
    chat: str = ""

    def says(self, word: Word | None = None, **more: object) -> Step:
        """Return the step in which the person says something in that chat."""
        if not self.chat:
            tactic = more.get("tactic", Tactic())
            assert isinstance(tactic, Tactic)
            return Text(tactic, STRANGERS_PHONE, word)
        return Say(who=self.who, chat=self.chat, to=COACH.id, word=word, **more)  # type: ignore[arg-type]


TALKERS = (
    Talker(ALICE.id, ALICES.id),
    Talker(BOB.id, BOBS.id),
    Talker(BOB.id, BOBS_PHONE.id),
    Talker(CAROL.id, CAROLS_PHONE.id),
    Talker(STRANGER),
)
_people = st.sampled_from([ALICE.id, BOB.id, CAROL.id])
_talkers = st.sampled_from(TALKERS)
_roles = st.sampled_from([WHOSE, TO, ""])
_subjects = st.sampled_from([None, None, *SUBJECTS])
_asking: st.SearchStrategy[Tactic] = st.one_of(
    st.just(does("recall", speaks=True)), st.just(does(speaks=True)), carrying, keeping, tactics
)


def _changes(author: Talker, reader: Talker) -> st.SearchStrategy[Step]:
    """What may change who may be told what an author says, at any time."""
    who = st.sampled_from([author.who, reader.who, reader.who])
    own = [
        st.builds(
            Keep,
            who=st.just(author.who),
            chat=st.just(author.chat),
            how=st.sampled_from([*KEEP_WORDS, ""]),
        ),
        st.builds(
            Withdraw, who=st.just(author.who), chat=st.just(author.chat), newest=st.booleans()
        ),
        st.builds(Discard, who=st.just(author.who), chat=st.just(author.chat)),
    ]
    return st.one_of(
        *(own if author.chat else []),
        st.builds(Refuse, who=st.just(reader.who)),
        st.builds(
            GiveRoles,
            who=who,
            role=_roles,
            subject=_subjects,
            second=st.sampled_from(["", "", WHOSE, TO]),
            second_subject=_subjects,
        ),
        st.builds(EndRule),
        st.builds(EndRule),
        st.builds(ShortenRule, minutes=st.sampled_from([1, 2, 20])),
        _rules(),
    )


def _rules() -> st.SearchStrategy[MakeRule]:
    """Rules that tell a reader what an author says, of all kinds."""
    return st.builds(
        MakeRule,
        whose=st.just(WHOSE),
        to=st.just(TO),
        same_subject=st.sampled_from([False, False, True]),
        starts=st.sampled_from([0, 0, 0, 0, 4]),
        lasts=st.sampled_from([0, 0, 0, 0, 30, 60]),
    )


def _late(author: Talker, reader: Talker) -> st.SearchStrategy[Step]:
    """Changes that may come while the model thinks, some of which take hours."""
    return st.one_of(
        _changes(author, reader),
        _changes(author, reader),
        st.builds(Linger, minutes=st.sampled_from([3, 25])),
        st.builds(Erase, who=st.sampled_from([author.who, reader.who])),
        st.builds(Merge, who=_people),
        st.builds(Merge, who=_people),
    )


@st.composite
def _new_stories(draw: st.DrawFn) -> Story:
    """Somebody says the secret to Coach, somebody else asks, and some things change meanwhile."""
    author, reader = draw(st.lists(_talkers, min_size=2, max_size=2, unique_by=lambda one: one.who))
    begins: list[Step] = [one.says() for one in (author, reader) if not one.chat]
    subject = draw(st.sampled_from([None, CAROL.id, ALICE.id]))
    setup: list[Step] = [
        GiveRoles(who=author.who, role=WHOSE, subject=subject),
        GiveRoles(who=reader.who, role=TO, subject=draw(st.sampled_from([subject, CAROL.id]))),
        draw(_rules()),
    ]
    story = [*begins, *draw(st.permutations(setup)), author.says(), author.says("secret")]
    story += [Pass(minutes=draw(st.sampled_from([20, 20, 20, 12])))]
    late = _late(author, reader)
    events = draw(st.one_of(st.just(()), st.lists(late, min_size=1, max_size=2).map(tuple)))
    more = {"events": events, "asked": draw(st.integers(0, 1))} if reader.chat else {}
    story.append(reader.says(draw(st.sampled_from([None, "guess"])), tactic=draw(_asking), **more))
    if draw(st.booleans()):
        again = draw(st.sampled_from([reader, draw(_talkers)]))
        story += [draw(late), again.says("guess", tactic=draw(_asking))]
    for _ in range(draw(st.sampled_from([0, 1, 1, 2, 3]))):
        step = draw(st.one_of(_changes(author, reader), late, steps))
        story.insert(draw(st.integers(len(begins), len(story))), step)
    return tuple(story)


@st.composite
def sharing_variations(
    draw: st.DrawFn, stories: tuple[Story, ...] = tuple(SHARED.values())
) -> Story:
    """A known story of sharing with a change more, or a step less."""
    story = list(draw(st.sampled_from(stories)))
    for _ in range(draw(st.integers(0, 2))):
        step = draw(st.one_of(_late(TALKERS[0], TALKERS[1]), steps))
        story.insert(draw(st.integers(0, len(story))), step)
    if len(story) > 2 and draw(st.booleans()):
        story.pop(draw(st.integers(0, len(story) - 1)))
    return tuple(story)


new_sharing_stories = _new_stories()
sharing_stories = st.one_of(new_sharing_stories, new_sharing_stories, sharing_variations()).filter(
    says_secret
)
