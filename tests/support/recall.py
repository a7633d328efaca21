"""A world whose messages are stored without runs, and indexed for recall by jobs."""

from dataclasses import dataclass
from datetime import timedelta

from skein.models.chats.chat import Chat, Message, chat_partition
from skein.models.chats.membership import Membership
from skein.models.common.base import NamedMember
from skein.models.common.storage import Key, Put, Query, Update
from skein.models.outbox.jobs import RecallJob
from skein.recall.models.stored import MAX_REFS, Posting, PostingRef, RecallPassage
from tests.support.builders import LONG_INVOCATION, NOON, TENANT, World

ANN = NamedMember(kind="user", id="usr_ann", name="Ann")
BEN = NamedMember(kind="user", id="usr_ben", name="Ben")
COACH = NamedMember(kind="agent", id="agt_a", name="Coach")
CLERK = NamedMember(kind="agent", id="agt_b", name="Clerk")


@dataclass
class Indexed(World):
    """A world in which messages are stored without runs, and indexed by jobs."""

    def said(
        self, *texts: str, sender: NamedMember = ANN, chat_id: str = "chat_1", **more: object
    ) -> None:
        """Store messages, the next numbers of the chat."""
        for text in texts:
            item = self.table.get(Chat.key_of(TENANT, chat_id))
            assert item is not None
            seq = int(item["last_seq"]) + 1
            message = Message(
                tenant=TENANT,
                chat_id=chat_id,
                id=f"msg_{seq}",
                seq=seq,
                text=text,
                sender=sender,
                client_id=f"c{seq}",
                created_at=NOON + timedelta(minutes=seq),
                **more,
            )
            self.table.write(Put(message.key, message.to_item()))
            self.table.write(Update(Chat.key_of(TENANT, chat_id), set={"last_seq": seq}))

    def index(self, first: int = 1, last: int | None = None, **more: object) -> None:
        values: dict[str, object] = {"tenant": TENANT, "chat_id": "chat_1"}
        job = RecallJob(first_seq=first, last_seq=last, **(values | more))
        self.app.recall_worker.take(job, deadline=self.clock.now() + LONG_INVOCATION)

    def passages(self, agent_id: str = "agt_a", chat_id: str = "chat_1") -> list[RecallPassage]:
        query = Query.under(chat_partition(TENANT, chat_id), RecallPassage.prefix_of(agent_id))
        return [RecallPassage.from_item(item) for item in self.table.query(query).items]

    def seqs(self, agent_id: str = "agt_a") -> list[int]:
        return list(dict.fromkeys(passage.seq for passage in self.passages(agent_id)))

    def postings(self, scope: str | None = None, agent_id: str = "agt_a") -> dict[str, list[int]]:
        page = self.table.query(Query(Posting.partition_of(TENANT, agent_id, scope)))
        found = map(Posting.from_item, page.items)
        return {posting.stem: [ref.seq for ref in posting.refs] for posting in found}

    def change(self, seq: int, **changes: object) -> None:
        key = Message.key_of(TENANT, "chat_1", seq)
        self.table.write(Update(key, set=changes))

    def member(self, member: NamedMember, **changes: object) -> None:
        self.table.write(Update(Membership.key_of(TENANT, "chat_1", member.ref), set=changes))

    def check_index(self) -> None:
        """Fail unless passages and postings say the same, whatever job they have come from."""
        items = self.table.all_items()
        lines: dict[Key, set[PostingRef]] = {}
        for key, item in items.items():
            if RecallPassage.PREFIX.holds({"sk": key.sk}):
                one = RecallPassage.from_item(item)
                ref = PostingRef(one.chat_id, one.seq, one.created_at, one.expires_at)
                for stem in one.posted:
                    posting = Posting.key_of(TENANT, one.agent_id, one.scope, stem)
                    lines.setdefault(posting, set()).add(ref)
        postings = {
            key: Posting.from_item(item) for key, item in items.items() if key.pk.endswith("#WORDS")
        }
        assert postings.keys() <= lines.keys()
        for key, refs in lines.items():
            found = postings.get(key)
            if len(refs) <= MAX_REFS and (found is None or not found.common):
                assert set(found.refs if found else ()) == refs, key
            elif found is not None:
                assert set(found.refs) <= refs, key
