"""Words shared by sharing rules: tools find them, and they stay in the chat that shows them."""

import json
import re
from functools import cache
from typing import Any

import pytest

import admin_api
from skein.models.outbox.jobs import ConsolidationJob
from skein.models.runs.completion import ModelRequest
from tests.support.api_client import Client
from tests.support.builders import TENANT
from tests.support.fakes import Calls, calls
from tests.support.family import COACH, EMMA, TOM, Family, chat_of
from tests.support.recalling import indexed

SECRET = "The piano lesson with Mrs Okafor moved to Thursday at five"
ASKED = "When is the piano lesson with Mrs Okafor?"
ANSWER = "The lesson with Mrs Okafor is on Thursday, in Room Nine"  # Room Nine marks the answer
ASKS = calls(("recall", {"query": ASKED}))
SECOND = "chat_second"


def words_of(request: ModelRequest) -> str:
    return "\n".join(message.content for message in request.messages)


@pytest.fixture
def family() -> Family:
    """Emma has told the agent something that may be told to Tom, who has a second chat."""
    return Family.with_model().continue_from(_told())


@cache
def _told() -> Family:
    family = Family.made(consolidate=True)
    family.chat(TOM, COACH, chat_id=SECOND, kind="direct", visibility="private", title=None)
    family.rule()
    family.tells(EMMA, SECRET)
    return family


def without_recalled(family: Family) -> None:
    """Let only the tool find old messages."""
    family.agent(COACH.id, enabled_tools=("recall", "end_run"), settings={"recall_tokens": 0})


def test_recall_tool_finds_shared_words_with_source_and_lists_the_disclosure(
    family: Family,
) -> None:
    without_recalled(family)
    family.model.script.extend([ASKS, ANSWER])
    family.says(TOM, ASKED)
    told = words_of(family.model.requests[-1])
    assert f'2026-02-18, Emma (may be told to: father): "{SECRET}"' in told
    assert family.messages(chat_of(TOM))[-1].words.by_rule
    [listed] = Client(family, sub=EMMA.id).get("/v1/me/sharing").body["disclosures"]
    assert listed["shared_with"] == ["Tom"]


def test_answer_after_the_tool_is_posted_only_while_the_rule_holds(family: Family) -> None:
    without_recalled(family)
    [rule] = family.operator.get("/v1/sharing-rules").body["items"]

    def answer(_: ModelRequest) -> str:
        family.operator.delete(f"/v1/sharing-rules/{rule['id']}")
        return ANSWER

    family.model.script.extend([ASKS, answer])
    family.says(TOM, ASKED)
    assert family.texts(chat_of(TOM))[-1] == "Fine."
    assert SECRET not in words_of(family.model.requests[-1])


def test_recall_and_context_previews_apply_sharing_rules(family: Family) -> None:
    path = f"/v1/agents/{COACH.id}"
    operator = Client(family, api=admin_api, sub="usr_op", scope="admin privacy")
    private: dict[str, str] = {"chat_id": chat_of(TOM), "reason": "Test of the preview"}
    found = operator.get(f"{path}/recall", q=ASKED, **private)
    assert SECRET in json.dumps(found.body)
    family.post(ASKED, TOM, chat_id=chat_of(TOM))
    shown = operator.get(f"{path}/context", **private)
    assert "may be told to: father" in json.dumps(shown.body)


def consolidated(family: Family, chat_id: str) -> None:
    family.clock.advance(3_600)
    family.handle(ConsolidationJob(tenant=TENANT, chat_id=chat_id))


def elsewhere(family: Family) -> dict[str, list[str]]:
    """Return what the model was shown of the chat of the telling, by where that could go."""
    model = family.model
    notes = [one for one in model.summary_requests if "lines" in str(one.answer_schema)]
    shown = {
        "memories": model.memory_requests,
        "agent summaries": notes,
        "titles": model.title_requests,
        "second chat": model.requests[-1:],
    }
    return {where: [words_of(request) for request in asked] for where, asked in shown.items()}


