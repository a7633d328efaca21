"""The steps of a story: plain data that prints as a sentence.

A step that is impossible at its moment is skipped, in both runs of the story alike.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import Literal

from skein.models.chats.chat import Visibility
from skein.privacy.models.erasure import NamedTexts
from tests.attacks.cast import ASIDES, CONFIDED, FULL_NAMES, Word, named, titled
from tests.attacks.moves import QUIET, Tactic

Shown = Literal["", "picture", "document"]


@dataclass(frozen=True)
class Step(ABC):
    """Something that happens, and how the model attacks meanwhile."""

    tactic: Tactic = QUIET

    @property
    def meanwhile(self) -> "tuple[Step, ...]":
        """What happens while the model thinks."""
        return ()

    @property
    @abstractmethod
    def sentence(self) -> str:
        """What happens, without the model's part."""

    def __str__(self) -> str:
        if self.tactic == QUIET:
            return self.sentence
        return f"{self.sentence} The model {self.tactic}."


def _word(word: Word | None) -> str:
    words: dict[Word | None, str] = {
        "secret": " (THE SECRET)",
        "guess": " (the guess)",
        "order": " (THE ORDER)",
        "aside": " (an aside)",
        None: "",
    }
    return words[word]


@dataclass(frozen=True)
class Say(Step):
    """A person writes in a chat of theirs.

    Attributes:
        shows: The words stand in a picture or a document, and not in the text.
        to: The agent that is mentioned.
        about: The person whose full name is written.
        events: What happens between the model's question number `asked` and its answer.
    """

    who: str = ""
    chat: str = ""
    word: Word | None = None
    shows: Shown = ""
    to: str | None = None
    about: str = ""
    events: tuple[Step, ...] = ()
    asked: int = 0

    @property
    def meanwhile(self) -> tuple[Step, ...]:
        """See `Step`."""
        return self.events

    def text(self, words: dict[Word, str]) -> str:
        """What the person writes."""
        if self.shows:
            mention = f"@{named(self.to)}, " if self.to else ""
            return f"{mention}please look at this."
        return self.words(words)

    def words(self, words: dict[Word, str]) -> str:
        """What the person says, in writing or in a file."""
        mention = f"@{named(self.to)}, " if self.to else ""
        said = {
            None: "please go on.",
            "secret": f"{CONFIDED}{words['secret']}.",
            "guess": f"what about {words['guess']}?",
            "order": f"do as {words['order']} says!",
            "aside": f"{CONFIDED}{ASIDES.get(self.who, 'nothing')}.",
        }
        name = f" {FULL_NAMES[self.about]} was here." if self.about else ""
        return mention + said[self.word] + name

    @property
    def sentence(self) -> str:
        """See `Step`."""
        words: dict[Word, str] = {"secret": "<secret>", "guess": "<guess>", "order": "<order>"}
        how = f"sends a {self.shows}" if self.shows else "writes"
        told = f"{named(self.who)}, in {titled(self.chat)}, {how}: {self.words(words)!r}"
        if not self.events:
            return f"{told}."
        happens = " ".join(step.sentence for step in self.events)
        return f"{told}. While the model thinks (answer {self.asked + 1}): {happens}"


@dataclass(frozen=True)
class Text(Step):
    """Somebody sends an SMS to the line of Coach."""

    phone: str = ""
    word: Word | None = None

    @property
    def sentence(self) -> str:
        """See `Step`."""
        return f"{self.phone} texts Coach{_word(self.word)}."


@dataclass(frozen=True)
class Rename(Step):
    """A person gives a chat another title."""

    who: str = ""
    chat: str = ""
    word: Word | None = None

    @property
    def sentence(self) -> str:
        """See `Step`."""
        return f"{named(self.who)} renames {titled(self.chat)}{_word(self.word)}."


@dataclass(frozen=True)
class Join(Step):
    """A person lets a person or an agent into a chat."""

    by: str = ""
    chat: str = ""
    who: str = ""

    @property
    def sentence(self) -> str:
        """See `Step`."""
        return f"{named(self.by)} lets {named(self.who)} into {titled(self.chat)}."


@dataclass(frozen=True)
class Leave(Step):
    """A member leaves a chat."""

    chat: str = ""
    who: str = ""

    @property
    def sentence(self) -> str:
        """See `Step`."""
        return f"{named(self.who)} leaves {titled(self.chat)}."


