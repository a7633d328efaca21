"""The changes of a table in DynamoDB Local, read through the API of DynamoDB Streams.

They are what `local.sqlite.changes` has to give.
"""

import base64
import json
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any

from local.events import Event, given_up, sequence_number
from local.intrinsics import function_arn
from local.polling.event_filters import filters_of
from local.polling.feed import FeedSource

NOW = datetime(2026, 2, 18, 15, 7, 2, tzinfo=UTC)


class StreamChanges:
    """The changes for one feed. See `local.polling.feed.Changes`.

    Args:
        streams: A client of DynamoDB Streams.
        arn: The ARN of the table's stream.
        send: Sends a text to the queue with a logical id.
    """

    def __init__(self, streams: Any, arn: str, send: Callable[[str, str], None]) -> None:
        self._streams = streams
        self._arn = arn
        self._send = send
        self._done = ""

    def read(self, source: FeedSource) -> list[Event]:
        """See `local.polling.feed.Changes`."""
        filters = filters_of(source.settings.patterns)
        found = [record for record in self._records() if filters.accept(record)]
        unread = [record for record in found if sequence_number(record) > self._done]
        return unread[: source.settings.batch_size]

    def done(self, source: FeedSource, last: Event) -> None:
        """See `local.polling.feed.Changes`."""
        self._done = sequence_number(last)

    def give_up(
        self, source: FeedSource, changes: Sequence[Event], *, condition: str, calls: int
    ) -> None:
        """See `local.polling.feed.Changes`."""
        assert source.settings.failures is not None
        arn = function_arn(source.name)
        body = given_up(arn, changes, condition=condition, calls=calls, now=NOW)
        self._send(source.settings.failures, json.dumps(body))
        self.done(source, changes[-1])

    def _records(self) -> list[Event]:
        """Return all changes of the table; the engine has one open shard at a time."""
        records: list[Event] = []
        shards = self._streams.describe_stream(StreamArn=self._arn)["StreamDescription"]["Shards"]
        for shard in shards:
            iterator: str | None = self._streams.get_shard_iterator(
                StreamArn=self._arn, ShardId=shard["ShardId"], ShardIteratorType="TRIM_HORIZON"
            )["ShardIterator"]
            while iterator is not None:
                page = self._streams.get_records(ShardIterator=iterator)
                if not page["Records"]:
                    break
                records += [_record(raw, self._arn) for raw in page["Records"]]
                iterator = page.get("NextShardIterator")
        return sorted(records, key=sequence_number)


def _record(raw: Any, arn: str) -> Event:
    """Return a record as Lambda passes it to a function."""
    record: Event = json.loads(json.dumps(raw, default=_as_json))
    return {**record, "eventSourceARN": arn}


def _as_json(value: object) -> object:
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    assert isinstance(value, datetime)
    return int(value.timestamp())