def test_told_words_stay_in_their_chat(family: Family) -> None:
    family.agent(COACH.id, enabled_tools=("recall", "read_messages", "get_my_runs"))
    family.says(TOM, "Hello from the kitchen")
    family.model.script.append(ANSWER)
    family.says(TOM, f"{ASKED} I am in the kitchen")
    family.model.script.append("As I said, Room Nine")  # repeats what it reads in the history
    family.says(TOM, "Tell me again, please, and what else is there in the kitchen?")
    first, second = [m for m in family.messages(chat_of(TOM)) if m.sender.id == COACH.id][-2:]
    assert first.words.by_rule
    assert second.words.by_rule
    consolidated(family, chat_of(TOM))
    family.clock.advance(3_600)
    indexed(family, chat_of(TOM), SECOND)
    of_first: dict[str, Any] = {"chat_id": chat_of(TOM)}
    family.model.script.extend(
        [
            calls(
                ("recall", {"query": "lesson with Mrs Okafor in Room Nine"}),
                ("read_messages", of_first),
                ("get_my_runs", {}),
            ),
            "Fine.",
        ]
    )
    family.post("What did you say of Room Nine in the kitchen?", TOM, chat_id=SECOND)
    family.drain()
    shown = elsewhere(family)
    for where, texts in shown.items():
        assert texts, where
        assert "kitchen" in "".join(texts), where  # what Tom said himself
        assert "As I said" not in "".join(texts), where
        assert "on Thursday, in Room" not in "".join(texts), where
    asked = "What did you say of the lesson with Mrs Okafor in Room Nine?"
    assert "As I said, Room Nine" in family.prompt_of(TOM, asked)  # in its own chat, it stays


SAVED: dict[str, dict[str, Any]] = {
    "save_memory": {"text": "Piano in Room Nine", "kind": "core"},
    "set_goal": {"text": "Be in Room Nine on time"},
    "set_plan": {"name": "Room Nine", "instruction": "Remind Tom.", "run_after": "1 day"},
    "write_document": {"name": "piano.md", "text": "Room Nine", "pinned": True},
    "create_thread": {"concern": "The piano in Room Nine"},
}


@pytest.mark.parametrize("tool", SAVED)
def test_items_saved_from_shared_words_are_shown_only_in_their_chat(
    family: Family, tool: str
) -> None:
    family.agent(COACH.id, enabled_tools=(*SAVED, "end_run"))
    family.model.script.extend([calls((tool, SAVED[tool])), "Fine.", "Fine."])
    family.says(TOM, ASKED)
    family.says(TOM, "reset")
    assert "Room Nine" in family.prompt_of(TOM, "Hello again, what is new here?")
    assert family.messages(chat_of(TOM))[-1].words.by_rule
    family.post("Hello from the kitchen, what is new?", TOM, chat_id=SECOND)
    family.drain()
    elsewhere = words_of(family.model.requests[-1])
    assert "kitchen" in elsewhere
    assert "Room Nine" not in elsewhere


def test_run_with_shared_words_changes_no_item_of_another_chat(family: Family) -> None:
    tools = ("set_goal", "end_goal", "update_profile", "end_run")
    family.agent(COACH.id, enabled_tools=tools, profile_fields=("music",))
    family.model.script.extend([calls(("set_goal", {"text": "Walk daily"})), "Fine."])
    family.post("I want to walk every day", TOM, chat_id=SECOND)
    family.drain()
    noted = {"field": "music", "value": "Piano on Thursday"}

    def change(request: ModelRequest) -> Calls:
        [goal] = re.findall(r"goal_\w+", words_of(request))
        ends = {"goal_id": goal, "outcome": "completed"}
        return calls(("end_goal", ends), ("update_profile", noted))

    family.model.script.extend([change, "Fine."])
    family.says(TOM, ASKED)
    results = words_of(family.model.requests[-1])
    assert results.count("only what was made in this chat can be changed") == 2