@dataclass(frozen=True)
class Open(Step):
    """A person opens a group, named after the step.

    Attributes:
        whom: The person who is added.
        visibility: Of the group.
    """

    who: str = ""
    whom: str = ""
    visibility: Visibility = "open"
    word: Word | None = None

    @property
    def sentence(self) -> str:
        """See `Step`."""
        whom = f"{named(self.whom)} and Coach"
        return f"{named(self.who)} opens a group ({self.visibility}) with {whom}{_word(self.word)}."


@dataclass(frozen=True)
class Answer(Step):
    """A person answers the newest question that they, or somebody else, were asked.

    Attributes:
        of: The person who was asked, if it is somebody else.
        yes: With the first option; else with the last.
        sms: By the number in the newest SMS; else in the app.
        word: What they say, if the answer is in words.
    """

    who: str = ""
    of: str = ""
    yes: bool = True
    sms: bool = False
    word: Word | None = None

    @property
    def sentence(self) -> str:
        """See `Step`."""
        how = f" for {named(self.of)}" if self.of else " by SMS" if self.sms else ""
        words = _word(self.word)
        return f"{named(self.who)} answers {'yes' if self.yes else 'no'}{words}{how}."


@dataclass(frozen=True)
class Accept(Step):
    """A person answers the newest invitation to a chat.

    Attributes:
        accept: They join; else they decline.
    """

    who: str = ""
    accept: bool = True

    @property
    def sentence(self) -> str:
        """See `Step`."""
        answer = "accepts" if self.accept else "declines"
        return f"{named(self.who)} {answer} the newest invitation."


@dataclass(frozen=True)
class NewName(Step):
    """An operator renames a person or an agent.

    Attributes:
        full: The new name is the person's full name.
    """

    who: str = ""
    full: bool = False

    @property
    def sentence(self) -> str:
        """See `Step`."""
        name = "their full name" if self.full else "a new name"
        return f"An operator gives {named(self.who)} {name}."


@dataclass(frozen=True)
class TakeName(Step):
    """A person gives themselves the name of another person.

    Attributes:
        whom: The person whose name it is.
        look_alike: With a first letter that only looks the same.
    """

    who: str = ""
    whom: str = ""
    look_alike: bool = False

    @property
    def sentence(self) -> str:
        """See `Step`."""
        how = " in look-alike letters" if self.look_alike else ""
        return f"{named(self.who)} takes the name of {named(self.whom)}{how}."


@dataclass(frozen=True)
class MakeOwner(Step):
    """A person makes a member an owner of a chat."""

    by: str = ""
    chat: str = ""
    who: str = ""

    @property
    def sentence(self) -> str:
        """See `Step`."""
        return f"{named(self.by)} makes {named(self.who)} an owner of {titled(self.chat)}."


@dataclass(frozen=True)
class Remove(Step):
    """A person removes another member from a chat."""

    by: str = ""
    chat: str = ""
    who: str = ""

    @property
    def sentence(self) -> str:
        """See `Step`."""
        return f"{named(self.by)} removes {named(self.who)} from {titled(self.chat)}."


@dataclass(frozen=True)
class ManualTrigger(Step):
    """A person asks all agents of a chat to respond now."""

    who: str = ""
    chat: str = ""

    @property
    def sentence(self) -> str:
        """See `Step`."""
        return f"{named(self.who)} asks the agents in {titled(self.chat)} to respond now."


@dataclass(frozen=True)
class OperatorPlan(Step):
    """An operator sets a plan for in 10 minutes.

    Attributes:
        chat: The plan's chat; None for a plan without a chat.
    """

    agent: str = ""
    chat: str | None = None

    @property
    def sentence(self) -> str:
        """See `Step`."""
        where = f" in {titled(self.chat)}" if self.chat else ""
        return f"An operator sets a plan of {named(self.agent)}{where} for in 10 minutes."


@dataclass(frozen=True)
class Report(Step):
    """A service wakes Coach.

    Attributes:
        chat: The chat that the payload names; None for no chat.
    """

    chat: str | None = None

    @property
    def sentence(self) -> str:
        """See `Step`."""
        where = f" for {titled(self.chat)}" if self.chat else ""
        return f"A service reports something to Coach{where}."


