"""The drafts of the Python client: the words of answers that agents are writing."""

from skein_client.events import Draft, Drafts


def delta(n: int, text: str) -> dict[str, object]:
    agent = {"id": "agt_1", "name": "Coach"}
    return {"type": "delta", "chat_id": "c", "agent": agent, "n": n, "text": text}


def test_drafts_with_repeated_late_and_missing_frames_grow_without_gaps() -> None:
    drafts = Drafts()
    frames = [(1, "Rest"), (2, " on"), (2, " on"), (4, " lost"), (3, " Monday")]
    shown = [draft.text for n, text in frames for draft in drafts.add(delta(n, text))]
    assert shown == ["Rest", "Rest on", "Rest on Monday"]


def test_drafts_are_void_once_and_begin_again_with_the_first_frame() -> None:
    drafts = Drafts()
    agent = {"id": "agt_1", "name": "Coach"}
    list(drafts.add(delta(1, "Rest")))
    assert list(drafts.void("c", agent)) == [Draft("c", agent, "")]
    assert list(drafts.void("c", agent)) == []
    assert list(drafts.add(delta(2, " from before"))) == []
    assert [draft.text for draft in drafts.add(delta(1, "Run"))] == ["Run"]
