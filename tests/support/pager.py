"""A channel that only tests have: pagers, which have handles and show eighty characters.

It shows what a further channel takes: this module, and a line in the registry.
"""

import re

from skein.channels.port import AddressSpec, Channel, ChannelSettings

HANDLE = re.compile(r"pgr-[0-9]{3}")
ROOM = 80


def _normalised(handle: str) -> str:
    lowered = handle.strip().lower()
    if HANDLE.fullmatch(lowered) is None:
        raise ValueError("not a handle of a pager")
    return lowered


class PagerChannel(Channel):
    """Pagers: one size, no keywords, and no more than three pages for an answer."""

    name = "pager"
    title = "pager"
    kind = AddressSpec(name="handle", form=HANDLE, chat="pages", normalised=_normalised)
    prefix = "pager:"
    style = "instructions_sms"
    unit = "message"
    media_types = ("image/png",)
    media_bytes = 1_000
    states = ("queued", "delivered")

    def characters(self, settings: ChannelSettings) -> int:
        return ROOM

    def parts(self, text: str) -> tuple[str, ...]:
        words = " ".join(text.split())
        return tuple(words[at : at + ROOM] for at in range(0, len(words), ROOM))

    def fitting(self, text: str, ending: str, settings: ChannelSettings) -> int:
        return len(text) if len(text) <= 3 * ROOM else 3 * ROOM - len(ending) - 1

    def objection(self, question: str) -> str | None:
        return None if len(question) <= ROOM else "the question is too long for a pager"


PAGER = PagerChannel()