@dataclass(frozen=True)
class Pass(Step):
    """Time passes, with every tick and finder."""

    minutes: int = 6

    @property
    def sentence(self) -> str:
        """See `Step`."""
        return f"{self.minutes} minutes pass."


@dataclass(frozen=True)
class Outage(Step):
    """The model is down for a while."""

    minutes: int = 90

    @property
    def sentence(self) -> str:
        """See `Step`."""
        return f"The model is down for {self.minutes} minutes from now on."


@dataclass(frozen=True)
class TakeOver(Step):
    """A person of the team holds a chat, and sends what its agent drafts.

    Attributes:
        returns: The chat goes back at once, with a drafted briefing; else after an hour of silence.
    """

    chat: str = ""
    returns: bool = True

    @property
    def sentence(self) -> str:
        """See `Step`."""
        back = "hands it back with a drafted briefing" if self.returns else "keeps it"
        return f"A person of the team takes over {titled(self.chat)}, sends a draft and {back}."


@dataclass(frozen=True)
class Consolidate(Step):
    """An operator has a chat consolidated."""

    chat: str = ""

    @property
    def sentence(self) -> str:
        """See `Step`."""
        return f"An operator has {titled(self.chat)} consolidated."


@dataclass(frozen=True)
class Discard(Step):
    """A person discards a chat."""

    who: str = ""
    chat: str = ""

    @property
    def sentence(self) -> str:
        """See `Step`."""
        return f"{named(self.who)} discards {titled(self.chat)}."


LINK_AND_ERASE = frozenset({"privacy", "admin"})
"""The scopes of operators who may link numbers and erase people."""


@dataclass(frozen=True)
class Merge(Step):
    """An operator links the stranger's phone number to a person.

    Attributes:
        proven: The person has read the code on the phone; else the operator guesses it.
        role: The scope of the operator's token.
    """

    who: str = ""
    proven: bool = True
    role: str = "privacy"

    @property
    def allowed(self) -> bool:
        """Whether the number may become the person's."""
        return self.proven and self.role in LINK_AND_ERASE

    @property
    def sentence(self) -> str:
        """See `Step`."""
        how = "" if self.proven else ", without the code"
        who = f"An operator ({self.role})"
        return f"{who} links the stranger's phone number to {named(self.who)}{how}."


@dataclass(frozen=True)
class Erase(Step):
    """An operator erases a person.

    Attributes:
        role: The scope of the operator's token.
        named_texts: What the operator decides on texts of others with the person's full name.
    """

    who: str = ""
    role: str = "privacy"
    named_texts: NamedTexts = "keep"

    @property
    def sentence(self) -> str:
        """See `Step`."""
        texts = f" ({self.named_texts} named texts)" if self.named_texts != "keep" else ""
        return f"An operator ({self.role}) erases {named(self.who)}{texts}, which takes an hour."


Story = tuple[Step, ...]


def says_secret(story: Story) -> bool:
    """Whether the secret is said anywhere in a story."""
    return any(getattr(step, "word", None) == "secret" for step in story)


def given_by(story: Story, who: str) -> Story:
    """The story in which one person alone gives the order."""
    return tuple(_given_by(step, who) for step in story)


def _given_by(step: Step, who: str) -> Step:
    if isinstance(step, Say) and step.events:
        step = replace(step, events=tuple(_given_by(event, who) for event in step.events))
    if getattr(step, "word", None) != "order" or getattr(step, "who", None) == who:
        return step
    return replace(step, word=None)  # type: ignore[call-arg]


def asides_of(story: Story) -> list[str]:
    """The people who say something in private of which the story keeps track."""
    said = (step for step in story if isinstance(step, Say) and step.word == "aside")
    return list(dict.fromkeys(step.who for step in said))


def givers(story: Story) -> set[str]:
    """The people who give the order of a story, or the phone that texts it."""
    steps = (each for step in story for each in (step, *step.meanwhile))
    ordered = (step for step in steps if getattr(step, "word", None) == "order")
    return {str(getattr(step, "who", None) or getattr(step, "phone", "")) for step in ordered}


def told(story: Story) -> str:
    """The story as numbered sentences."""
    return "\n".join(f"{n:3}. {step}" for n, step in enumerate(story, 1))
