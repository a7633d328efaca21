"""How a text's status moves: only forward, whatever the order in which its news arrives."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skein.channels.sms import SMS, TEMPORARY_ERRORS
from skein.models.delivery.delivery import DeliveryPart, PartStatus
from skein.models.delivery.sms import SentSms, SmsStatus, StatusReport
from skein.services.delivery.policy import RETRY
from skein.services.delivery.state import (
    RANKS,
    answered,
    given_up,
    intended,
    not_taken,
    postponed,
    reported,
)

NOW = datetime(2026, 2, 18, 12, 0, tzinfo=UTC)
LATER = NOW + timedelta(minutes=1)
SIDS = ("SM1", "SM2", "SM3")
STATUSES: tuple[SmsStatus, ...] = ("queued", "sent", "delivered", "read", "undelivered", "failed")

reports = st.builds(
    StatusReport,
    tenant=st.just("acme"),
    chat_id=st.just("chat_1"),
    delivery_id=st.just("dlv_1"),
    part=st.just(0),
    sid=st.sampled_from(SIDS),
    status=st.sampled_from(STATUSES),
    error_code=st.sampled_from([None, 30003, 30006, 21610]),
)
answers = st.builds(
    SentSms,
    sid=st.sampled_from(SIDS),
    status=st.sampled_from(STATUSES),
    created_at=st.just(NOW),
    error_code=st.sampled_from([None, 30008]),
)


def posted(part: DeliveryPart | None = None) -> DeliveryPart:
    return intended(part or DeliveryPart(body="hi", segments=1), NOW, LATER)


def report(status: SmsStatus, *, sid: str = "SM1", code: int | None = None) -> StatusReport:
    return StatusReport(
        tenant="acme",
        chat_id="chat_1",
        delivery_id="dlv_1",
        part=0,
        sid=sid,
        status=status,
        error_code=code,
    )


def progress(part: DeliveryPart) -> tuple[int, int]:
    return part.tries, RANKS[part.status]


@pytest.mark.parametrize("first", ["delivered", "undelivered", "failed"])
@pytest.mark.parametrize("later", ["delivered", "undelivered", "failed"])
def test_first_final_sms_status_is_kept(first: SmsStatus, later: SmsStatus) -> None:
    ended = reported(posted(), report(first, code=30006), SMS, NOW)
    assert ended.status == first
    assert reported(ended, report(later, code=30003), SMS, NOW) == ended


@given(st.lists(reports | answers, max_size=8))
def test_within_a_try_the_status_never_moves_back(news: list[StatusReport | SentSms]) -> None:
    part = posted()
    for item in news:
        if isinstance(item, StatusReport):
            moved = reported(part, item, SMS, NOW)
        else:
            moved = answered(part, item, SMS, NOW)
        assert progress(moved) >= progress(part)
        assert part.sids <= moved.sids  # no id is ever forgotten
        part = moved


@given(st.permutations([report(s) for s in ("queued", "sent", "delivered")]))
def test_the_order_of_callbacks_does_not_matter(news: list[StatusReport]) -> None:
    part = posted()
    for item in [*news, *news]:
        part = reported(part, item, SMS, NOW)
    assert (part.status, part.sid, part.next_at) == ("delivered", "SM1", None)


def test_a_callback_before_the_answer_is_not_undone_by_it() -> None:
    part = reported(posted(), report("delivered"), SMS, NOW)
    answer = SentSms(sid="SM1", status="queued", created_at=NOW)
    assert answered(part, answer, SMS, NOW) == part


def test_status_of_an_earlier_try_is_ignored() -> None:
    first = reported(posted(), report("undelivered", code=30003), SMS, NOW)
    second = posted(first)
    assert second.earlier_sids == ("SM1",)
    assert reported(second, report("delivered"), SMS, NOW) == second


def test_status_with_unknown_sid_is_added_to_the_parts_sids() -> None:
    part = answered(posted(), SentSms(sid="SM1", status="sent", created_at=NOW), SMS, NOW)
    told = reported(part, report("delivered", sid="SM2"), SMS, NOW)
    assert (told.status, told.sid) == ("sent", "SM1")
    assert told.sids == {"SM1", "SM2"}


@pytest.mark.parametrize("code", sorted(TEMPORARY_ERRORS))
def test_part_with_temporary_error_is_tried_again_after_each_wait(code: int) -> None:
    part, waits = None, []
    for n in range(1, RETRY.max_tries + 1):
        part = reported(posted(part), report("undelivered", sid=f"SM{n}", code=code), SMS, NOW)
        waits.append(part.next_at and part.next_at - NOW)
    assert waits == [*RETRY.waits, None]
    assert part is not None
    assert part.lost


@pytest.mark.parametrize("code", [None, 30002, 30004, 30006, 30007, 21211, 21614, 21610])
def test_permanent_sms_error_is_not_retried(code: int | None) -> None:
    assert reported(posted(), report("failed", code=code), SMS, NOW).lost


@pytest.mark.parametrize("status", ["pending", "queued", "sent", "delivered"])
def test_part_with_known_outcome_is_not_given_up(status: PartStatus) -> None:
    part = DeliveryPart(body="hi", segments=1, status=status, tries=1)
    assert given_up(part) == postponed(part, LATER) == not_taken(part, NOW) == part
