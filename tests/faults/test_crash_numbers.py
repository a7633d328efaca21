"""A number is linked, with a death at every call to the table on the way."""

from typing import Any

import pytest

from skein.errors import NotFound
from skein.models.api.directory import NewUser, UserChange
from skein.models.common.address import phone_address
from skein.models.common.base import NamedMember
from skein.models.common.storage import Query
from skein.models.delivery.sms import InboundSms
from skein.models.directory.address_index import AddressOwner
from skein.models.directory.line import Line
from skein.models.directory.user import Merge
from skein.models.visibility.audience import Audience
from skein.models.visibility.ownership import Owner, owned_partition
from skein.services.chats.post_message import PostedMessage
from skein.services.directory import address_detach as silence
from skein.workspace.document_edits import Author
from skein.workspace.models.document import DocumentReach, Folder
from skein.workspace.thread_changes import ended
from tests.fakes.table import MemoryTable
from tests.faults.sampling import FaultShare
from tests.support.builders import LINE, NOON, PHONE, TENANT, World, bot, person
from tests.support.fakes import Fuse, Killed
from tests.support.number_codes import link_number

ANN, BEN, COACH = person("usr_ann", "Ann"), person("usr_ben", "Ben"), bot()
METHODS = ("get", "get_many", "query", "write", "transact")


class Linking(World):
    """A caller with a chat, a group, and things that an agent keeps; they turn out to be Ann."""

    def __post_init__(self) -> None:
        self.fuse, inner = Fuse(), MemoryTable()
        self.overrides = {"table": self.fuse.guard(inner, "table", METHODS)}
        super().__post_init__()
        self.table = inner
        self.agent()
        self.line()
        self.app.users.create(TENANT, NewUser(id=ANN.id, name=ANN.name))
        first = self.text("SM1")
        self.chat_id, self.caller = first.message.chat_id, first.message.sender
        self.drain()
        self.chat(BEN, self.caller, COACH, chat_id="chat_g", visibility="private")
        for n in range(3):
            self.app.goals.set(self._kept_for(self.caller), f"Goal {n}", goal_id=f"goal_{n}")
        for who in (self.caller, ANN):
            self._write_for(who)
        threads, owner = self.app.threads, self._kept_for(self.caller)
        listed = {"concern": "Ours", "documents": ("plan.md",)}
        self.threads = [threads.create(owner, listed).id for _ in range(2)]
        threads.change(owner.reach, self.threads[1], ended("archived", NOON))
        self.fuse.disarm()

    @staticmethod
    def _kept_for(who: NamedMember) -> Owner:
        audience = Audience(open=False, people=(who.id,))
        scope = f"user:{who.id}"
        return Owner(tenant=TENANT, agent_id=COACH.id, scope=scope, audience=audience)

    def _write_for(self, who: NamedMember) -> None:
        owner = self._kept_for(who)
        folder = Folder(tenant=TENANT, agent_id=COACH.id, scope=owner.scope)
        reach, author = DocumentReach(folders=(folder,)), Author(audience=owner.audience)
        self.app.documents.write(reach, "plan.md", who.id, new_in=folder, author=author)

    def listed(self, who: NamedMember) -> list[str]:
        """The texts of what the two threads list, among what is kept for somebody."""
        reach = self._kept_for(who).reach
        texts: list[str] = []
        for thread_id in self.threads:
            thread = self.app.threads.get(reach, thread_id)
            found = self.app.threads.documents(reach, thread, thread.documents)
            texts += [document.text for document in found.values() if document]
        return texts

    def text(self, sid: str) -> PostedMessage:
        sms = InboundSms(
            account_sid="AC1", message_sid=sid, sender=PHONE, recipient=LINE, body="Hi"
        )
        posted = self.app.sms_receiver.receive(sms)
        assert posted is not None
        return posted

    def link(self) -> None:
        link_number(self, ANN.id, PHONE)

    def kept(self, who: NamedMember) -> list[Any]:
        partition = owned_partition(TENANT, COACH.id, f"user:{who.id}")
        return [row["sk"] for row in self.table.query(Query.under(partition, "GOAL#")).items]

    def minutes_pass(self) -> None:
        for seconds in (61, 15 * 60):
            self.clock.advance(seconds)
            self.tick()

    def all_is_the_callers(self) -> None:
        assert self.app.users.get(TENANT, self.caller.id).phones == (PHONE,)
        assert self.app.users.get(TENANT, ANN.id).phones == ()
        assert self.stored_chat(self.chat_id).roster == (self.caller, COACH)
        assert self.stored_chat("chat_g").roster == (BEN, self.caller, COACH)
        assert (len(self.kept(self.caller)), self.kept(ANN)) == (3, [])
        assert self.listed(self.caller) == [self.caller.id] * 2

    def all_is_anns(self) -> None:
        assert self.app.users.get(TENANT, ANN.id).phones == (PHONE,)
        with pytest.raises(NotFound):
            self.app.users.get(TENANT, self.caller.id)
        assert self.stored_chat(self.chat_id).roster == (ANN, COACH)
        assert self.stored_chat("chat_g").roster == (BEN, ANN, COACH)
        assert (len(self.kept(ANN)), self.kept(self.caller)) == (3, [])
        assert self.listed(ANN) == [self.caller.id] * 2
        emptied = owned_partition(TENANT, COACH.id, f"user:{self.caller.id}")
        assert self.table.query(Query(emptied)).items == ()
        assert self.table.get(Merge.key_of(TENANT, self.caller.id)) is None
        again, another = self.text("SM1"), self.text("SM2")
        assert (again.created, another.created) == (False, True)
        assert {again.message.chat_id, another.message.chat_id} == {self.chat_id}
        assert another.message.sender == ANN


