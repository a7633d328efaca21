"""Sharing rules end at each call of what is at work meanwhile."""

from skein.models.runs.completion import ModelRequest
from tests.fakes.table import MemoryTable
from tests.faults.sampling import FaultShare
from tests.support.fakes import Fuse, ScriptedModel
from tests.support.family import EMMA, TOM, Family, chat_of

METHODS = ("get", "get_many", "query", "write", "transact")
SECRET = "The piano lesson with Mrs Okafor moved to Thursday"
TOLD, UNTOLD = "It is on Thursday.", "I do not know."
ASKED = "When is the piano lesson with Mrs Okafor?"


def _answer(request: ModelRequest) -> str:
    shown = "\n".join(message.content for message in request.messages)
    return TOLD if SECRET in shown else UNTOLD


class Asking(Family):
    """Emma's words may be told to Tom, who asks for them; the answer says what the prompt shows.

    There is a fuse at each call of the table.
    """

    rule_id: str
    before: list[str] | None = None  # the answers when the rule ended

    def __post_init__(self) -> None:
        self.fuse, inner = Fuse(), MemoryTable()
        self.overrides = {"table": self.fuse.guard(inner, "table", METHODS)}
        super().__post_init__()
        self.table = inner

    @property
    def answers(self) -> list[str]:
        return [each.text for each in self.messages(chat_of(TOM)) if each.run_id is not None]

    def end_rule(self) -> None:
        self.fuse.disarm()
        assert self.operator.delete(f"/v1/sharing-rules/{self.rule_id}").status == 204
        self.before = self.answers


def asking() -> Asking:
    """The story until Tom has asked."""
    family = Asking.made(model=ScriptedModel.saying(default=_answer))
    assert isinstance(family, Asking)
    family.rule_id = family.rule()
    family.tells(EMMA, SECRET)
    family.post(ASKED, TOM, chat_id=chat_of(TOM))
    family.fuse.disarm()
    return family


def test_rule_that_ends_at_any_call_is_in_no_later_answer(share: FaultShare) -> None:
    undisturbed = asking()
    undisturbed.drain()
    calls = len(undisturbed.fuse.calls)
    assert undisturbed.answers == [TOLD]
    strikes = [(number, after) for number in range(1, calls + 1) for after in (False, True)]
    for number, after in share.of(strikes):
        world = asking()
        world.fuse.arm(number, after=after, meanwhile=world.end_rule)
        world.drain()
        assert world.before is not None
        assert world.answers == (world.before or [UNTOLD]), (number, after)
