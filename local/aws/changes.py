"""The changes of the table in DynamoDB Local, read through the API of DynamoDB Streams."""

import base64
import json
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from local.events import Event, given_up, sequence_number
from local.files import read_whole, write_whole
from local.intrinsics import function_arn
from local.polling.event_filters import filters_of
from local.polling.feed import FeedSource
from skein.ports import Clock

Positions = dict[str, dict[str, str]]
"""The sequence number of the last finished change, by feed and shard."""


class StreamChanges:
    """The changes for the feeds. See `local.polling.feed.Changes`.

    As on AWS, a batch holds changes of one shard. A shard is read when its parent has been read.

    Args:
        streams: A client of DynamoDB Streams.
        arn: The ARN of the table's stream.
        file: The file that keeps how far each feed has read.
        send: Sends a text to the queue with a logical id.
        clock: The local clock.
    """

    def __init__(
        self,
        streams: Any,
        arn: str,
        file: Path,
        *,
        send: Callable[[str, str], None],
        clock: Clock,
    ) -> None:
        self._streams = streams
        self._arn = arn
        self._file = file
        self._send = send
        self._clock = clock
        self._positions: Positions = read_whole(file, _positions) if file.exists() else {}
        self._shard_of: dict[str, str] = {}  # the shard of each feed's last batch

    def read(self, source: FeedSource) -> list[Event]:
        """See `local.polling.feed.Changes`."""
        for shard in self._shards():
            found = self._read_shard(source, shard)
            if found:
                self._shard_of[source.name] = shard
                return found
        return []

    def done(self, source: FeedSource, last: Event) -> None:
        """See `local.polling.feed.Changes`."""
        self._position_of(source)[self._shard_of[source.name]] = sequence_number(last)
        write_whole(self._file, json.dumps(self._positions).encode())

    def give_up(
        self, source: FeedSource, changes: Sequence[Event], *, condition: str, calls: int
    ) -> None:
        """See `local.polling.feed.Changes`; after a kill, the message may be sent again."""
        if source.settings.failures is not None:
            arn = function_arn(source.name)
            now = self._clock.now()
            body = given_up(arn, changes, condition=condition, calls=calls, now=now)
            self._send(source.settings.failures, json.dumps(body))
        self.done(source, changes[-1])

    def _position_of(self, source: FeedSource) -> dict[str, str]:
        return self._positions.setdefault(source.name, {})

    def _shards(self) -> list[str]:
        """Return the ids of all shards, parents before their children."""
        parents: dict[str, str | None] = {}
        more: dict[str, Any] = {}
        while True:
            found = self._streams.describe_stream(StreamArn=self._arn, **more)["StreamDescription"]
            for shard in found.get("Shards", ()):
                parents[shard["ShardId"]] = shard.get("ParentShardId")
            if "LastEvaluatedShardId" not in found:
                return sorted(parents, key=lambda shard: (_generation(shard, parents), shard))
            more = {"ExclusiveStartShardId": found["LastEvaluatedShardId"]}

    def _read_shard(self, source: FeedSource, shard: str) -> list[Event]:
        """Return the next batch of a shard, and skip changes that the filters refuse."""
        filters = filters_of(source.settings.patterns)
        iterator: str | None = self._iterator(source, shard)
        found: list[Event] = []
        while iterator is not None and len(found) < source.settings.batch_size:
            page = self._streams.get_records(ShardIterator=iterator)
            if not page["Records"]:
                break
            records = [_record(raw, self._arn) for raw in page["Records"]]
            found += [record for record in records if filters.accept(record)]
            if not found:
                self._position_of(source)[shard] = sequence_number(records[-1])
            iterator = page.get("NextShardIterator")
        return found[: source.settings.batch_size]

    def _iterator(self, source: FeedSource, shard: str) -> str:
        position = self._position_of(source).get(shard)
        after: dict[str, Any] = (
            {"ShardIteratorType": "TRIM_HORIZON"}
            if position is None
            else {"ShardIteratorType": "AFTER_SEQUENCE_NUMBER", "SequenceNumber": position}
        )
        answer = self._streams.get_shard_iterator(StreamArn=self._arn, ShardId=shard, **after)
        return str(answer["ShardIterator"])


def _generation(shard: str, parents: Mapping[str, str | None]) -> int:
    """Return how many known ancestors a shard has."""
    parent = parents.get(shard)
    return 0 if parent is None or parent not in parents else 1 + _generation(parent, parents)


def _record(raw: Mapping[str, Any], arn: str) -> Event:
    """Return a record as Lambda passes it to a function."""
    record: Event = json.loads(json.dumps(raw, default=_as_json))
    record["eventSourceARN"] = arn
    if identity := record.get("userIdentity"):
        names = {"Type": "type", "PrincipalId": "principalId"}
        record["userIdentity"] = {names[name]: value for name, value in identity.items()}
    return record


def _as_json(value: object) -> object:
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, datetime):
        return int(value.timestamp())
    raise TypeError(f"a record has a {type(value).__name__}")


def _positions(data: bytes) -> Positions:
    found: Positions = json.loads(data)
    return {feed: dict(shards) for feed, shards in found.items()}