def before_and_after(calls: int) -> list[tuple[int, bool]]:
    """List a death before and a death after each of this many calls."""
    return [(call, after) for call in range(1, calls + 1) for after in (False, True)]


def calls_of_a_link() -> list[str]:
    world = Linking()
    world.link()
    return list(world.fuse.calls)


def test_linking_death_leaves_all_or_nothing_and_tick_does_the_rest(share: FaultShare) -> None:
    calls = calls_of_a_link()
    commit = calls.index("table.transact") + 1
    for strike, after in share.of(before_and_after(len(calls))):
        world = Linking()
        world.fuse.arm(strike, after=after)
        with pytest.raises(Killed):
            world.link()
        world.fuse.disarm()
        committed = strike > commit or (strike == commit and after)
        if not committed:
            world.all_is_the_callers()
            world.link()
        world.minutes_pass()
        world.all_is_anns()


PHONES = ("+15005550301", "+15005550302", "+15005550303")
OTHER_LINE = "+15005550007"


class TakingAway(World):
    """Ann has three numbers with chats on two lines, too many for one transaction."""

    def __post_init__(self) -> None:
        self.fuse, inner = Fuse(), MemoryTable()
        self.overrides = {"table": self.fuse.guard(inner, "table", METHODS)}
        super().__post_init__()
        self.table = inner
        self.agent()
        self.lines: list[Line] = [self.line(), self.line(phone=OTHER_LINE)]
        self.app.users.create(TENANT, NewUser(id=ANN.id, name=ANN.name, phones=PHONES))
        self.chats = [
            self.text(phone, line.address.address).message.chat_id
            for phone in PHONES
            for line in self.lines
        ]
        self.drain()
        self.texted = len(self.sms.taken)
        self.fuse.disarm()

    def text(self, phone: str, line: str) -> PostedMessage:
        sid = f"SM{self.ids.ulid()}"
        sms = InboundSms(
            account_sid="AC1", message_sid=sid, sender=phone, recipient=line, body="Hi"
        )
        posted = self.app.sms_receiver.receive(sms)
        assert posted is not None
        return posted

    def detach_numbers(self) -> None:
        self.app.users.change(TENANT, ANN.id, UserChange(phones=()))

    @property
    def taken_away(self) -> bool:
        """Whether the numbers are Ann's no more; all of them are, or none."""
        assert self.app.users.get(TENANT, ANN.id).phones in {(), PHONES}
        owned = {
            self.table.get(AddressOwner.key_of(TENANT, phone_address(phone))) is None
            for phone in PHONES
        }
        assert len(owned) == 1
        return owned.pop()

    def speak(self) -> None:
        """Let the agent say something in every chat."""
        for chat_id in self.chats:
            self.post("Are you there?", COACH, chat_id=chat_id)
        self.drain()


def test_unlinking_of_many_numbers_death_sends_nothing_and_retry_clears_the_rest(
    share: FaultShare, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(silence, "MAX_TRANSACTION_ITEMS", 6)
    undisturbed = TakingAway()
    undisturbed.detach_numbers()
    calls = len(undisturbed.fuse.calls)
    assert calls > 10
    for strike, after in share.of(before_and_after(calls)):
        world = TakingAway()
        world.fuse.arm(strike, after=after)
        with pytest.raises(Killed):
            world.detach_numbers()
        world.fuse.disarm()
        if world.taken_away:
            world.speak()
            assert len(world.sms.taken) == world.texted
        world.detach_numbers()
        assert world.taken_away
        assert {world.membership(ANN, chat_id).route for chat_id in world.chats} == {None}


def linked_until_the_commit() -> Linking:
    """A link whose process dies right after the commit; the tick has to move the rest."""
    world = Linking()
    world.fuse.arm(calls_of_a_link().index("table.transact") + 1, after=True)
    with pytest.raises(Killed):
        world.link()
    world.fuse.disarm()
    world.clock.advance(61)
    return world


def test_linking_death_of_tick_is_repaired_by_another(share: FaultShare) -> None:
    undisturbed = linked_until_the_commit()
    undisturbed.tick()
    calls = len(undisturbed.fuse.calls)
    assert calls > 40
    for strike in share.of(range(1, calls + 1)):
        world = linked_until_the_commit()
        world.fuse.arm(strike, after=strike % 2 == 0)
        with pytest.raises(Killed):
            world.tick()
        world.fuse.disarm()
        world.minutes_pass()
        world.minutes_pass()
        world.all_is_anns()
