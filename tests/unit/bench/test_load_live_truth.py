"""The check of frames in `make load LIVE=1` finds each kind of wrong frame, and no right one."""

from typing import Any

import pytest

from bench.load.live_truth import TRANSIT_SECONDS, Post, Truth, Window

DANA, TOM, LENA = "dana", "tom", "lena"
CHAT, OTHER = "chat_1", "chat_2"


@pytest.fixture
def truth() -> Truth:
    """Dana and Tom are in a chat; Lena joins at 10 and leaves at 20."""
    made = Truth()
    for person in (DANA, TOM):
        made.join(person, CHAT, at=0.0).joined_at = 0.0
    made.join(DANA, OTHER, at=0.0).joined_at = 0.0
    stay = made.join(LENA, CHAT, at=10.0)
    stay.joined_at, stay.leaving_at, stay.left_at = 10.1, 20.0, 20.1
    return made


def post(truth: Truth, at: float, *, chat_id: str = CHAT, text: str = "Hello") -> Post:
    """A message of Dana, acknowledged a tenth of a second later as number 1."""
    made = truth.post(chat_id, DANA, text, at=at)
    truth.acknowledged(made, 1, "msg_1", at=at + 0.1)
    return made


def message(**changes: Any) -> dict[str, Any]:
    shown = {
        "id": "msg_1",
        "chat_id": CHAT,
        "seq": 1,
        "kind": "text",
        "text": "Hello",
        "sender": {"kind": "user", "id": DANA, "name": "Dana"},
        "run_id": None,
    }
    return {"type": "message", "chat_id": CHAT, "message": shown | changes}


def changed(**changes: Any) -> dict[str, Any]:
    return message(**({"text": "", "kind": "deleted"} | changes)) | {"type": "changed"}


def test_right_frames_are_not_wrong(truth: Truth) -> None:
    post(truth, 12.0)
    members = [{"kind": "user", "id": person} for person in (DANA, TOM, LENA)]
    for reader in (DANA, TOM, LENA):
        truth.take(reader, message(), 12.2)
        truth.take(reader, message(), 12.3)
        truth.take(
            reader,
            {"type": "chat", "chat_id": CHAT, "chat": {"id": CHAT, "members": members}},
            12.4,
        )
        truth.take(reader, {"type": "read", "chat_id": CHAT, "member": members[0], "seq": 1}, 12.5)
        truth.take(reader, {"type": "resync", "chat_id": CHAT}, 12.6)
        truth.take(reader, {"type": "pong"}, 12.7)
    assert truth.wrong == []
    assert truth.repeated == 3
    assert sorted(round(seconds, 3) for seconds in truth.latencies()) == [0.2, 0.2, 0.2]


@pytest.mark.parametrize(
    ("reader", "frame", "at"),
    [
        (TOM, message(text="Hullo"), 12.2),
        (TOM, message(sender={"kind": "user", "id": TOM, "name": "Tom"}), 12.2),
        (TOM, message(seq=2), 12.2),
        (TOM, message(id="msg_2"), 12.2),
        (TOM, message(run_id="run_1"), 12.2),
        (TOM, message(chat_id=OTHER), 12.2),
        (TOM, message() | {"chat_id": OTHER}, 12.2),
        (DANA, message() | {"chat_id": OTHER}, 12.2),
        (LENA, message(), 20.2 + TRANSIT_SECONDS),
        ("stranger", message(), 12.2),
        (TOM, changed(), 12.2),
        (TOM, changed(text="Hello"), 12.2),
        (TOM, {"type": "chat", "chat_id": CHAT, "chat": {"id": OTHER, "members": []}}, 12.2),
        (
            TOM,
            {"type": "chat", "chat_id": CHAT, "chat": {"id": CHAT, "members": [{"id": "x"}]}},
            12.2,
        ),
        (TOM, {"type": "read", "chat_id": CHAT, "member": {"id": DANA}, "seq": 2}, 12.2),
        (TOM, {"type": "typing", "chat_id": CHAT, "member": {"id": "stranger"}}, 12.2),
        (TOM, {"type": "run", "chat_id": CHAT, "status": "working"}, 12.2),
        (TOM, {"type": "secret", "chat_id": CHAT}, 12.2),
    ],
)
def test_wrong_frame_is_found(truth: Truth, reader: str, frame: dict[str, Any], at: float) -> None:
    post(truth, 12.0)
    truth.take(reader, frame, at)
    assert len(truth.wrong) == 1


@pytest.mark.parametrize(("posted_at", "wrong"), [(9.8, 1), (9.95, 0), (20.05, 0), (20.2, 1)])
def test_message_from_outside_of_a_membership_is_wrong(
    truth: Truth, posted_at: float, wrong: int
) -> None:
    post(truth, posted_at)
    truth.take(LENA, message(), max(posted_at + 0.3, 10.2))
    assert len(truth.wrong) == wrong


@pytest.mark.parametrize(("at", "wrong"), [(13.0, 0), (13.2 + TRANSIT_SECONDS, 1)])
def test_words_of_a_deleted_message_are_wrong_after_a_while(
    truth: Truth, at: float, wrong: int
) -> None:
    deleted = post(truth, 12.0)
    deleted.deleting_at, deleted.deleted_at = 12.9, 13.1
    truth.take(TOM, message(), at)
    truth.take(TOM, changed(), at)
    assert len(truth.wrong) == wrong


def test_acknowledgement_with_another_number_is_wrong(truth: Truth) -> None:
    posted = truth.post(CHAT, DANA, "Hello", at=12.0)
    truth.take(TOM, message(), 12.1)
    truth.acknowledged(posted, 2, "msg_1", at=12.2)
    assert len(truth.wrong) == 1


def test_two_messages_with_one_number_are_wrong(truth: Truth) -> None:
    post(truth, 12.0)
    truth.post(CHAT, DANA, "Again", at=12.0)
    truth.take(TOM, message(text="Again", id="msg_2"), 12.2)
    assert len(truth.wrong) == 1


def test_lost_message_counts_for_connected_members_without_a_resync(truth: Truth) -> None:
    for reader in (DANA, TOM, LENA):
        truth.windows[reader] = [Window(1.0)]
    first = post(truth, 12.0)
    assert truth.lost() == (3, 3)
    truth.take(DANA, message(), 12.1)
    truth.take(TOM, {"type": "resync", "chat_id": CHAT}, 12.2)
    assert truth.lost() == (1, 3)
    truth.windows[LENA] = [Window(1.0, 12.05), Window(12.06)]
    assert truth.lost() == (0, 2)
    first.deleting_at = 13.0
    assert truth.lost() == (0, 0)


def test_time_to_a_frame_counts_from_the_last_request_before_it(truth: Truth) -> None:
    posted = post(truth, 12.0)
    posted.tries += [12.5, 13.0]
    truth.take(TOM, message(), 12.6)
    assert truth.latencies() == [pytest.approx(0.1)]
