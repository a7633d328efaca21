"""Cursors are opaque to clients, and forged ones get nobody anywhere."""

import json
from base64 import urlsafe_b64encode
from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from skein.errors import Invalid
from skein.models.common.base import to_utc
from skein.models.directory.agent import Agent, agents_relation
from skein.privacy.audit_log import AuditCursor
from skein.services.chats.views import ChatsCursor, MessagesCursor
from skein.services.common.pagination import (
    MAX_PAGE_BYTES,
    ListName,
    RowCursor,
    fitting,
    list_relation,
)
from tests.support.builders import TENANT, World

KEY_TEXTS = st.text(st.characters(min_codepoint=32, max_codepoint=126), min_size=1, max_size=300)
CURSORS = st.one_of(
    st.builds(RowCursor, of=st.sampled_from(("agents", "owned", "runs")), after=KEY_TEXTS),
    st.builds(
        ChatsCursor,
        after=KEY_TEXTS,
        end=st.none() | KEY_TEXTS,
        at=st.none() | st.datetimes(timezones=st.timezones()).map(to_utc),
        chat_id=st.none() | KEY_TEXTS,
    ),
    st.builds(
        MessagesCursor,
        after=st.integers(0, 10**12),
        before=st.none() | st.integers(1, 10**12),
        upwards=st.booleans(),
    ),
)


def forged(fields: object) -> str:
    return urlsafe_b64encode(json.dumps(fields).encode()).rstrip(b"=").decode()


@given(CURSORS)
def test_a_cursor_comes_back_as_it_was(cursor: RowCursor | ChatsCursor | MessagesCursor) -> None:
    assert type(cursor).decode(cursor.encode()) == cursor


@given(CURSORS)
def test_cursor_needs_no_url_encoding(
    cursor: RowCursor | ChatsCursor | MessagesCursor,
) -> None:
    assert set(cursor.encode()) <= set(
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
    )


@given(st.text() | st.binary().map(lambda data: urlsafe_b64encode(data).decode()))
def test_invalid_cursor_text_is_refused(text: str) -> None:
    for kind in (RowCursor, ChatsCursor, MessagesCursor):
        with pytest.raises(Invalid):
            kind.decode(text)


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    )
)
def test_other_json_is_refused(value: object) -> None:
    for kind in (RowCursor, ChatsCursor, MessagesCursor):
        with pytest.raises(Invalid):
            kind.decode(forged(value))


def test_a_list_takes_no_other_lists_cursor() -> None:
    world = World()
    of_users = RowCursor(of="users", after="usr_a").encode()
    for text in (of_users, MessagesCursor(upwards=True).encode()):
        with pytest.raises(Invalid):
            world.app.agents.list(TENANT, cursor=text)
    with pytest.raises(Invalid):
        ChatsCursor.decode(of_users)


@pytest.mark.parametrize("name", ["owned", "runs", "erasures"])
def test_a_cursor_of_one_list_is_no_cursor_of_another(name: ListName) -> None:
    text = RowCursor(of=name, after="a").encode()
    assert RowCursor.key_in(text, name) == "a"
    assert RowCursor.key_in(None, name) is None
    with pytest.raises(Invalid):
        RowCursor.key_in(text, "agents")


def test_a_cursor_of_the_audit_from_before_it_named_its_list_is_read() -> None:
    audited = date(2026, 2, 18)
    old = forged({"audited": "2026-02-18", "after": "12:00#x"})
    assert AuditCursor.decode(old) == AuditCursor(audited=audited, after="12:00#x")


def test_a_cursor_that_names_a_partition_is_refused() -> None:
    with pytest.raises(Invalid):
        RowCursor.decode(forged({"of": "agents", "after": "a", "gsi1pk": "other#AGENTS"}))


def test_a_very_long_cursor_is_refused_unread() -> None:
    with pytest.raises(Invalid):
        MessagesCursor.decode(forged({"of": "messages", "upwards": True, "after": 10**2000}))


@given(st.lists(st.text("abcdef", min_size=1, max_size=6), unique=True), st.integers(1, 7))
def test_pages_together_are_the_whole_list(names: list[str], limit: int) -> None:
    world = World()
    for name in names:
        world.agent(f"agt_{name}", name)
    seen: list[str] = []
    cursor: str | None = None
    while True:
        page = list_relation(
            world.table, agents_relation(TENANT), Agent, of="agents", limit=limit, cursor=cursor
        )
        assert len(page.items) <= limit
        seen.extend(agent.name for agent in page.items)
        cursor = page.next_cursor
        if cursor is None:
            break
    assert seen == sorted(names)


def test_list_continues_after_its_last_row_was_deleted() -> None:
    world = World()
    for name in "abcd":
        world.agent(f"agt_{name}", name)
    page = world.app.agents.list(TENANT, limit=2)
    world.app.agents.delete(TENANT, "agt_b")
    rest = world.app.agents.list(TENANT, limit=2, cursor=page.next_cursor)
    assert [agent.name for agent in rest.items] == ["c", "d"]
    assert rest.next_cursor is None


class Text(BaseModel):
    text: str


def test_a_page_never_outgrows_an_answer_but_is_never_empty() -> None:
    big = Text(text="x" * (MAX_PAGE_BYTES // 3))
    assert len(fitting([big] * 5)) == 2
    assert len(fitting([Text(text="x" * 2 * MAX_PAGE_BYTES)] * 2)) == 1
    assert fitting([]) == []


def test_large_records_come_in_more_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("skein.services.common.pagination.MAX_PAGE_BYTES", 100_000)
    world = World()
    for n in range(100):
        world.agent(f"agt_{n:03d}", system_prompt="\U0001f600" * 2_000)
    first = world.app.agents.list(TENANT, limit=100)
    assert 1 <= len(first.items) < 100
    ids = [agent.id for agent in first.items]
    cursor = first.next_cursor
    while cursor is not None:
        page = world.app.agents.list(TENANT, limit=100, cursor=cursor)
        ids.extend(agent.id for agent in page.items)
        cursor = page.next_cursor
    assert ids == [f"agt_{n:03d}" for n in range(100)]
