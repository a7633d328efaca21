"""Reasons as they are stored and kept."""

from datetime import timedelta

from skein.models.chats.chat import Message
from skein.models.common.base import NamedMember
from skein.models.common.reason import MAX_REASONS, Reason, RecordedReason, with_reason
from skein.models.delivery.delivery import Delivery
from skein.models.runs.run import Run
from skein.models.runs.trigger import Trigger
from tests.support.builders import LINE, NOON, PHONE, TENANT
from tests.support.each import check_each
from tests.support.routes import sms_route

RUN = Run(
    tenant=TENANT,
    id="run_1_chat_1",
    agent_id="agt_a",
    chat_id="chat_1",
    trigger=Trigger(type="manual"),
    created_at=NOON,
)


def test_reason_has_a_lower_case_value_and_whole_sentences() -> None:
    def check(reason: Reason) -> None:
        assert reason.value == reason.name.lower()
        assert reason.meaning[0].isupper()
        assert reason.meaning.endswith(".")
        assert "|" not in reason.meaning  # it stands in a table

    check_each({reason.name: reason for reason in Reason}, check)


def test_with_reason_when_recorded_before_keeps_the_latest_time_once() -> None:
    later = NOON + timedelta(seconds=10)
    kept = with_reason((), Reason.MODEL_UNAVAILABLE, NOON)
    kept = with_reason(kept, Reason.CONCURRENCY_LIMIT, NOON)
    kept = with_reason(kept, Reason.MODEL_UNAVAILABLE, later)
    assert [(entry.reason, entry.at) for entry in kept] == [
        (Reason.CONCURRENCY_LIMIT, NOON),
        (Reason.MODEL_UNAVAILABLE, later),
    ]


def test_with_reason_when_full_drops_the_oldest() -> None:
    kept: tuple[RecordedReason, ...] = ()
    reasons = [*Reason][: MAX_REASONS + 1]
    for reason in reasons:
        kept = with_reason(kept, reason, NOON)
    assert [entry.reason for entry in kept] == reasons[1:]


def test_run_without_reasons_stores_no_attribute() -> None:
    assert RUN.attributes().keys().isdisjoint({"reason", "reasons", "merged_into"})
    assert Run.from_item(RUN.attributes()) == RUN


def test_run_with_a_reason_of_a_newer_version_reads_as_not_recorded() -> None:
    newer = {"reason": "of_tomorrow", "reasons": [{"reason": "of_tomorrow", "at": NOON}]}
    run = Run.from_item(RUN.attributes() | newer)
    assert run.reason == Reason.NOT_RECORDED
    assert [entry.reason for entry in run.reasons] == [Reason.NOT_RECORDED]


def test_message_and_delivery_of_a_newer_version_can_be_read() -> None:
    message = Message(
        tenant=TENANT,
        chat_id="chat_1",
        id="msg_1",
        seq=1,
        text="Hi",
        sender=NamedMember(kind="user", id="usr_1", name="Husam"),
        client_id="1",
        created_at=NOON,
    )
    assert (
        message.attributes()
        .keys()
        .isdisjoint({"runs", "reason", "reasons", "deliveries", "undelivered"})
    )
    newer = {"reason": "of_tomorrow", "reasons": {"agt_a": "of_tomorrow"}}
    read = Message.from_item(message.attributes() | newer | {"undelivered": ["of_tomorrow"]})
    assert read.reason == read.reasons["agt_a"] == read.undelivered[0] == Reason.NOT_RECORDED
    delivery = Delivery.model_validate(
        {
            "tenant": TENANT,
            "id": "dlv_1",
            "chat_id": "chat_1",
            "user_id": "usr_1",
            "agent_id": "agt_a",
            "seq": 1,
            "to": sms_route(line=LINE, phone=PHONE),
            "created_at": NOON,
            "reason": "of_tomorrow",
        }
    )
    assert delivery.reason == Reason.NOT_RECORDED
