"""Why people may see items and why not, previews, and dry runs of changes of sharing rules."""

from typing import Any

import pytest

import admin_api
from routes.document.openapi import document
from skein.models.common.storage import Update
from skein.sharing import dry_run as sharing_dry_run
from tests.support.api_client import WHY, Client
from tests.support.family import COACH, EMMA, RINA, TOM, Family, chat_of
from tests.support.own_tools import BOOK

SECRET = "The piano lesson with Mrs Okafor moved to Thursday at five"
ASKED = "When is the piano lesson with Mrs Okafor?"
PREVIEW: dict[str, Any] = {"agent_id": COACH.id, "user_id": TOM.id, "q": ASKED, "reason": WHY}


@pytest.fixture
def family() -> Family:
    """Emma was told of the rule, and has told the agent something."""
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
    assert "does not name a role that the reader has now" in refused["why"]
    assert SECRET not in str((own, told, refused))


def test_explanation_agrees_with_prompts_on_each_condition(family: Family) -> None:
    assert why(family, TOM.id)["decided_by"] == "talk_not_over"
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


def test_words_are_not_told_by_an_agent_with_a_tool_that_writes(family: Family) -> None:
    family.quiet()
    found = operator(family).get("/v1/sharing/preview", **PREVIEW).body["items"]
    assert [item["text"] for item in found if item["decided_by"] == "rule"] == [SECRET]
    assert operator(family).post("/v1/tools", BOOK).status == 201
    family.agent(COACH.id, enabled_tools=("recall", "book_table"))
    assert why(family, TOM.id)["decided_by"] == "outsiders"
    shown = operator(family).get("/v1/sharing/preview", **PREVIEW)
    assert shown.status == 200
    assert SECRET not in str(shown.body)
    assert SECRET not in family.prompt_of(TOM, ASKED)


def test_preview_shows_what_a_prompt_would_use_with_its_reason(family: Family) -> None:
    family.says(TOM, "My own piano lesson with Mrs Okafor is on Monday")
    family.quiet()
    shown = operator(family).get("/v1/sharing/preview", **PREVIEW)
    assert shown.status == 200, shown.body
    assert shown.body["chat_id"] == chat_of(TOM)
    by = {item["text"]: item["decided_by"] for item in shown.body["items"]}
    assert by[SECRET] == "rule"
    assert by["My own piano lesson with Mrs Okafor is on Monday"] == "presence"
    rule = next(item for item in shown.body["items"] if item["text"] == SECRET)
    assert rule["why"].endswith("Rule: They live together.")
    entries = operator(family).get("/v1/audit", limit=10).body["items"]
    [entry] = [each for each in entries if each["route"] == "GET /v1/sharing/preview"]
    assert (entry["verb"], entry["reason"]) == ("read", WHY)
    assert entry["ids"] == {"agent_id": COACH.id, "user_id": TOM.id}
    access = Client(family, sub=EMMA.id).get("/v1/me/access").body["items"]
    assert access, "the author of words that an operator was shown sees that"


def test_preview_needs_a_reason_and_a_private_chat(family: Family) -> None:
    asked = {name: value for name, value in PREVIEW.items() if name != "reason"}
    assert operator(family).get("/v1/sharing/preview", **asked).status == 403
    gone = operator(family).get("/v1/sharing/preview", **PREVIEW | {"user_id": "usr_gone"})
    assert gone.status == 404


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


def test_words_that_are_gone_or_belong_to_an_earlier_time_are_explained(family: Family) -> None:
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


def test_words_of_an_agent_that_is_not_in_the_readers_chat_are_not_told_there(
    family: Family,
) -> None:
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


def test_preview_shows_a_memory_of_own_words_with_all_its_messages(family: Family) -> None:
    family.noted(EMMA, "Emma has piano lessons with Mrs Okafor on Thursdays", seq_of(family))
    family.quiet()
    found = operator(family).get("/v1/sharing/preview", **PREVIEW).body["items"]
    by_rule = [item for item in found if item["decided_by"] == "rule"]
    assert {tuple(item["seqs"]) for item in by_rule} == {(seq_of(family),)}
    assert any("has piano lessons" in item["text"] for item in by_rule)


