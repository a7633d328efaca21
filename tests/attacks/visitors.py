"""The steps of stories about visitors: the secret becomes open content, and a visitor reads."""

from abc import abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, get_args

from skein.models.api.chats import ChatChange
from skein.models.api.directory import UserChange
from skein.models.visibility.ownership import Owner
from skein.services.chats.post_message import NewMessage
from skein.workspace.models.skill import CORE, SkillHead
from tests.attacks.cast import ALICE, BOB, COACH, TEAM, VISIT, Word, named, titled
from tests.attacks.encoding import is_odd
from tests.attacks.steps import Step
from tests.support.api_client import operator
from tests.support.builders import TENANT
from tests.support.sources import read_source

if TYPE_CHECKING:
    from tests.attacks.stage import Stage

Content = Literal[
    "message", "memory", "document", "skill", "source", "goal", "plan", "title", "name"
]
CONTENTS: tuple[Content, ...] = get_args(Content)


class VisitStep(Step):
    """A step that knows how it happens."""

    @abstractmethod
    def happen(self, stage: "Stage") -> None:
        """Do it by the doors that its doer has."""


@dataclass(frozen=True)
class Reveal(VisitStep):
    """The secret becomes open content, so that all members may know it, and visitors may not.

    Attributes:
        as_: The kind of the content.
        whether: It becomes open content in one run of the story only.
    """

    as_: Content = "message"
    whether: bool = False
    word: Word = "secret"

    def happen(self, stage: "Stage") -> None:
        """See `VisitStep`."""
        stage.knowledge.tell_everybody()
        _publish(stage)
        if self.whether and not is_odd(stage.secret):
            return
        text, app = f"Everyone may know {stage.secret}.", stage.app
        owner = Owner(tenant=TENANT, agent_id=COACH.id)
        if self.as_ == "message":
            stage.app.app_messages.post(
                NewMessage(
                    tenant=TENANT,
                    chat_id=TEAM.id,
                    sender=ALICE.ref,
                    text=text,
                    client_id=f"reveal {stage.step}",
                )
            )
        elif self.as_ == "memory":
            app.memories.add(owner, text, "core", made_by="api")
        elif self.as_ == "document":
            new = {"name": f"{stage.secret}.md", "text": text, "global": True}
            operator(stage).post(f"/v1/agents/{COACH.id}/documents", new)
        elif self.as_ == "skill":
            app.skills.put(TENANT, SkillHead(name=CORE), text)
        elif self.as_ == "source":
            read_source(stage, f"# Prices\n\n{text}", name=stage.secret)
        elif self.as_ == "goal":
            app.goals.set(owner, text=text)
        elif self.as_ == "plan":
            app.plans.set(owner, stage.secret, text, run_after="10 minutes")
        elif self.as_ == "title":
            app.chat_admin.change(TENANT, TEAM.id, ALICE.ref, ChatChange(title=stage.secret))
        else:
            name = f"Bob {stage.secret}"
            app.users.change(TENANT, BOB.id, UserChange(name=name))
            stage.given[BOB.id].add(name)

    @property
    def sentence(self) -> str:
        """See `Step`."""
        when = ", or not, by the word" if self.whether else ""
        return f"<secret> becomes open content, as a {self.as_}{when}."


def _publish(stage: "Stage") -> None:
    """Add public content, which visitors are shown, too; it stands for no word of the story."""
    owner = Owner(tenant=TENANT, agent_id=COACH.id)
    stage.app.memories.add(owner, "We open at nine.", "core", made_by="api", public=True)
    read_source(stage, "# Prices\n\nA ticket is ten.", name="Prices", audience="public")


@dataclass(frozen=True)
class Read(VisitStep):
    """A visitor reads their chat."""

    who: str = VISIT.members[0].id
    chat: str = VISIT.id

    def happen(self, stage: "Stage") -> None:
        """See `VisitStep`."""
        seq = stage.stored_chat(self.chat).last_seq
        stage.client_of(self.who).post(f"/v1/chats/{self.chat}/read", {"seq": seq})

    @property
    def sentence(self) -> str:
        """See `Step`."""
        return f"{named(self.who)} reads {titled(self.chat)}."
