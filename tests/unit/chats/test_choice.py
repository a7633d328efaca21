"""Choices in storage: the form that release 0.3.0 wrote and reads."""

from typing import Any

import pytest

from skein.errands.models.errand import ErrandData, OrderData
from skein.models.chats.choice import Choice, InvitationData
from skein.models.chats.consent import ConsentData
from skein.models.common.base import Stored
from skein.models.runs.requested_call import CallData
from skein.privacy.models.forgetting import ForgettingData

ASKED: dict[str, Any] = {
    "question": "Shall I?",
    "options": [{"id": "yes", "label": "Yes"}, {"id": "no", "label": "No"}],
    "addressee": "usr_1",
    "expires_at": "2026-11-24T12:00:00.000Z",
    "answer": {"option": "yes", "seq": 4, "at": "2026-11-24T11:00:00.000Z"},
}
PEOPLE = {"open": False, "people": ["usr_1"]}
CALL = {
    "run_id": "run_1",
    "step": 1,
    "position": 0,
    "tool": "book",
    "version": 2,
    "readers": PEOPLE,
}
ORDER = {
    "agent_id": "agt_1",
    "chat_id": "chat_1",
    "asked_by": {"kind": "user", "id": "usr_1", "name": "Ann"},
    "asked": [{"kind": "user", "id": "usr_2", "name": "Ben"}],
    "question": "When?",
    "text": "Ann asks: When?",
    "readers": PEOPLE,
    "audience": PEOPLE,
    "authors": {"ids": ["a1"]},
    "until": "2026-11-25T12:00:00.000Z",
}
POSTED = {"chat_id": "chat_2", "title": "Team", "readers": PEOPLE}
OF_RELEASE: list[tuple[str, dict[str, Any], type[Stored]]] = [
    (
        "consent",
        {"proposal": {"agent_id": "agt_1", "text": "Late", "destinations": [POSTED]}},
        ConsentData,
    ),
    ("consent", {"orders": ORDER}, OrderData),
    ("errand", {"errand": {"agent_id": "agt_1", "id": "err_1", "times": True}}, ErrandData),
    ("forgetting", {"forgets": [{"chat_id": "chat_1", "seq": 2}]}, ForgettingData),
    ("invitation", {"invited_to": "chat_2"}, InvitationData),
    ("tool", {"call": CALL, "asks": {"key": "k", "field": "f", "text": "Sure?"}}, CallData),
]


@pytest.mark.parametrize(("purpose", "data", "kind"), OF_RELEASE)
def test_stored_choice_of_release_is_read_and_stored_again_as_it_was(
    purpose: str, data: dict[str, Any], kind: type[Stored]
) -> None:
    stored = {**ASKED, "purpose": purpose, **data}
    choice = Choice.model_validate(stored)
    assert choice.data == data
    assert kind.from_item(choice.data).attributes().keys() == data.keys()
    assert choice.model_dump(mode="json", exclude_none=True) == stored


def test_choice_without_data_is_stored_without_any() -> None:
    stored = {**ASKED, "purpose": "question"}
    choice = Choice.model_validate(stored)
    assert choice.data == {}
    assert choice.model_dump(mode="json", exclude_none=True) == stored
    assert Choice.model_validate_json(choice.model_dump_json()) == choice


def test_yes_or_no_question_of_a_service_is_stored_and_read() -> None:
    data = CallData.from_item({"call": CALL, "asks": {"key": "k", "field": "f", "text": "Sure?"}})
    assert data.asks is not None
    assert data.asks.values is None
    assert CallData.from_item(data.attributes()) == data
