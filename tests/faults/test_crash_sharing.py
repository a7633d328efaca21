"""Sharing rules end, and people agree to their own, at each call of what is at work meanwhile."""

from collections.abc import Callable

import pytest

from skein.models.config.sharing import SharingParty, SharingRuleFields
from skein.models.runs.completion import ModelRequest
from skein.sharing.rules import RuleChanges
from tests.fakes.table import MemoryTable
from tests.faults.sampling import Share
from tests.support.api_client import Client
from tests.support.builders import TENANT
from tests.support.fakes import Fuse, Killed, ScriptedModel, calls
from tests.support.family import COACH, EMMA, TOM, Family, chat_of

OPERATORS = SharingRuleFields(
    name="R",
    reason="So.",
    from_=SharingParty(role="daughter"),
    to=SharingParty(role="father"),
)
METHODS = ("get", "get_many", "query", "write", "transact")
SECRET = "The piano lesson with Mrs Okafor moved to Thursday"
TOLD, UNTOLD = "It is on Thursday.", "I do not know."
ASKED = "When is the piano lesson with Mrs Okafor?"


def _answer(request: ModelRequest) -> str:
    shown = "\n".join(message.content for message in request.messages)
    return TOLD if SECRET in shown else UNTOLD


class Struck(Family):
    """A family with a fuse at each call of the table."""

    def __post_init__(self) -> None:
        self.fuse, inner = Fuse(), MemoryTable()
        self.overrides = {"table": self.fuse.guard(inner, "table", METHODS)}
        super().__post_init__()
        self.table = inner


class Asking(Struck):
    """Emma's words may be told to Tom, who asks for them; the answer says what the prompt shows."""

    rule_id: str
    before: list[str] | None = None  # the answers when the rule ended

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
    family.says(EMMA, "Hello there, how are you?")
    family.says(EMMA, SECRET)
    family.quiet()
    family.post(ASKED, TOM, chat_id=chat_of(TOM))
    family.fuse.disarm()
    return family


def test_rule_that_ends_at_any_call_is_in_no_later_answer(share: Share) -> None:
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


class Agreeing(Struck):
    """Emma was asked whether Tom may be told her words, and then whether also her earlier ones."""

    @property
    def asked(self) -> int:
        return [one.seq for one in self.messages(chat_of(EMMA)) if one.kind == "choice"][-1]

    def agree(self) -> None:
        """Emma says yes to the newest question."""
        body = {"choice": {"seq": self.asked, "option": "yes"}, "client_id": f"yes-{self.asked}"}
        answer = Client(self, sub=EMMA.id).post(f"/v1/chats/{chat_of(EMMA)}/messages", body)
        assert answer.status in {200, 201}, answer.body

    def propose(self, tool: str, **arguments: str) -> None:
        self.model.script.append(calls((tool, {"person": "Tom"} | arguments)))
        self.says(EMMA, "You may tell Tom")

    def check(self, *, opened: bool) -> None:
        """There is one rule in one version, of which the chat knows; nothing is asked any more."""
        stored, sharing = self.stored_rules(), self.stored_chat(chat_of(EMMA)).sharing
        [rule] = stored.rules
        assert (rule.own, rule.to.user_id, stored.version) == (True, TOM.id, 1)
        assert sharing is not None
        assert list(sharing.noticed) == [rule.id]
        assert list(sharing.opened) == ([rule.id] if opened else [])
        emma = Client(self, sub=EMMA.id)
        assert emma.get("/v1/me/choices").body["items"] == []
        yes = [one for one in self.messages(chat_of(EMMA)) if one.kind == "keyword"]
        assert len(yes) == 1 + opened


def proposed() -> Agreeing:
    family = Agreeing.made()
    assert isinstance(family, Agreeing)
    family.agent(enabled_tools=("ask_to_share", "ask_to_share_earlier"))
    family.chat(EMMA, TOM, COACH, chat_id="chat_home", respond="mention", visibility="private")
    family.propose("ask_to_share", reason="He drives me.")
    family.fuse.disarm()
    return family


def proposed_earlier() -> Agreeing:
    family = proposed()
    family.agree()
    family.propose("ask_to_share_earlier")
    family.fuse.disarm()
    return family


@pytest.mark.parametrize(("story", "opened"), [(proposed, False), (proposed_earlier, True)])
def test_yes_to_an_own_rule_counts_once_whatever_dies(
    story: Callable[[], Agreeing], opened: bool, share: Share
) -> None:
    undisturbed = story()
    undisturbed.agree()
    number = len(undisturbed.fuse.calls)
    undisturbed.check(opened=opened)
    deaths = [(strike, after) for strike in range(1, number + 1) for after in (False, True)]
    for strike, after in share.of(deaths):
        world = story()
        world.fuse.arm(strike, after=after)
        with pytest.raises(Killed):
            world.agree()
        world.fuse.disarm()
        world.agree()
        world.check(opened=opened)


def test_rule_of_an_operator_beside_the_yes_keeps_both(share: Share) -> None:
    number = len(_agreed().fuse.calls)
    strikes = [(strike, after) for strike in range(1, number + 1) for after in (False, True)]
    for strike, after in share.of(strikes):
        world = proposed()

        def beside(world: Agreeing = world) -> None:
            world.fuse.disarm()
            world.app.get(RuleChanges).add(TENANT, OPERATORS, by="usr_op")

        world.fuse.arm(strike, after=after, meanwhile=beside)
        world.agree()
        assert sorted(rule.own for rule in world.stored_rules().rules) == [False, True]


def _agreed() -> Agreeing:
    family = proposed()
    family.agree()
    return family
