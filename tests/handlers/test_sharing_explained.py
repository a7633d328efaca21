"""Why people may see items, and why not."""

from functools import cache
from typing import Any

import pytest

import admin_api
from routes.document.openapi import document
from skein.models.common.storage import Update
from tests.support.api_client import WHY, Client
from tests.support.family import COACH, EMMA, RINA, TOM, Family, chat_of
from tests.support.own_tools import BOOK

SECRET = "The piano lesson with Mrs Okafor moved to Thursday at five"
ASKED = "When is the piano lesson with Mrs Okafor?"


@pytest.fixture
def family() -> Family:
    """Emma was told of the rule, and has told the agent something."""
    return Family.with_model().continue_from(_told())


@cache
def _told() -> Family:
    family = Family.made()
    family.rule()
    family.says(EMMA, "Hello there, how are you?")
    family.says(EMMA, SECRET)
    return family


def operator(family: Family, scope: str = "admin") -> Client:
    return Client(family, api=admin_api, sub="usr_op", scope=scope)


def seq_of(family: Family, text: str = SECRET) -> int:
    return next(each.seq for each in family.messages(chat_of(EMMA)) if each.text == text)


def why(family: Family, reader: str, **more: Any) -> dict[str, Any]:
    """Return the explanation of Emma's secret, or of another message, for a reader."""
    asked = {"chat_id": chat_of(EMMA), "reason": WHY} | more
    if "from_seq" not in asked:
        asked["from_seq"] = seq_of(family)
    answer = operator(family).get("/v1/sharing/why", reader_id=reader, **asked)
    assert answer.status == 200, answer.body
    [item] = answer.body["items"]
    return dict(item)


def test_message_is_explained_by_presence_rule_or_lack_of_a_rule(family: Family) -> None:
    family.quiet()
    assert (own := why(family, EMMA.id))["decided_by"] == "presence"
    assert own["may_see"]
    told = why(family, TOM.id)
    assert (told["may_see"], told["decided_by"]) == (True, "rule")
    assert [rule["reason"] for rule in told["rules"]] == ["They live together."]
    refused = why(family, RINA.id)
    assert (refused["may_see"], refused["decided_by"]) == (False, "no_rule")
    assert refused["refused_reader"] == RINA.id
    assert [rule["fails"] for rule in refused["refused_rules"]] == ["reader_role"]
    assert "doesn't have the rule's role" in refused["why"]
    assert SECRET not in str((own, told, refused))
    Client(family, sub=TOM.id).patch("/v1/me/sharing", {"receives": False})
    assert why(family, TOM.id)["decided_by"] == "reader_refuses"


def test_explanation_agrees_with_prompts_on_each_condition(family: Family) -> None:
    assert why(family, TOM.id)["decided_by"] == "talk_not_over"
    assert SECRET not in family.prompt_of(TOM, ASKED)
    family.says(EMMA, "PRIVATE")
    family.quiet()
    assert why(family, TOM.id)["decided_by"] == "private"
    assert SECRET not in family.prompt_of(TOM, ASKED)
    family.says(EMMA, "Something else")
    family.quiet()
    assert why(family, TOM.id)["decided_by"] == "kept"
    answer = next(m.seq for m in family.messages(chat_of(EMMA)) if m.sender.kind == "agent")
    assert why(family, TOM.id, from_seq=answer)["decided_by"] == "not_own_words"


def test_words_before_the_notice_fail_by_that(family: Family) -> None:
    family.quiet()
    first = seq_of(family, "Hello there, how are you?")
    refused = why(family, TOM.id, from_seq=first)
    assert [rule["fails"] for rule in refused["refused_rules"]] == ["before_notice"]


def test_chat_that_is_read_together_decides_for_all_its_people(family: Family) -> None:
    family.quiet()
    family.chat(TOM, RINA, COACH, chat_id="chat_both", visibility="private", respond="mention")
    together = why(family, TOM.id, in_chat_id="chat_both")
    assert (together["decided_by"], together["refused_reader"]) == ("no_rule", RINA.id)
    alone = why(family, TOM.id, in_chat_id=chat_of(TOM))
    assert alone["decided_by"] == "rule"
    family.chat(TOM, COACH, chat_id="chat_open", visibility="open", respond="mention")
    assert why(family, TOM.id, in_chat_id="chat_open")["decided_by"] == "readers_open"
    other = {"chat_id": chat_of(EMMA), "from_seq": 1, "reason": WHY, "reader_id": RINA.id}
    answer = operator(family).get("/v1/sharing/why", **other, in_chat_id=chat_of(TOM))
    assert answer.status == 422


def test_open_messages_need_no_reason_and_late_members_read_in_the_chat_only(
    family: Family,
) -> None:
    family.chat(EMMA, COACH, chat_id="chat_open", visibility="open", respond="mention")
    family.post("Hello all", EMMA, chat_id="chat_open")
    asked = {"chat_id": "chat_open", "from_seq": 1, "reader_id": RINA.id}
    support = operator(family, scope="support")
    [shown] = support.get("/v1/sharing/why", **asked).body["items"]
    assert (shown["may_see"], shown["decided_by"]) == (True, "open")
    assert support.get("/v1/sharing/why", **asked | {"chat_id": chat_of(EMMA)}).status == 403

    family.chat(EMMA, TOM, COACH, chat_id="chat_group", visibility="private", respond="mention")
    family.post("Before Rina came", EMMA, chat_id="chat_group")
    family.add(RINA, by=EMMA, chat_id="chat_group")
    group = {"chat_id": "chat_group", "from_seq": 1}
    assert why(family, TOM.id, **group)["decided_by"] == "presence"
    assert why(family, RINA.id, **group)["decided_by"] == "membership"
    assert why(family, RINA.id, **group, in_chat_id=chat_of(RINA))["decided_by"] != "membership"


