"""The interface of a channel: the data and functions that are specific to one channel.

No other code depends on the kind of channel. A channel is a module with a subclass of `Channel`,
and a line in `registry.py`.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Literal, Protocol

E164 = re.compile(r"\+[1-9][0-9]{6,14}")
"""The form of a phone number, and of the address of a channel that reaches phones."""

Keyword = Literal["stop", "start", "help"]
State = Literal["queued", "sent", "delivered", "read"]


class ChannelSettings(Protocol):
    """The settings that channels use."""

    @property
    def sms_answer_characters(self) -> int:
        """How many characters an answer by SMS may have, as the prompt tells the agent."""
        ...

    @property
    def sms_answer_segments(self) -> int: ...

    @property
    def long_code_segments_per_minute(self) -> int:
        """How many segments a line with an ordinary number sends per minute."""
        ...

    @property
    def toll_free_segments_per_minute(self) -> int:
        """How many segments a line with a toll-free number sends per minute."""
        ...


@dataclass(frozen=True)
class AddressSpec:
    """A kind of address. Channels of the same kind reach a person at the same address.

    Attributes:
        name: The name of the kind in keys.
        form: The stored form of an address.
        chat: The name for a chat with a person at such an address.
        normalised: Returns an address in its stored form, or raises `ValueError`.
    """

    name: str
    form: re.Pattern[str]
    chat: str
    normalised: Callable[[str], str]


class Channel:
    """A way to reach a person. The default values describe a channel without limits.

    Attributes:
        name: The name in stored items and in the API.
        title: The name that people read.
        kind: The kind of address; None if people are reached by their id.
        provider: The service that sends and receives messages, by its name in `registry.PROVIDERS`;
            empty if there is none.
        prefix: What the provider puts before an address of this channel.
        style: The name of the prompt that tells agents how to write here; None if there is none.
        unit: The unit that limits, usage and prices count; None if messages cost nothing.
        states: The states that the provider reports, in order, except failures.
        window: How long after a person's last message any text may be sent; None for no limit.
        buttons: The maximum number of quick replies of a message.
        opted_out_errors: The provider's errors which mean that a person has opted out.
        closed_errors: The provider's errors which mean that the window is closed.
        temporary_errors: The provider's errors after which another try may succeed.
        media_types: The media types that a message of an agent can contain; for others, a link is
            sent.
        media_bytes: The size of the largest file that a message can contain, in bytes.
        media_units: How many units a message with a file counts as.
        media_name: The name under which usage and prices count a message with a file. None if they
            count it like any other message.
        opts_out: Whether a person can stop all messages on this channel with a keyword such as
            STOP.
        stop_word: The word that people are told to send to stop messages on this channel.
        keeps_quiet_hours: Whether plans send nothing in quiet hours.
        in_order: Whether people see Skein's messages and their own in the order of posting, so that
            a typed yes is the answer to the question before it.
    """

    name: str
    title: str
    kind: AddressSpec | None = None
    provider: str = ""
    prefix: str = ""
    style: str | None = None
    unit: Literal["segment", "message"] | None = None
    states: tuple[State, ...] = ()
    window: timedelta | None = None
    buttons: int = 0
    opted_out_errors: frozenset[int] = frozenset()
    closed_errors: frozenset[int] = frozenset()
    temporary_errors: frozenset[int] = frozenset()
    media_types: tuple[str, ...] = ()
    media_bytes: int = 0
    media_units: int = 1
    media_name: str | None = None
    opts_out: bool = False
    stop_word: str = ""
    keeps_quiet_hours: bool = False
    in_order: bool = True

    def normalised(self, address: str) -> str:
        """Return an address in its stored form.

        Raises:
            ValueError: The text is not a full address, or the channel has no addresses.
        """
        if self.kind is None:
            raise ValueError("the channel has no addresses")
        return self.kind.normalised(address)

    def characters(self, settings: ChannelSettings) -> int:
        """Return how many characters an answer may have, as the prompt tells the agent."""
        raise NotImplementedError

    def shown(self, text: str) -> str:
        """Return a text of an agent as the channel shows it."""
        return text

    def parts(self, text: str) -> tuple[str, ...]:
        """Split a text into the messages to send. An empty text has none."""
        return (text,) if text.strip() else ()

    def units(self, body: str) -> int:
        """Return how many units one message counts as."""
        return 1

    def carries(self, media_type: str, size: int, person: str, line: str) -> bool:
        """Return whether a message between two addresses can contain the file itself.

        Args:
            media_type: The media type of the file.
            size: The size of the file, in bytes.
            person: The person's address.
            line: The line's address.
        """
        return media_type in self.media_types and size <= self.media_bytes

    def fitting(self, text: str, ending: str, settings: ChannelSettings) -> int:
        """Return how many characters of an answer to send; a cut answer ends with `ending`."""
        return len(text)

    def objection(self, question: str) -> str | None:
        """Return why a question is too long, or None if it fits. Questions are never cut."""
        return None

    def keyword(
        self,
        body: str,
        *,
        opt_out_type: str | None,
        opted_out: bool,
        addresses: Iterable[str] = (),
        countries: Iterable[str] = (),
    ) -> Keyword | None:
        """Return the keyword that a message consists of; None for an ordinary message.

        Args:
            body: The text of the message.
            opt_out_type: The keyword that the provider recognised.
            opted_out: Whether the person has opted out before.
            addresses: The addresses of the line and the person.
            countries: The ISO codes of other countries that the line answers.
        """
        return None

    def confirms_stop(self, body: str, opt_out_type: str | None) -> bool:
        """Return whether the provider answers this STOP itself."""
        return False

    def may_answer(self, person: str, line: str, countries: Sequence[str]) -> bool:
        """Return whether a line sends messages to an address.

        Args:
            person: The person's address.
            line: The line's address.
            countries: The ISO codes of the countries that the line answers.
        """
        return True

    def pace(self, line: str, settings: ChannelSettings) -> int:
        """Return the units that a line sends per minute; 0 for no limit."""
        return 0
