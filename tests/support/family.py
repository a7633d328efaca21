"""People who each talk to one agent alone, for sharing rules."""

from datetime import datetime
from typing import Any

import admin_api
from skein.models.common.base import NamedMember
from skein.models.common.storage import Put
from skein.models.directory.user import User
from skein.models.outbox.jobs import RecallJob
from skein.models.visibility.audience import Audience
from skein.models.visibility.provenance import Authors, MadeFrom
from skein.models.visibility.sharing_rules import SharingRules
from skein.recall.models.own_words import OwnWordsMemory
from tests.support.api_client import Client
from tests.support.builders import LONG_INVOCATION, NOON, TENANT, World, bot, person
from tests.support.fakes import ScriptedModel

EMMA, TOM, RINA = person("usr_emma", "Emma"), person("usr_tom", "Tom"), person("usr_rina", "Rina")
COACH = bot()
QUIET_SECONDS = 16 * 60


class Family(World):
    """Emma (a daughter), Tom (a father) and Rina (a neighbour), each in a direct chat."""

    @classmethod
    def made(cls, *, consolidate: bool = False, **given: Any) -> "Family":
        world = cls.with_model(**given)
        world.agent()
        world.known(EMMA, TOM, RINA)
        for one in (EMMA, TOM, RINA):
            world.chat(
                *(one, COACH),
                chat_id=chat_of(one),
                kind="direct",
                visibility="private",
                title=None,
                consolidate=consolidate,
            )
        world.give(EMMA, "daughter")
        world.give(TOM, "father")
        return world

    @classmethod
    def with_model(cls, **given: Any) -> "Family":
        """Return a world in which nothing has happened, with the model of all families."""
        return cls(**({"model": ScriptedModel.saying(default="Fine.")} | given))

    @property
    def operator(self) -> Client:
        return Client(self, api=admin_api, sub="usr_op", scope="admin")

    def give(self, one: NamedMember, *roles: str, subject: str | None = None) -> None:
        given = [{"role": role, "subject": subject} for role in roles]
        changed = self.operator.patch(f"/v1/users/{one.id}", {"roles": given})
        assert changed.status == 200, changed.body

    def rule(self, whose: str = "daughter", to: str = "father", **more: Any) -> str:
        body = {"name": "Rule", "reason": "They live together.", "from": {"role": whose}}
        made = self.operator.post("/v1/sharing-rules", body | {"to": {"role": to}} | more)
        assert made.status == 201, made.body
        self.clock.advance(1)
        return str(made.body["id"])

    def stored_rules(self) -> SharingRules:
        return SharingRules.from_item(self.table.get(SharingRules.key_of(TENANT)) or {})

    def person(self, one: NamedMember) -> User:
        return User.from_item(self.table.get(User.key_of(TENANT, one.id)) or {})

    def says(self, one: NamedMember, text: str) -> None:
        """Post a message in the person's direct chat, and let the agent answer it."""
        self.post(text, one, chat_id=chat_of(one))
        self.drain()

    def tells(self, one: NamedMember, text: str) -> None:
        """Post a message after the notice of the rules, and let the talk be over."""
        self.says(one, "Hello there, how are you?")
        self.says(one, text)
        self.quiet()

    def noted(self, one: NamedMember, text: str, *seqs: int) -> OwnWordsMemory:
        """Store a memory of the agent that was made from some messages of a person."""
        memory = own_words_memory(
            *seqs, text=text, one=one, chat_id=chat_of(one), created_at=self.clock.now()
        )
        self.table.write(Put(memory.key, memory.to_item()))
        return memory

    def quiet(self) -> None:
        """Let the talks be over, and index all chats again."""
        self.clock.advance(QUIET_SECONDS)
        for one in (EMMA, TOM, RINA):
            job = RecallJob(tenant=TENANT, chat_id=chat_of(one), first_seq=1)
            self.app.recall_worker.take(job, deadline=self.clock.now() + LONG_INVOCATION)

    def prompt_of(self, one: NamedMember, question: str) -> str:
        """Return the prompt for a question that a person asks."""
        self.says(one, question)
        return "\n".join(message.content for message in self.model.requests[-1].messages)


def chat_of(one: NamedMember) -> str:
    """Return the id of a person's direct chat."""
    return f"chat_{one.id[4:]}"


def own_words_memory(
    *seqs: int,
    text: str = "Emma likes tea",
    one: NamedMember = EMMA,
    chat_id: str = "chat_1",
    created_at: datetime = NOON,
) -> OwnWordsMemory:
    """Return a memory that was made from some messages of a person."""
    first, *others = (MadeFrom.messages(chat_id, seq, seq, [one.id]) for seq in seqs)
    return OwnWordsMemory(
        tenant=TENANT,
        agent_id=COACH.id,
        scope=f"user:{one.id}",
        id=f"own_{len(text)}",
        text=text,
        audience=Audience(open=False, people=(one.id,)),
        authors=Authors.in_digests([one.id]),
        made_from=first.joined(*others),
        source_chat_id=chat_id,
        created_at=created_at,
    )
