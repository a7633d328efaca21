"""What one person says to an agent in private, and how much of it may be shared with others.

The state is an attribute of the direct chat's own item, since each post and each recall reads that
item anyway. A talk is a series of messages of the person; a pause longer than the quiet time ends
it.
"""

from datetime import datetime, timedelta

from pydantic import ConfigDict, Field

from skein.models.common.base import Identifier, Instant, Value

LAST_SEQ = 999_999_999_999
MAX_RANGES = 50  # spans of one chat that are kept from others; more are widened to one span


class SeqSpan(Value):
    """Consecutive messages, both ends included."""

    first_seq: int
    last_seq: int


class SharingState(Value):
    """The state of a direct chat whose person is covered by a sharing rule.

    Attributes:
        person_id: The person. After a merge, no messages of the former person are shared.
        noticed: The messages that told the person about sharing rules, by the id of the rule.
        talk_from: The first message of the newest talk.
        before: The first message of the previous talk; 0 if there is none. That talk is over, so it
            may be indexed now.
        private: Whether the person keeps the newest talk from others.
        kept: Messages that the person keeps from others.
    """

    model_config = ConfigDict(frozen=True, extra="ignore")  # 0.3.0 also stored `opened`

    person_id: Identifier
    noticed: dict[Identifier, int] = Field(default_factory=dict)
    talk_from: int
    before: int = 0
    spoke_at: Instant
    private: bool = False
    kept: tuple[SeqSpan, ...] = ()

    def quiet_at(self, pause: timedelta) -> datetime:
        """Return when the newest talk ends, if the person writes nothing else."""
        return self.spoke_at + pause

    def spoken(self, seq: int, now: datetime, pause: timedelta) -> "SharingState":
        """Return the state after a message of the person; the message may begin a new talk."""
        if now < self.quiet_at(pause):
            return self.model_copy(update={"spoke_at": now})
        kept = (*self.kept, SeqSpan(first_seq=self.talk_from, last_seq=seq - 1))
        return self.model_copy(
            update={
                "talk_from": seq,
                "before": self.talk_from,
                "spoke_at": now,
                "private": False,
                "kept": _narrowed(kept) if self.private else self.kept,
            }
        )

    def kept_private(self, seq: int) -> "SharingState":
        """Return the state after a message with which the person keeps the talk private.

        If the message begins a new talk, the person asked after the previous talk had ended. The
        messages of the previous talk are then kept private, too.
        """
        late = seq == self.talk_from and 0 < self.before < seq
        state = self.withdrawn(self.before, seq - 1) if late else self
        return state.model_copy(update={"private": True})

    def withdrawn(self, first_seq: int, last_seq: int) -> "SharingState":
        kept = (*self.kept, SeqSpan(first_seq=first_seq, last_seq=last_seq))
        return self.model_copy(update={"kept": _narrowed(kept)})

    def keeps(self, seq: int) -> bool:
        if self.private and seq >= self.talk_from:
            return True
        return any(each.first_seq <= seq <= each.last_seq for each in self.kept)

    def is_over(self, seq: int, now: datetime, pause: timedelta) -> bool:
        """Return whether a message's talk is over, so that it can no longer be kept private."""
        return seq < self.talk_from or now >= self.quiet_at(pause)

    def kept_since(self, earlier: "SharingState | None") -> SeqSpan | None:
        """Return the span of messages that the person has kept private since an earlier state."""
        kept = earlier.kept if earlier is not None else ()
        spans = [each for each in self.kept if each not in kept]
        if self.private and earlier is not None and not earlier.private:
            spans.append(SeqSpan(first_seq=self.talk_from, last_seq=LAST_SEQ))
        if not spans:
            return None
        first, last = min(one.first_seq for one in spans), max(one.last_seq for one in spans)
        return SeqSpan(first_seq=first, last_seq=last)

    def covered_by(self, rule_id: str, seq: int) -> bool:
        """Return whether a message came after the person was told about a rule."""
        noticed = self.noticed.get(rule_id)
        return noticed is not None and seq > noticed


def _narrowed(ranges: tuple[SeqSpan, ...]) -> tuple[SeqSpan, ...]:
    """Join adjacent ranges; if too many are left, one range covers all, which only shares less."""
    joined: list[SeqSpan] = []
    for each in sorted(ranges, key=lambda one: one.first_seq):
        last = joined[-1] if joined else None
        if last is not None and each.first_seq <= last.last_seq + 1:
            end = max(last.last_seq, each.last_seq)
            joined[-1] = SeqSpan(first_seq=last.first_seq, last_seq=end)
        else:
            joined.append(each)
    if len(joined) <= MAX_RANGES:
        return tuple(joined)
    return (SeqSpan(first_seq=joined[0].first_seq, last_seq=joined[-1].last_seq),)
