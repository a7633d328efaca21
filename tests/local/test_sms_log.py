"""The log of SMS, which survives a full disk."""

import resource
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from local.twilio.sms_log import Sms, SmsLog

SMS = Sms(
    sid="SM1",
    sender="+15005550006",
    recipient="+15005550100",
    body="Try the plank.",
    status="sent",
    created_at="2026-02-18T15:07:02Z",
    segments=1,
    callback="",
)


@contextmanager
def no_file_larger_than(size: int) -> Iterator[None]:
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_sms_that_does_not_fit_on_the_disk_leaves_no_trace(tmp_path: Path) -> None:
    path = tmp_path / "texts.jsonl"
    log = SmsLog(path)
    log.put(SMS)
    second = replace(SMS, sid="SM2")
    with no_file_larger_than(path.stat().st_size + 20), pytest.raises(OSError, match="large"):
        log.put(second)
    assert log.find() == [SMS] == SmsLog(path).find()
    log.put(second)
    assert log.find() == [SMS, second] == SmsLog(path).find()


def test_sms_of_a_phone_are_listed_in_both_directions_in_order(tmp_path: Path) -> None:
    log = SmsLog(tmp_path / "texts.jsonl")
    sent = replace(SMS, sid="SM2", sender=SMS.recipient, recipient=SMS.sender, direction="inbound")
    other = replace(SMS, sid="SM3", sender="+15005550010")
    for sms in (sent, SMS, other, replace(SMS, sid="SM4", recipient="+15005550999")):
        log.put(sms)
    assert log.of_phone(SMS.recipient, None, 10) == [sent, SMS, other]
    assert log.of_phone(SMS.recipient, SMS.sender, 10) == [sent, SMS]
    assert log.of_phone(SMS.recipient, None, 1) == [other]
    assert sent not in log.find()


def test_wait_ends_with_the_next_change_of_the_log(tmp_path: Path) -> None:
    log = SmsLog(tmp_path / "texts.jsonl")
    waiter = threading.Thread(target=log.wait, args=(log.version, 60.0))
    waiter.start()
    log.put(SMS)
    waiter.join(5)
    assert not waiter.is_alive()
    log.wait(log.version - 1, 60.0)  # another version already: returns at once


def test_wait_beyond_the_limit_returns_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("local.twilio.sms_log.MAX_WAITING", 0)
    log = SmsLog(tmp_path / "texts.jsonl")
    log.wait(log.version, 60.0)
