"""Invitations, with a death at every call: each text once, and one membership or none."""

from collections.abc import Callable

import pytest

from skein.errors import Conflict, NotFound
from skein.models.chats.choice import NO, SEE, YES
from skein.models.common.address import route_on
from skein.models.outbox.jobs import InvitationJob
from skein.services.chats.views import ChatViews
from skein.services.outbox.dispatch import OUTBOX_GRACE
from tests.fakes.table import MemoryTable
from tests.faults.sampling import FaultShare
from tests.support.builders import LINE, PHONE, TENANT, World, bot, person
from tests.support.choices import answer, choice_in, choices_of
from tests.support.fakes import Fuse, Killed
from tests.support.first_contact import reachable, text_in

METHODS = ("get", "get_many", "query", "write", "transact")
HUSAM, AHMAD, COACH = person(), person("usr_ahmad", "Ahmad"), bot()
SMS = route_on("sms", line=LINE, person=PHONE)


class Inviting(World):
    """Husam's group, and Ahmad, who is on SMS with its agent and shares no chat with Husam.

    Attributes:
        own: Ahmad's chat on SMS.
    """

    def __init__(self, *, invited: bool = True, named: bool = False) -> None:
        self.fuse, inner = Fuse(), MemoryTable()
        super().__init__(overrides={"table": self.fuse.guard(inner, "table", METHODS)})
        self.table = inner
        self.agent()
        self.line()
        self.known(HUSAM)
        reachable(self, AHMAD.id, "Ahmad")
        text_in(self, "START")
        [own] = self.app.get(ChatViews).direct_chats(TENANT, AHMAD.id, limit=10).items
        self.own = own.chat.id
        self.chat(HUSAM, COACH, title="Team", visibility="private", respond="manual")
        self.post("A secret", HUSAM)
        if invited:
            self.invite()
            self.drain()
        if named:
            see(self)
            self.drain()
        self.fuse.disarm()

    def invite(self) -> None:
        self.app.chat_admin.add_member(TENANT, "chat_1", HUSAM, AHMAD.ref)

    @property
    def asked(self) -> list[int]:
        """The messages that ask Ahmad."""
        return [each.seq for each in self.messages(self.own) if each.kind == "choice"]

    def check(self) -> None:
        """The chat, the membership and the open choices say the same."""
        chat, open_ = self.stored_chat(), choices_of(self, AHMAD).open
        awaited = chat.invitation(AHMAD.id) is not None
        assert [choice.invited_to for choice in open_] == (["chat_1"] if awaited else [])
        assert not (awaited and chat.has(AHMAD.ref))
        places = [key for key in self.table.all_keys() if key.sk == f"MEMBER#user#{AHMAD.id}"]
        assert len(places) == 1 + chat.has(AHMAD.ref)
        if chat.has(AHMAD.ref):
            assert self.membership(AHMAD).joined_seq == 1


def inviting(world: Inviting) -> None:
    world.invite()
    for job in world.queues.take(InvitationJob):
        world.app.invitation_texts.ask(job)


def by_route(world: Inviting, option: str) -> None:
    world.app.invitations.answer(TENANT, "chat_1", AHMAD.ref, accept=option == YES)


def by_sms(world: Inviting, option: str) -> None:
    answer(world, world.asked[1], AHMAD, chat_id=world.own, option=option)


def see(world: Inviting) -> None:
    answer(world, world.asked[0], AHMAD, chat_id=world.own, option=SEE, client_id="see", route=SMS)
    for job in world.queues.take(InvitationJob):
        world.app.invitation_texts.ask(job)


def dies(world: Inviting, act: Callable[[], None], strike: int, *, after: bool) -> None:
    world.fuse.arm(strike, after=after)
    with pytest.raises(Killed):
        act()
    world.fuse.disarm()
    world.check()


def deaths(world: Inviting, act: Callable[[], None]) -> list[tuple[int, bool]]:
    act()
    calls = len(world.fuse.calls)
    return [(strike, after) for strike in range(1, calls + 1) for after in (False, True)]


def test_inviting_death_asks_once_without_another_call(share: FaultShare) -> None:
    first = Inviting(invited=False)
    for strike, after in share.of(deaths(first, lambda: inviting(first))):
        world = Inviting(invited=False)
        dies(world, lambda: inviting(world), strike, after=after)  # noqa: B023
        lost = world.queues.take(InvitationJob)
        assert len(lost) <= 1
        if world.stored_chat().invitation(AHMAD.id) is None:
            continue  # nothing was stored
        world.clock.advance(OUTBOX_GRACE.total_seconds())
        world.tick()
        world.drain()
        world.check()
        assert len(world.asked) == 1
        [listed] = choices_of(world, AHMAD).open
        assert (listed.seq, listed.ask_at) == (world.asked[0], None)
        world.clock.advance(OUTBOX_GRACE.total_seconds())
        assert world.tick() == 0


def test_seeing_who_invites_death_and_retry_ask_by_name_once(share: FaultShare) -> None:
    first = Inviting()
    for strike, after in share.of(deaths(first, lambda: see(first))):
        world = Inviting()
        dies(world, lambda: see(world), strike, after=after)  # noqa: B023
        see(world)
        world.clock.advance(OUTBOX_GRACE.total_seconds())
        world.tick()
        world.drain()
        world.check()
        assert len(world.asked) == 2
        [listed] = choices_of(world, AHMAD).open
        assert (listed.seq, listed.ask_at, set(listed.codes)) == (world.asked[1], None, {YES, NO})


@pytest.mark.parametrize("option", [YES, NO])
@pytest.mark.parametrize("answers", [by_route, by_sms])
def test_answering_death_and_retry_join_once_or_not_at_all(
    answers: Callable[[Inviting, str], None], option: str, share: FaultShare
) -> None:
    first = Inviting(named=True)
    for strike, after in share.of(deaths(first, lambda: answers(first, option))):
        world = Inviting(named=True)
        dies(world, lambda: answers(world, option), strike, after=after)  # noqa: B023
        try:
            answers(world, option)
        except (Conflict, NotFound):
            assert option == NO  # it was declined before the death
        world.check()
        assert world.stored_chat().has(AHMAD.ref) is (option == YES)
        assert world.stored_chat().invited == ()
        recorded = choice_in(world, world.asked[1], world.own).answer
        assert recorded is not None
        assert recorded.option == option
