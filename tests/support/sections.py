"""What single sections are made from, without a world: items of an agent, and a prompt's room."""

from collections.abc import Mapping, Sequence
from typing import Any

from skein.interface.names import Names
from skein.interface.reading import Configuration, OwnChat, Reading, SectionItems, SectionReads
from skein.interface.section import Manner, SectionInput
from skein.interface.timeline import EntryContext
from skein.memory.models.memory import Memory
from skein.models.chats.chat import Chat
from skein.models.directory.agent import Agent
from skein.models.runs.run import Run
from skein.models.runs.trigger import Trigger
from skein.models.visibility.audience import OPEN
from skein.planning.models.goal import Goal
from skein.planning.models.plan import Plan
from skein.settings import Settings
from tests.support.builders import NOON, TENANT, tokens

AGENT = Agent(tenant=TENANT, id="agt_a", name="Coach", created_at=NOON)
RUN = Run(
    tenant=TENANT,
    id="run_1_agt_a",
    agent_id=AGENT.id,
    chat_id=None,
    trigger=Trigger(type="manual"),
    created_at=NOON,
)

TOOLS_AND_TIMELINE = Manner(reply_mode="tools", history_format="timeline")


def read(
    *owned: Memory | Goal | Plan, chat: Chat | None = None, others: Sequence[OwnChat] = ()
) -> SectionReads:
    """What was read, with these items of the agent."""
    items = [{"pk": one.key.pk, "sk": one.key.sk, **one.to_item()} for one in owned]
    return SectionReads(run=RUN, chat=chat, member=None, now=NOON, owned=items, others=others)


def section_input(
    *items: SectionItems,
    tokens_left: int = 100_000,
    chat: Chat | None = None,
    tools: Mapping[str, tuple[str, ...]] | None = None,
    manner: Manner = TOOLS_AND_TIMELINE,
    agent: Mapping[str, Any] | None = None,
) -> SectionInput:
    """The input of sections that show these items."""
    reading = Reading(
        agent=AGENT.model_copy(update=agent),
        chat=chat,
        member=None,
        destination=OPEN,
        audience=OPEN,
        scope=None,
        now=NOON,
        config=Configuration(effective=Settings()),
        items=items,
    )
    names = Names.of(AGENT.as_member.ref, chat, ())
    return SectionInput(
        run=RUN,
        reading=reading,
        manner=manner,
        names=names,
        context=EntryContext(names=names, destination=OPEN, now=NOON),
        tools=tools or {},
        tokens_left=tokens_left,
        counter=tokens(),
    )
