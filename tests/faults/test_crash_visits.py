"""A visit from its opening to its erasure, with a death at each call to the table on the way."""

from collections.abc import Callable, Iterator
from functools import cache, partial

from skein.identity.models.credential import Credential
from skein.identity.visit_tokens import VisitTokens
from skein.models.common.base import MemberRef
from skein.models.common.storage import Query
from skein.services.chats.post_message import NewMessage
from skein.web_chat.messages import VisitMessages
from tests.fakes.table import MemoryTable
from tests.faults.sampling import FaultShare
from tests.support.api_client import Answer
from tests.support.fakes import Fuse, Killed
from tests.support.web_chat import Shop, Visitor

METHODS = ("get", "get_many", "query", "write", "transact")
MARK = "My name is Paola"
ERASURE_MINUTES = 40


class FusedShop(Shop):
    """A shop whose functions reach the table through a fuse."""

    def __post_init__(self) -> None:
        self.fuse, self._inner = Fuse(), MemoryTable()
        self.overrides = {"table": self.fuse.guard(self._inner, "table", METHODS)}
        super().__post_init__()

    def empty_table(self) -> MemoryTable:
        self._inner._clock = self._inner.vectors._clock = self.clock
        return self._inner


class Story:
    """A visitor whose page repeats each call until it is answered."""

    def __init__(self) -> None:
        self.shop = FusedShop()
        self.fuse = self.shop.fuse
        self.visitor = Visitor(self.shop, self.shop.widget())
        self.fuse.disarm()

    def steps(self) -> Iterator[Callable[[], Answer]]:
        visitor = self.visitor
        yield visitor.visit
        yield lambda: visitor.write(MARK)
        first = visitor.kept["renewal"]
        yield lambda: visitor.visit(renewal=first)
        yield lambda: visitor.write("Are you there?", "c2")
        yield lambda: visitor.call("DELETE", "/v1/visit")

    def play(self, strike: tuple[int, bool]) -> None:
        """Play the story with a death at one call."""
        self.fuse.arm(strike[0], after=strike[1])
        for step in self.steps():
            try:
                answer = step()
            except Killed:
                self.fuse.disarm()
                answer = step()
            assert answer.status in {200, 201, 202}, answer.body
            if answer.status != 202:
                self.check()

    def check(self) -> None:
        """Each message is there once, in one chat."""
        table = self.shop.table
        chats = [key.pk for key in table.all_keys() if key.sk == "META" and "#CHAT#" in key.pk]
        assert len(chats) <= 1
        for chat in chats:
            found = table.query(Query.under(chat, "MSG#")).items
            texts = [str(item["text"]) for item in found]
            assert texts == [MARK, "Are you there?"][: len(texts)]

    def check_erased(self) -> None:
        assert self.visitor.write("More", "c3").status == 401
        for _ in range(ERASURE_MINUTES):
            self.shop.clock.advance(60)
            self.shop.tick()
            self.shop.drain()
        assert self.visitor.call("GET", "/v1/visit").body["status"] == "erased"
        assert MARK not in str(self.shop.table.all_stored())


@cache
def strikes() -> list[tuple[int, bool]]:
    story = Story()
    calls = 0
    for step in story.steps():
        step()
        calls = len(story.fuse.calls)
    return [(strike, after) for strike in range(1, calls + 1) for after in (False, True)]


def test_visit_death_and_retry_make_one_chat_and_erase_it_whole(share: FaultShare) -> None:
    for strike in share.of(strikes()):
        story = Story()
        story.play(strike)
        story.check_erased()


def test_first_messages_of_two_tabs_at_once_share_one_chat() -> None:
    calls = Story()
    calls.visitor.visit()
    calls.fuse.disarm()
    calls.visitor.write(MARK)
    for strike in range(1, len(calls.fuse.calls) + 1):
        story = Story()
        visitor, services = story.visitor, story.shop.app
        visitor.visit()
        credential = Credential.parse(visitor.token)
        assert credential is not None
        claims = services.get(VisitTokens).read(credential)
        second = NewMessage(
            tenant=claims.tenant,
            chat_id=claims.chat_id,
            sender=MemberRef(kind="user", id=claims.visitor_id),
            text="Are you there?",
            client_id="c2",
        )
        post = partial(services.get(VisitMessages).post, claims, second)

        def second_tab(post: Callable[[], object] = post) -> None:
            post()

        story.fuse.arm(strike, after=False, meanwhile=second_tab)
        assert visitor.write(MARK).status == 201
        story.fuse.disarm()
        assert sorted(visitor.read()) == sorted([MARK, "Are you there?"])
