"""Steps of sharing rules: roles, rules, and what people keep to themselves."""

from abc import abstractmethod
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from skein.models.common.base import rfc3339
from tests.attacks.cast import named, titled
from tests.attacks.permissions import KEEP_WORDS, HeldRole, Rule
from tests.attacks.steps import Step

if TYPE_CHECKING:
    from tests.attacks.stage import Stage


@dataclass(frozen=True)
class SharingStep(Step):
    """A step about roles, rules, or what a person keeps to themselves."""

    @abstractmethod
    def happen(self, stage: "Stage") -> None:
        """Do it, and note it in the stage's permissions."""


@dataclass(frozen=True)
class GiveRoles(SharingStep):
    """An operator gives a person one role or two instead of all others; none without a name."""

    who: str = ""
    role: str = ""
    subject: str | None = None
    second: str = ""
    second_subject: str | None = None

    def happen(self, stage: "Stage") -> None:
        """See `SharingStep`."""
        both = ((self.role, self.subject), (self.second, self.second_subject))
        roles = tuple(HeldRole(role, subject) for role, subject in both if role)
        given = {"roles": [{"role": each.role, "subject": each.subject} for each in roles]}
        if stage.admin.patch(f"/v1/users/{self.who}", given).status == 200:
            stage.permissions.roles[self.who] = roles

    @property
    def sentence(self) -> str:
        """See `Step`."""
        about = f" of {named(self.subject)}" if self.subject else ""
        whose = f" of {named(self.second_subject)}" if self.second_subject else ""
        also = f" and {self.second}{whose}" if self.second else ""
        role = f"{self.role or 'a person without a role'}{about}{also}"
        return f"An operator makes {named(self.who)} {role}."


@dataclass(frozen=True)
class MakeRule(SharingStep):
    """An operator makes a rule between two roles.

    Attributes:
        whose: The role of the authors.
        to: The role of the readers.
        starts: In how many minutes it begins.
        lasts: After how many minutes it ends; 0 for never.
    """

    whose: str = ""
    to: str = ""
    same_subject: bool = False
    starts: int = 0
    lasts: int = 0

    def happen(self, stage: "Stage") -> None:
        """See `SharingStep`."""
        now, reason = stage.clock.now(), f"Because of step {stage.step}."
        begins_at = now + timedelta(minutes=self.starts)
        ends_at = now + timedelta(minutes=self.lasts) if self.lasts else None
        body: dict[str, Any] = {"name": "Rule", "reason": reason, "same_subject": self.same_subject}
        body |= {"from": {"role": self.whose}, "to": {"role": self.to}}
        body |= {"starts_at": rfc3339(begins_at)} if self.starts else {}
        body |= {"ends_at": rfc3339(ends_at)} if ends_at is not None else {}
        made = stage.admin.post("/v1/sharing-rules", body)
        if made.status == 201:
            sides = (self.whose, self.to, self.same_subject)
            rule = Rule(str(made.body["id"]), *sides, reason, begins_at, ends_at)
            stage.permissions.rules.append(rule)

    @property
    def sentence(self) -> str:
        """See `Step`."""
        same = " with the same subject" if self.same_subject else ""
        starts = f", in {self.starts} minutes," if self.starts else ""
        lasts = f", for {self.lasts} minutes" if self.lasts else ""
        told = f"each {self.to} be told{starts} what each {self.whose}{same} says{lasts}"
        return f"An operator lets {told}."


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
class ShortenRule(SharingStep):
    """An operator has the newest rule end soon."""

    minutes: int = 2

    def happen(self, stage: "Stage") -> None:
        """See `SharingStep`."""
        for rule in stage.permissions.rules[-1:]:
            ends_at = stage.clock.now() + timedelta(minutes=self.minutes)
            given = {"ends_at": rfc3339(ends_at)}
            if stage.admin.patch(f"/v1/sharing-rules/{rule.id}", given).status == 200:
                rule.ends_at = ends_at

    @property
    def sentence(self) -> str:
        """See `Step`."""
        return f"An operator has the newest sharing rule end in {self.minutes} minutes."


@dataclass(frozen=True)
class Keep(SharingStep):
    """A person keeps their talk private, by a word or in the app.

    Attributes:
        how: The word; empty for the call of the app.
    """

    who: str = ""
    chat: str = ""
    how: str = KEEP_WORDS[0]

    def happen(self, stage: "Stage") -> None:
        """See `SharingStep`."""
        if self.how:
            stage.write(self.who, self.chat, self.how)
            return
        own = [m.seq for m in stage.messages(self.chat) if m.sender.id == self.who]
        kept = stage.client_of(self.who).post(f"/v1/chats/{self.chat}/sharing/keep", {})
        if own and kept.status == 200:
            stage.permissions.kept.add((self.chat, own[-1]))

    @property
    def sentence(self) -> str:
        """See `Step`."""
        how = f"writes {self.how}" if self.how else "keeps the talk private"
        return f"{named(self.who)} {how} in {titled(self.chat)}."


@dataclass(frozen=True)
class Withdraw(SharingStep):
    """A person withdraws their words in a chat: all, only the newest message, or all before it."""

    who: str = ""
    chat: str = ""
    newest: bool = False
    before: bool = False

    def happen(self, stage: "Stage") -> None:
        """See `SharingStep`."""
        own = [m.seq for m in stage.messages(self.chat) if m.sender.id == self.who]
        own = own[:-1] if self.before else own
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
        what = "all before their newest message" if self.before else what
        return f"{named(self.who)} withdraws {what} in {titled(self.chat)}."


@dataclass(frozen=True)
class Refuse(SharingStep):
    """A person turns off being told what others said."""

    who: str = ""

    def happen(self, stage: "Stage") -> None:
        """See `SharingStep`."""
        turned = stage.client_of(self.who).patch("/v1/me/sharing", {"receives": False})
        if turned.status == 200:
            stage.permissions.refusing.add(self.who)

    @property
    def sentence(self) -> str:
        """See `Step`."""
        return f"{named(self.who)} turns off being told what others said."


@dataclass(frozen=True)
class Linger(SharingStep):
    """Time passes and nothing else; while the model thinks, it thinks for so long."""

    minutes: int = 3

    def happen(self, stage: "Stage") -> None:
        """See `SharingStep`."""
        stage.clock.advance(self.minutes * 60)

    @property
    def sentence(self) -> str:
        """See `Step`."""
        return f"{self.minutes} minutes go by."
