"""Steps and bookkeeping of sharing rules: who may be told the secret by a rule.

The bookkeeping asks nothing of the code under test but the messages that it stores.
"""

from abc import abstractmethod
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from skein.models.chats.chat import Message
from tests.attacks.cast import named, titled
from tests.attacks.steps import Step
from tests.support.builders import World

if TYPE_CHECKING:
    from tests.attacks.stage import Stage

QUIET_TIME = timedelta(minutes=15)
KEEP_WORD = "PRIVATE"


@dataclass(frozen=True)
class HeldRole:
    """A role of a person, with the person whom it is about."""

    role: str
    subject: str | None = None


@dataclass(frozen=True)
class Rule:
    """A rule as an operator made it; its reason is in the notice."""

    id: str
    whose: str
    to: str
    same_subject: bool
    reason: str


@dataclass(frozen=True)
class Told:
    """The secret as a person said it to an agent alone, with the roles of that moment."""

    who: str
    chat_id: str
    seq: int
    roles: tuple[HeldRole, ...]


@dataclass
class Permissions:
    """Who may be told the secret by a rule.

    Attributes:
        withdrawn: The messages that their author withdrew, as chat and seq.
    """

    world: World
    roles: dict[str, tuple[HeldRole, ...]] = field(default_factory=dict)
    rules: list[Rule] = field(default_factory=list)
    said: list[Told] = field(default_factory=list)
    withdrawn: set[tuple[str, int]] = field(default_factory=set)

    def note(self, message: Message) -> None:
        """Note that a person said the secret to an agent alone."""
        who = message.sender.id
        told = Told(who, message.chat_id, message.seq, self.roles.get(who, ()))
        self.said.append(told)

    def permits(self, reader: str) -> bool:
        """Whether a rule lets a reader be told the secret now."""
        return any(
            self._tells(rule, told, self.roles.get(reader, ()))
            for rule in self.rules
            for told in self.said
            if told.who != reader
        )

    def _tells(self, rule: Rule, told: Told, reader: tuple[HeldRole, ...]) -> bool:
        by_role = _has(told.roles, rule.whose) and _has(reader, rule.to)
        one = _subject(told.roles)
        subjects = not rule.same_subject or (one is not None and one == _subject(reader))
        messages = self.world.messages(told.chat_id)
        noticed = any(
            m.kind == "notice" and rule.reason in m.text and m.seq < told.seq for m in messages
        )
        return by_role and subjects and noticed and self._is_tellable(told, messages)

    def _is_tellable(self, told: Told, messages: list[Message]) -> bool:
        """Whether the talk of the words is over, and nobody kept it."""
        talk: list[Message] = []
        now: datetime = self.world.clock.now()
        for each in (m for m in messages if m.sender.id == told.who):
            if talk and each.created_at - talk[-1].created_at >= QUIET_TIME:
                if talk[0].seq <= told.seq <= talk[-1].seq:
                    now = each.created_at
                    break
                talk = []
            talk.append(each)
        if not talk or not talk[0].seq <= told.seq <= talk[-1].seq:
            return False
        kept = any(each.text == KEEP_WORD for each in talk)
        over = now - talk[-1].created_at >= QUIET_TIME
        return over and not kept and (told.chat_id, told.seq) not in self.withdrawn


def _has(roles: tuple[HeldRole, ...], role: str) -> bool:
    return any(held.role == role for held in roles)


def _subject(roles: tuple[HeldRole, ...]) -> str | None:
    subjects = {held.subject for held in roles if held.subject is not None}
    return subjects.pop() if len(subjects) == 1 else None


@dataclass(frozen=True)
class SharingStep(Step):
    """A step about roles, rules, or what a person keeps to themselves."""

    @abstractmethod
    def happen(self, stage: "Stage") -> None:
        """Do it, and note it in the stage's permissions."""


@dataclass(frozen=True)
class GiveRoles(SharingStep):
    """An operator gives a person one role instead of all others; none without a name."""

    who: str = ""
    role: str = ""
    subject: str | None = None

    def happen(self, stage: "Stage") -> None:
        """See `SharingStep`."""
        roles = (HeldRole(self.role, self.subject),) if self.role else ()
        given = {"roles": [{"role": each.role, "subject": each.subject} for each in roles]}
        if stage.admin.patch(f"/v1/users/{self.who}", given).status == 200:
            stage.permissions.roles[self.who] = roles

    @property
    def sentence(self) -> str:
        """See `Step`."""
        about = f" of {named(self.subject)}" if self.subject else ""
        return (
            f"An operator makes {named(self.who)} {self.role or 'a person without a role'}{about}."
        )


@dataclass(frozen=True)
class MakeRule(SharingStep):
    """An operator makes a rule between two roles."""

    whose: str = ""
    to: str = ""
    same_subject: bool = False

    def happen(self, stage: "Stage") -> None:
        """See `SharingStep`."""
        reason = f"Because of step {stage.step}."
        body = {"name": "Rule", "reason": reason, "from": {"role": self.whose}}
        more = {"to": {"role": self.to}, "same_subject": self.same_subject}
        made = stage.admin.post("/v1/sharing-rules", body | more)
        if made.status == 201:
            rule = Rule(str(made.body["id"]), self.whose, self.to, self.same_subject, reason)
            stage.permissions.rules.append(rule)

    @property
    def sentence(self) -> str:
        """See `Step`."""
        same = " with the same subject" if self.same_subject else ""
        return f"An operator lets each {self.to} be told what each {self.whose}{same} says."


@dataclass(frozen=True)
class EndRule(SharingStep):
    """An operator deletes the newest rule."""

    def happen(self, stage: "Stage") -> None:
        """See `SharingStep`."""
        if stage.permissions.rules:
            rule = stage.permissions.rules.pop()
            stage.admin.delete(f"/v1/sharing-rules/{rule.id}")

    @property
    def sentence(self) -> str:
        """See `Step`."""
        return "An operator deletes the newest sharing rule."


@dataclass(frozen=True)
class Keep(SharingStep):
    """A person writes PRIVATE."""

    who: str = ""
    chat: str = ""

    def happen(self, stage: "Stage") -> None:
        """See `SharingStep`."""
        stage.write(self.who, self.chat, KEEP_WORD)

    @property
    def sentence(self) -> str:
        """See `Step`."""
        return f"{named(self.who)} writes {KEEP_WORD} in {titled(self.chat)}."


@dataclass(frozen=True)
class Withdraw(SharingStep):
    """A person withdraws their words in a chat; only their newest message, or all."""

    who: str = ""
    chat: str = ""
    newest: bool = False

    def happen(self, stage: "Stage") -> None:
        """See `SharingStep`."""
        own = [m.seq for m in stage.messages(self.chat) if m.sender.id == self.who]
        if own:
            first = own[-1] if self.newest else 1
            given = {"from_seq": first, "to_seq": own[-1]}
            path = f"/v1/chats/{self.chat}/sharing/withdraw"
            if stage.client_of(self.who).post(path, given).status == 200:
                gone = {(self.chat, seq) for seq in range(first, own[-1] + 1)}
                stage.permissions.withdrawn |= gone

    @property
    def sentence(self) -> str:
        """See `Step`."""
        what = "their newest message" if self.newest else "all their words"
        return f"{named(self.who)} withdraws {what} in {titled(self.chat)}."
