"""The writes of stories, with their conditions, compared with `tests/golden/writes.txt`."""

import pytest

from tests.patterns import chats, desk, runs, turns
from tests.patterns.meter import Pattern
from tests.support.goldens import agrees
from tests.support.writes import Writes

PARTS = (
    (runs, ("run", "answer", "wait", "results", "turn", "apolog", "reset")),
    (chats, ("SMS", "choice", "respond", "discard")),
    (desk, ("over", "back")),
    (turns, ("",)),
)


def stories() -> dict[str, Pattern]:
    """The stories, by name."""
    return {
        name: story
        for module, words in PARTS
        for name, story in module.patterns.items()
        if any(word in name for word in words)
    }


@pytest.mark.check
def test_stories_produce_the_recorded_writes() -> None:
    parts = []
    for name, story in stories().items():
        writes = Writes()
        story(writes)
        if writes.lines:
            parts.append("\n".join([f"# {name}", *writes.lines]))
    assert len(parts) >= 40
    assert agrees("writes", "\n\n".join(parts))
