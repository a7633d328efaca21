"""Keys: no two things share one, none is too long, and their order is the order of things."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skein.models.chats.chat import Chat, Message, chat_partition
from skein.models.chats.idempotency import IdempotencyRecord
from skein.models.chats.membership import Membership
from skein.models.common.base import MemberRef, key_part, rfc3339
from skein.models.common.storage import Key
from skein.models.outbox.due import DUE_SHARDS, due_before, due_pointer
from skein.models.quotas.limit import Allowance, owner_of_shard, owner_of_user
from skein.models.runs.run import Run, run_id_in

HOSTILE = st.text(alphabet=st.sampled_from("a#%23MSGETA|\u00e9\U0001f642"), min_size=1, max_size=12)
IDENTIFIER = st.text(alphabet=st.characters(exclude_categories=["Cs"]), min_size=1, max_size=128)
MEMBER = st.builds(MemberRef, kind=st.sampled_from(["user", "agent"]), id=HOSTILE)
MOMENT = st.datetimes(min_value=datetime(2020, 1, 1), max_value=datetime(2100, 1, 1)).map(  # noqa: DTZ001
    lambda moment: moment.replace(tzinfo=UTC)
)


def _keys(tenant: str, chat: str, member: MemberRef, client_id: str, seq: int) -> list[Key]:
    return [
        Chat.key_of(tenant, chat),
        Membership.key_of(tenant, chat, member),
        Message.key_of(tenant, chat, seq),
        IdempotencyRecord.key_of(tenant, chat, member, client_id),
    ]


THING = st.tuples(HOSTILE, HOSTILE, MEMBER, HOSTILE, st.integers(1, 10**11))


@given(THING, THING)
def test_different_entities_never_share_a_key(
    one: tuple[str, str, MemberRef, str, int], other: tuple[str, str, MemberRef, str, int]
) -> None:
    keys = _keys(*one)
    assert len(set(keys)) == len(keys)
    for mine, theirs, named in zip(
        keys, _keys(*other), ((0, 1), (0, 1, 2), (0, 1, 4), (0, 1, 2, 3)), strict=True
    ):
        same = all(one[place] == other[place] for place in named)
        assert (mine == theirs) == same


@given(HOSTILE, HOSTILE, HOSTILE, HOSTILE)
def test_tenants_never_share_a_partition(a: str, b: str, c: str, d: str) -> None:
    assert (chat_partition(a, b) == chat_partition(c, d)) == ((a, b) == (c, d))


@given(HOSTILE, HOSTILE, HOSTILE, HOSTILE, st.integers(0, 15))
def test_allowance_keys_differ_by_tenant_and_person(
    a: str, b: str, c: str, d: str, shard: int
) -> None:
    mine, theirs = (
        Allowance.key_of(tenant, owner_of_user(user)) for tenant, user in ((a, b), (c, d))
    )
    assert (mine == theirs) == ((a, b) == (c, d))
    assert mine != Allowance.key_of(a, owner_of_shard(shard))


@given(
    IDENTIFIER, st.text(alphabet=st.characters(exclude_categories=["Cs"]), min_size=1, max_size=100)
)
def test_the_longest_names_fit_into_a_key(name: str, client_id: str) -> None:
    member = MemberRef(kind="agent", id=name)
    key = IdempotencyRecord.key_of(name[:64], name, member, client_id)
    assert len(key.pk.encode()) <= 2_048
    assert len(key.sk.encode()) <= 1_024


@given(st.integers(1, 10**12 - 1), st.integers(1, 10**12 - 1))
def test_messages_sort_by_their_number(a: int, b: int) -> None:
    assert (Message.key_of("t", "c", a).sk < Message.key_of("t", "c", b).sk) == (a < b)


@given(MOMENT, MOMENT)
def test_times_as_text_sort_as_times(a: datetime, b: datetime) -> None:
    first, second = (
        moment.replace(microsecond=moment.microsecond // 1000 * 1000) for moment in (a, b)
    )
    assert (rfc3339(a) < rfc3339(b)) == (first < second)


@given(MOMENT, HOSTILE, st.integers(-10_000, 10_000))
def test_due_pointer_is_due_exactly_from_its_time(now: datetime, name: str, seconds: int) -> None:
    mark = due_pointer("run", Key(name, name), now + timedelta(seconds=seconds))
    assert (mark["gsi2sk"] <= due_before(now)) == (seconds <= 0)
    assert int(mark["gsi2pk"].rsplit("#", 1)[1]) < DUE_SHARDS


@given(st.text(alphabet="0123456789ABCDEFGHJKMNPQRSTVWXYZ", min_size=1, max_size=26))
def test_run_id_determines_its_home_and_key(ulid: str) -> None:
    for home, kind in (("chat_01C", "CHAT"), ("agt_01A", "AGENT")):
        run_id = run_id_in(home, ulid)
        assert Run.home_of(run_id) == home
        assert Run.key_of("t", run_id) == Key(f"t#{kind}#{home}", f"RUN#{ulid}")


@pytest.mark.parametrize(
    "run_id", ["", "run_", "run_1", "run_1_usr_2", "run_1_chat_2#MSG", "x_1_chat_2"]
)
def test_invalid_run_id_raises_value_error(run_id: str) -> None:
    with pytest.raises(ValueError, match="not a run id"):
        Run.key_of("t", run_id)


@given(HOSTILE)
def test_an_escaped_part_holds_no_separator_and_reads_back(text: str) -> None:
    part = key_part(text)
    assert "#" not in part
    assert part.replace("%23", "#").replace("%25", "%") == text