def test_agent_with_writing_tool_shares_no_words(family: Family) -> None:
    family.quiet()
    assert why(family, TOM.id)["decided_by"] == "rule"
    assert operator(family).post("/v1/tools", BOOK).status == 201
    family.agent(COACH.id, enabled_tools=("recall", "book_table"))
    assert why(family, TOM.id)["decided_by"] == "outsiders"
    assert SECRET not in family.prompt_of(TOM, ASKED)


def test_agents_items_are_explained_by_presence_alone(family: Family) -> None:
    made = operator(family).post(
        f"/v1/agents/{COACH.id}/memories", {"text": "Tea at five", "kind": "core"}
    )
    path = f"/v1/sharing/why/memory/{made.body['id']}"
    shown = operator(family).get(path, agent_id=COACH.id, reader_id=RINA.id)
    assert (shown.body["may_see"], shown.body["decided_by"]) == (True, "open")
    plan = {"name": "Ask", "instruction": "Ask Emma", "run_after": "1 week", "user_id": EMMA.id}
    made = operator(family).post(f"/v1/agents/{COACH.id}/plans", plan, reason=WHY)
    assert made.status == 201, made.body
    path = f"/v1/sharing/why/plan/{made.body['id']}"
    scope = {"agent_id": COACH.id, "user_id": EMMA.id, "reason": WHY}
    own = operator(family).get(path, **scope, reader_id=EMMA.id).body
    assert (own["may_see"], own["decided_by"]) == (True, "presence")
    other = operator(family).get(path, **scope, reader_id=TOM.id).body
    assert (other["may_see"], other["decided_by"]) == (False, "not_own_words")
    assert operator(family).get(path, reader_id=TOM.id, agent_id=COACH.id).status == 404
    for kind in ("chat_summary", "agent_summary"):
        path = f"/v1/sharing/why/{kind}/{chat_of(EMMA)}"
        asked = {"agent_id": COACH.id, "reader_id": TOM.id}
        assert operator(family).get(path, **asked, reason=WHY).status == 404  # it has none yet
        assert operator(family).get(path, **asked).status == 403


def test_explanation_covers_deleted_words_and_words_before_a_reset(family: Family) -> None:
    family.quiet()
    seq = seq_of(family)
    assert why(family, TOM.id, from_seq=seq)["decided_by"] == "rule"
    family.says(EMMA, "new topic")
    family.quiet()
    assert why(family, TOM.id, from_seq=seq)["decided_by"] == "reset"
    assert why(family, EMMA.id, from_seq=seq)["decided_by"] == "presence"  # reads it in the chat
    assert SECRET not in family.prompt_of(TOM, ASKED)
    emma = Client(family, sub=EMMA.id)
    assert emma.delete(f"/v1/chats/{chat_of(EMMA)}/messages/{seq}").status == 204
    assert why(family, EMMA.id, from_seq=seq)["decided_by"] == "gone"


def test_words_from_another_agents_chat_are_not_shared(family: Family) -> None:
    family.quiet()
    other = family.agent("agt_b", "Clerk").as_member
    family.chat(TOM, other, chat_id="chat_clerk", kind="direct", visibility="private", title=None)
    assert why(family, TOM.id, in_chat_id="chat_clerk")["decided_by"] == "other_agent"


def test_answer_with_words_of_a_rule_stays_in_its_chat(family: Family) -> None:
    family.quiet()
    family.chat(TOM, COACH, chat_id="chat_second", kind="direct", visibility="private", title=None)
    assert SECRET in family.prompt_of(TOM, ASKED)
    answer = family.messages(chat_of(TOM))[-1]
    assert answer.sender.id == COACH.id
    asked = {"chat_id": chat_of(TOM), "from_seq": answer.seq}
    assert why(family, TOM.id, **asked)["decided_by"] == "presence"
    assert why(family, TOM.id, **asked, in_chat_id="chat_second")["decided_by"] == "stays_in_chat"
    assert why(family, EMMA.id, **asked)["decided_by"] == "not_own_words"


def test_words_to_which_a_person_agreed_are_explained_by_consent(family: Family) -> None:
    family.chat(EMMA, TOM, COACH, chat_id="chat_group", visibility="private", respond="mention")
    family.post("I can come at five", EMMA, chat_id="chat_group")
    message = family.messages("chat_group")[-1]
    via = {"agent_id": COACH.id, "agent_name": "Coach", "chat_id": chat_of(EMMA), "choice_seq": 2}
    family.table.write(Update(message.key, set={"via": via}))
    shown = why(family, TOM.id, chat_id="chat_group", from_seq=message.seq)
    assert (shown["may_see"], shown["decided_by"]) == (True, "consent")


def test_chat_that_does_not_exist_is_a_documented_404(family: Family) -> None:
    asked = {"chat_id": "chat_no", "reader_id": RINA.id, "from_seq": 1, "reason": WHY}
    assert operator(family).get("/v1/sharing/why", **asked).status == 404
    assert "404" in document()["paths"]["/v1/sharing/why"]["get"]["responses"]
