"""Alice asks an agent to ask Sarah, who is reached by text and answers with a number."""

import re
from functools import cache
from typing import Any

from skein.errands.models.errand import Errand
from skein.models.common.base import NamedMember
from skein.models.common.storage import Query
from tests.fakes.table import MemoryTable
from tests.support.agents import actor, settle
from tests.support.builders import PHONE, TENANT, World, bot, person
from tests.support.choices import answer
from tests.support.fakes import Script, ScriptedModel, calls
from tests.support.first_contact import reachable, text_in

ALICE = person("usr_alice", "Alice")
SARAH = person("usr_sarah", "Sarah")
COACH = bot()
HOME = "chat_alice"
TEAM = "chat_team"
HOUR = 3_600
DAY = 24 * HOUR
QUESTION = "when can you come?"
CODE = re.compile(r"Reply ([0-9]{6}) ")
TO_ASK = ("ask_someone", {"person": "Sarah", "question": QUESTION, "until": "2 days"})
END = calls("end_run")


class Errands(World):
    """A world in which Alice and Sarah share a group with the agent Coach, who has a line.

    Args:
        consent: Whether Sarah has consented to texts.
        table: The table of a test's own, which `overrides` has as well.
    """

    def __init__(
        self, *, consent: bool = True, table: MemoryTable | None = None, **given: Any
    ) -> None:
        super().__init__(model=ScriptedModel.saying(default=END), **given)
        self.table = table or self.table
        self.furnish(consent=consent)

    def furnish(self, *, consent: bool) -> None:
        actor(self)
        self.line()
        self.known(ALICE)
        reachable(self, consent=consent)
        self.chat(ALICE, COACH, chat_id=HOME, title="Alice", kind="direct", visibility="private")
        self.chat(ALICE, SARAH, COACH, chat_id=TEAM, title="Team", visibility="private")

    @property
    def errands(self) -> list[Errand]:
        """All errands that are stored."""
        found = [self.table.get(key) for key in self.table.all_keys() if "ERRAND#" in key.sk]
        items = [item for item in found if item is not None and Errand.PREFIX.holds(item)]
        return sorted(map(Errand.from_item, items), key=lambda errand: errand.asked.name)

    def asks(self, who: NamedMember = ALICE, chat_id: str = HOME) -> None:
        """Somebody asks the agent, which plays its script."""
        self.post("Ask Sarah when she can come", who, chat_id=chat_id)
        settle(self)

    def agrees(self, option: str = "yes", chat_id: str = HOME) -> None:
        """Alice answers the newest question in her chat."""
        asked = [message for message in self.messages(chat_id) if message.choice is not None][-1]
        answer(self, asked.seq, ALICE, option=option, chat_id=chat_id, client_id=f"yes-{asked.seq}")
        settle(self)

    def orders(self) -> None:
        """Alice has Sarah asked, and agrees to the words."""
        self.model.script.append(calls(TO_ASK))
        self.asks()
        self.agrees()

    @property
    def bodies(self) -> list[str]:
        """The texts that reached Sarah's phone."""
        return [sms.body for sms, _ in self.sms.taken]

    @property
    def code(self) -> str:
        """The number of the newest question on Sarah's phone."""
        return str(CODE.findall(self.bodies[-1])[-1])

    def texts_in(self, body: str, sid: str = "SM1", phone: str = PHONE) -> None:
        """A person sends a text."""
        text_in(self, body, sid, phone)
        settle(self)

    def passes(self, seconds: float) -> None:
        """Let time go by, with the tick and what it starts."""
        self.clock.advance(seconds)
        self.tick()
        settle(self)

    def told(self, chat_id: str = HOME) -> list[str]:
        """What the home chat was told by errands."""
        return [each.text for each in self.messages(chat_id) if each.report_of is not None]

    def chat_of(self, user_id: str = SARAH.id) -> str:
        """The direct chat of a person with the agent."""
        chats = self.table.query(
            Query(f"{TENANT}#MEMBER#user#{user_id}", index="gsi1", limit=50)
        ).items
        ids = [str(row["gsi1sk"]).split("#", 1)[1] for row in chats]
        return next(chat_id for chat_id in ids if self.stored_chat(chat_id).kind == "direct")


def asked(*script: Script, **given: Any) -> Errands:
    """Sarah was asked, with Alice's yes, and has the text."""
    world = Errands(**given)
    if given:
        world.orders()
    else:
        world.continue_from(_asked())
    world.model.script.extend(script)
    return world


@cache
def _asked() -> Errands:
    world = Errands()
    world.orders()
    return world
