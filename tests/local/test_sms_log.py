"""The log of SMS, which survives a full disk."""

import resource
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from local.sms_log import Sms, SmsLog

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