def test_dry_run_says_if_there_is_more_than_it_counts(
    family: Family, monkeypatch: pytest.MonkeyPatch
) -> None:
    [rule] = operator(family).get("/v1/sharing-rules").body["items"]
    monkeypatch.setattr(sharing_dry_run, "MAX_PAIRS", 0)
    assert dry_run(family, remove=[rule["id"]]) == {"pairs": [], "complete": False}


def dry_run(family: Family, **change: Any) -> dict[str, Any]:
    family.table.log.clear()
    answer = operator(family).post("/v1/sharing/dry-run", change)
    assert answer.status == 200, answer.body
    writes = [call for call in family.table.log if call.method in {"write", "transact"}]
    assert len(writes) == 1, "the audit entry"
    return dict(answer.body)


def test_dry_run_counts_what_a_removed_rule_or_a_role_would_change(family: Family) -> None:
    family.quiet()
    [rule] = operator(family).get("/v1/sharing-rules").body["items"]
    stopped = dry_run(family, remove=[rule["id"]])
    assert stopped["complete"]
    [pair] = stopped["pairs"]
    assert (pair["author_name"], pair["reader_name"]) == ("Emma", "Tom")
    assert pair["before"] == {"tells": True, "messages": 1, "talks": 1}
    assert pair["after"] == {"tells": False, "messages": 0, "talks": 0}
    given = dry_run(family, roles=[{"user_id": RINA.id, "roles": [{"role": "father"}]}])
    [pair] = given["pairs"]
    assert (pair["author_id"], pair["reader_id"]) == (EMMA.id, RINA.id)
    assert pair["after"] == {"tells": True, "messages": 1, "talks": 1}
    ended = dry_run(family, roles=[{"user_id": EMMA.id, "roles": []}])
    [pair] = ended["pairs"]
    assert pair["before"] == {"tells": True, "messages": 1, "talks": 1}
    assert pair["after"] == {"tells": False, "messages": 1, "talks": 1}  # said in the role


def test_dry_run_of_a_new_rule_tells_of_the_future_only(family: Family) -> None:
    family.quiet()
    new = {"name": "Rule", "reason": "A test.", "from": {"role": "daughter"}}
    tried = dry_run(family, add=[new | {"to": {"user_id": RINA.id}}])
    [pair] = tried["pairs"]
    assert pair["reader_id"] == RINA.id
    assert pair["before"] == {"tells": False, "messages": 0, "talks": 0}
    assert pair["after"] == {"tells": True, "messages": 0, "talks": 0}
    assert len(operator(family).get("/v1/sharing-rules").body["items"]) == 1
    same = dry_run(family, add=[new | {"to": {"role": "father"}}])
    assert same["pairs"] == []


def test_dry_run_of_what_does_not_exist_is_refused(family: Family) -> None:
    post = operator(family).post
    assert post("/v1/sharing/dry-run", {"remove": ["shr_gone"]}).status == 404
    roles = [{"user_id": "usr_gone", "roles": []}]
    assert post("/v1/sharing/dry-run", {"roles": roles}).status == 404
    support = operator(family, scope="support")
    assert support.post("/v1/sharing/dry-run", {"roles": []}).status == 403


@pytest.mark.parametrize(
    ("method", "path", "given"),
    [
        ("GET", "/v1/sharing/why", {"chat_id": "chat_no", "reader_id": RINA.id, "from_seq": 1}),
        ("GET", "/v1/sharing/preview", {"agent_id": "agt_no", "user_id": RINA.id, "q": "dog"}),
        ("POST", "/v1/sharing/dry-run", {"remove": ["shr_no"]}),
    ],
)
def test_missing_item_is_a_documented_404(
    family: Family, method: str, path: str, given: dict[str, Any]
) -> None:
    caller = operator(family)
    answer = caller.get(path, **given, reason=WHY) if method == "GET" else caller.post(path, given)
    assert answer.status == 404, answer.body
    assert "404" in document()["paths"][path][method.lower()]["responses"]
