"""The SMS provider and the secrets in memory, for tests and for people who look on."""

import hashlib
import threading
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime

from skein.errors import MediaRefused, MissingSecret, SkeinError
from skein.models.common.base import to_utc
from skein.models.delivery.sms import OutgoingSms, SentSms
from skein.ports import Clock


@dataclass(frozen=True, slots=True)
class Fault:
    """What goes wrong with one call: `error` is raised, before or after the effect."""

    error: SkeinError
    after_effect: bool = False


class MemorySms:
    """A provider that takes every text, unless a test has other plans.

    Attributes:
        taken: Every text that it took, in order, with what it answered.
        asked: How often it was asked to send.
        foreign: Numbers that the account does not have.
        unregistered: Numbers of the account that send SMS only.
        media_files: The files of messages, by URL.
        reassigned: The day on which each number got a new owner.
    """

    def __init__(self, clock: Clock) -> None:
        self.taken: list[tuple[OutgoingSms, SentSms]] = []
        self.asked = 0
        self.foreign: set[str] = set()
        self.unregistered: set[str] = set()
        self.media_files: dict[str, bytes] = {}
        self.reassigned: dict[str, date] = {}
        self._clock = clock
        self._faults: deque[Fault | None] = deque()
        self._find_faults: deque[SkeinError] = deque()
        self._lock = threading.Lock()

    @property
    def bodies(self) -> list[str]:
        """The words of every text that it took, in order."""
        return [sms.body for sms, _ in self.taken]

    def plan(self, *faults: Fault | None) -> None:
        """Let the next posts go wrong like this, in order; None lets one succeed."""
        self._faults.extend(faults)

    def plan_find(self, *errors: SkeinError) -> None:
        """Let the next look-ups fail like this, in order."""
        self._find_faults.extend(errors)

    def send(self, sms: OutgoingSms) -> SentSms:
        """See `skein.ports.Sms`."""
        with self._lock:
            self.asked += 1
            fault = self._faults.popleft() if self._faults else None
            if fault is not None and not fault.after_effect:
                raise fault.error
            sid = f"SM{len(self.taken) + 1:032x}"
            # Like Twilio's, its clock shows whole seconds.
            created_at = to_utc(self._clock.now()).replace(microsecond=0)
            sent = SentSms(sid=sid, status="queued", created_at=created_at)
            self.taken.append((sms, sent))
            if fault is not None:
                raise fault.error
            return sent

    def find(self, sms: OutgoingSms, *, since: datetime) -> tuple[SentSms, ...]:
        """See `skein.ports.Sms`; the newest come first."""
        if self._find_faults:
            raise self._find_faults.popleft()
        first = to_utc(since).replace(microsecond=0)
        with self._lock:
            return tuple(
                sent
                for taken, sent in reversed(self.taken)
                if (taken.channel, taken.line, taken.phone) == (sms.channel, sms.line, sms.phone)
                and sms.is_in(taken.text)
                and sent.created_at >= first
            )

    def has_number(self, phone: str, channel: str = "sms") -> bool:
        """See `skein.ports.Sms`."""
        if self._find_faults:
            raise self._find_faults.popleft()
        registered = channel == "sms" or phone not in self.unregistered
        return phone not in self.foreign and registered

    def media(self, url: str, *, max_bytes: int) -> bytes | None:
        """See `skein.ports.Sms`."""
        if self._find_faults:
            raise self._find_faults.popleft()
        content = self.media_files.get(url)
        if content is not None and len(content) > max_bytes:
            raise MediaRefused("too_large")
        return content

    def was_reassigned(self, phone: str, *, since: date) -> bool:
        """See `skein.ports.Sms`."""
        if self._find_faults:
            raise self._find_faults.popleft()
        return self.reassigned.get(phone, since) > since


@dataclass(frozen=True, slots=True)
class MemorySecrets:
    """Secrets in a dictionary."""

    secrets: Mapping[str, Mapping[str, str]]

    def get(self, name: str) -> Mapping[str, str]:
        """See `skein.ports.Secrets`."""
        if name not in self.secrets:
            raise MissingSecret(f"secret not found: {name!r}")
        return self.secrets[name]


class MemoryVerifier:
    """A verifier whose signature anyone can make with `sign`."""

    @staticmethod
    def sign(url: str, parameters: Sequence[tuple[str, str]]) -> str:
        """The signature that is right for this URL and these form fields."""
        return hashlib.sha256(repr((url, sorted(parameters))).encode()).hexdigest()

    def verify(self, *, url: str, parameters: Sequence[tuple[str, str]], signature: str) -> bool:
        """See `skein.ports.WebhookVerifier`."""
        return signature == self.sign(url, parameters)
