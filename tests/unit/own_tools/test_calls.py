"""Calls to tools of a tenant: what the service gets, what the model is told, and who must agree."""

import base64
import hashlib
import hmac
import json
from collections.abc import Iterator
from types import ModuleType
from typing import Any
from urllib.parse import unquote

import pytest

from skein.agent.tools import TOOLS
from skein.errors import Ambiguous, Unavailable
from skein.feed.events import events_of
from skein.interface.tool import tool
from skein.models.common.http import HttpAnswer
from skein.models.common.storage import Update
from skein.models.outbox.changes import ItemChange
from skein.models.outbox.jobs import RunJob
from skein.models.quotas.usage import Payer
from skein.models.runs.completion import ModelRequest
from skein.own_tools.asking import CHANGED
from skein.own_tools.functions import use_functions_of
from skein.own_tools.models.approval import Decision
from skein.own_tools.operator_approvals import OperatorApprovals
from skein.own_tools.signed_context import CallContext, secret_of
from skein.prompts import render
from skein.services.choices.answering import Answering
from skein.services.choices.effect import GivenAnswer
from tests.fakes.outbound_http import json_answer
from tests.support.agents import (
    AHMAD,
    COACH,
    END,
    HUSAM,
    results_of,
    settle,
    stage,
    steps_of,
    the_run,
    waiting_elsewhere,
)
from tests.support.api_client import operator
from tests.support.builders import NOON, SERVICES_KEY, TENANT
from tests.support.fakes import Calls, calls
from tests.support.own_tool_calls import (
    BOOKING,
    DIRECT,
    LOOK,
    NAME,
    PRIVATE,
    answer,
    asked,
    chosen,
    question,
    results,
)
from tests.support.own_tools import BOOK, LOOK_UP, own_tool

BOOKS = calls(("book_table", {"day": "Tuesday", "seats": 4}))


# ---------------------------------------------------------------------- what the service gets


def test_read_is_sent_with_arguments_in_its_url_and_its_result_quoted() -> None:
    world = asked(LOOK)
    [request] = world.service.requests
    assert (request.method, request.url) == ("GET", "https://shop.example/orders/17")
    [result] = results(world)
    assert result.status == "done"
    assert result.content.endswith('instructions:\n| {"state": "on its way"}')
    assert result.usage is not None
    assert (result.usage.tries, result.usage.http_status) == (1, 200)
    assert world.texts()[-1] == "Here you are."


def test_context_names_person_readers_and_request_and_is_signed() -> None:
    world = asked(LOOK)
    headers = world.service.requests[0].headers
    encoded = headers["Skein-Context"]
    payload = base64.urlsafe_b64decode(encoded + "=" * (-len(encoded) % 4))
    run = the_run(world)
    assert headers["Idempotency-Key"] == headers["webhook-id"] == f"{run.id}:1:0"
    assert json.loads(payload) == {
        "tenant": TENANT,
        "agent_id": COACH.id,
        "chat_id": "chat_1",
        "run_id": run.id,
        "person": HUSAM.id,
        "readers": [HUSAM.id],
        "request_sha256": hashlib.sha256(b"GET\nhttps://shop.example/orders/17\n").hexdigest(),
    }
    secret = secret_of(world.app.own_tools.get(TENANT, "order_status").nonce, key=SERVICES_KEY)
    signed = f"{headers['webhook-id']}.{headers['webhook-timestamp']}.".encode() + payload
    signature = hmac.digest(base64.b64decode(secret.removeprefix("whsec_")), signed, "sha256")
    assert headers["webhook-signature"] == f"v1,{base64.b64encode(signature).decode()}"


@pytest.mark.parametrize(
    ("others", "person"),
    [([], HUSAM.id), ([("Me, too", AHMAD)], None)],
)
def test_person_is_named_only_if_all_answered_messages_are_theirs(
    others: list[tuple[str, Any]], person: str | None
) -> None:
    world = stage(LOOK, "Here.", reply_mode="text", enabled_tools=("order_status",))
    own_tool(world, LOOK_UP)
    world.chat(HUSAM, AHMAD, COACH, **PRIVATE)
    for text, by in [*others, ("Where is my order?", HUSAM)]:
        world.post(text, by)
    world.drain()
    encoded = world.service.requests[0].headers["Skein-Context"]
    context = json.loads(base64.urlsafe_b64decode(encoded + "=="))
    assert context["person"] == person
    assert context["readers"] == sorted([HUSAM.id, AHMAD.id])


def test_arguments_stay_in_their_place_in_the_url() -> None:
    world = asked(calls(("order_status", {"order": "../a?b=c#d"})))
    assert world.service.requests[0].url == "https://shop.example/orders/..%2Fa%3Fb%3Dc%23d"
    assert asked(calls(("order_status", {"order": ".."}))).service.requests == []


def test_credentials_are_sent_to_the_service_only() -> None:
    secret = "Bearer sk-1234567890abcdef"
    arn = "arn:aws:secretsmanager:eu-west-1:1:secret:skein-tools/acme/shop"
    world = stage(LOOK, "Here.", reply_mode="text", enabled_tools=("order_status",))
    world.secret_values[arn] = {"value": secret}
    world.service.answer = lambda request: json_answer({"saw": dict(request.headers)})
    own_tool(world, LOOK_UP, credentials={"secret_arn": arn, "header": "Authorization"})
    world.chat(HUSAM, COACH, **DIRECT)
    world.post("Where is my order?", HUSAM)
    world.drain()
    assert world.service.requests[0].headers["Authorization"] == secret
    everything = repr([steps_of(world, the_run(world)), world.model.requests])
    assert "sk-1234567890abcdef" not in everything
    assert "[secret]" in everything


# ---------------------------------------------------------------------- what can go wrong


@pytest.mark.parametrize(
    ("errors", "status", "sent"),
    [
        ([Unavailable("down"), None], "done", 2),
        ([Ambiguous("slow"), None], "done", 2),
        ([Unavailable("down"), Unavailable("down")], "failed", 2),
    ],
)
def test_read_is_tried_twice(errors: list[Any], status: str, sent: int) -> None:
    world = stage(LOOK, "Here.", reply_mode="text", enabled_tools=("order_status",))
    world.service.errors = errors
    own_tool(world, LOOK_UP)
    world.chat(HUSAM, COACH, **DIRECT)
    world.post("Where is my order?", HUSAM)
    world.drain()
    assert [each.status for each in results(world)] == [status]
    assert len(world.service.requests) == sent


@pytest.mark.parametrize(
    ("changes", "errors", "status", "sent"),
    [
        ({}, [Ambiguous("slow")], "unknown", 1),
        ({}, [Unavailable("down"), None], "done", 2),
        ({"idempotent": True}, [Ambiguous("slow"), None], "done", 2),
    ],
)
def test_write_is_repeated_only_if_that_is_harmless(
    changes: dict[str, Any], errors: list[Any], status: str, sent: int
) -> None:
    world = stage(BOOKS, "Done.", reply_mode="text", enabled_tools=("book_table",))
    world.service.errors = errors
    own_tool(world, BOOK, **changes)
    world.chat(HUSAM, COACH, **DIRECT)
    world.post("Book Tuesday", HUSAM)
    world.drain()
    [result] = results(world)
    assert result.status == status
    assert len(world.service.requests) == sent
    assert len({each.headers["Idempotency-Key"] for each in world.service.requests}) == 1
    if status == "unknown":
        assert "may or may not" in result.content
        assert "tool_outcome_unknown" in the_run(world).marks


@pytest.mark.parametrize(
    ("answer_", "status", "words"),
    [
        (json_answer({"error": "no such order"}, 404), "correctable", '| {"error": "no such order'),
        (HttpAnswer(status=200, content_type="image/png", body=b"x"), "failed", "neither JSON"),
        (json_answer({}, 503), "failed", "out of order"),
        (json_answer("x" * 30_000), "done", "[cut: the answer is longer]"),
    ],
)
def test_tool_result_reports_the_services_answer(
    answer_: HttpAnswer, status: str, words: str
) -> None:
    world = stage(LOOK, "Here.", reply_mode="text", enabled_tools=("order_status",))
    world.service.answer = lambda _: answer_
    own_tool(world, LOOK_UP)
    world.chat(HUSAM, COACH, **DIRECT)
    world.post("Where is my order?", HUSAM)
    world.drain()
    [result] = results(world)
    assert result.status == status
    assert words in result.content
    assert result.usage is not None
    assert result.usage.http_status == answer_.status


def test_calls_that_do_not_fit_the_schema_reach_no_service() -> None:
    world = asked(calls(("order_status", {"order": 17}), ("order_status", {"x": "1"})))
    assert [each.status for each in results(world)] == ["correctable", "correctable"]
    assert world.service.requests == []


@pytest.mark.parametrize("number", ["1e999", "-1e999", "NaN", "Infinity"])
def test_number_that_json_cannot_hold_reaches_no_service(number: str) -> None:
    stake = {"type": "object", "properties": {"stake": {"type": "number"}}}
    world = asked(calls((NAME, f'{{"stake": {number}}}')), parameters=stake)
    assert [each.status for each in results(world)] == ["correctable"]
    assert world.service.requests == []


def test_disabled_tool_is_not_offered() -> None:
    world = asked(LOOK, enabled=False)
    assert world.model.requests[0].tools == ()
    assert "there is no tool" in results(world)[0].content


# ---------------------------------------------------------------------- who must agree


@pytest.mark.parametrize(
    ("changes", "chat", "sent", "status"),
    [
        ({"privacy": "shared"}, DIRECT, 0, "failed"),
        ({"privacy": "shared", "from_private": "ask"}, DIRECT, 0, "asked"),
        ({"privacy": "shared"}, {}, 1, "done"),
        ({}, DIRECT, 1, "done"),
        ({"approval": "person"}, DIRECT, 0, "asked"),
    ],
)
def test_call_from_private_needs_a_promise_or_a_yes(
    changes: dict[str, Any], chat: dict[str, Any], sent: int, status: str
) -> None:
    world = asked(LOOK, chat=chat, **changes)
    assert len(world.service.requests) == sent
    assert results(world)[0].status == status


def test_enums_may_leave_a_private_chat() -> None:
    closed = {
        "type": "object",
        "properties": {"order": {"type": "string", "enum": ["17", "18"]}},
        "required": ["order"],
    }
    world = asked(LOOK, privacy="shared", parameters=closed)
    assert results(world)[0].status == "done"


def test_write_for_two_people_asks_first() -> None:
    world = stage(BOOKS, "I asked.", reply_mode="text", enabled_tools=("book_table",))
    own_tool(world, BOOK)
    world.chat(HUSAM, AHMAD, COACH, **PRIVATE)
    world.post("Book for me", AHMAD)
    world.post("Thanks", HUSAM)
    world.drain()
    assert world.service.requests == []
    assert question(world).text == (
        'Book a table? {"day": "Tuesday", "seats": 4} Yes sends exactly this to book_table, and '
        "shows the result to you and Ahmad.\nYes / No"
    )


def test_approval_text_with_a_question_mark_is_asked_with_one() -> None:
    world = asked(BOOKS, "Shall I?", record=BOOK, approval="person", approval_text="Book a table? ")
    assert question(world).text.startswith('Book a table? {"day"')


def test_approval_makes_the_recorded_call_once_and_resumes_the_agent() -> None:
    world = asked(BOOKS, "Shall I?", "Booked!", record=BOOK, approval="person")
    first = the_run(world)
    assert world.service.requests == []
    answer(world, "yes")
    [request] = world.service.requests
    assert json.loads(request.body) == {"day": "Tuesday", "seats": 4}
    assert request.headers["Idempotency-Key"] == f"{first.id}:1:0"
    assert [each.status for each in results(world)] == ["asked", "done"]
    assert world.texts()[-1] == "Booked!"


def test_run_that_answers_a_yes_and_a_reset_makes_the_call_and_posts_the_fixed_answer() -> None:
    world = asked(BOOKS, "Shall I?", record=BOOK, approval="person")
    prompts = len(world.model.requests)
    chosen(world, "yes")
    reset = world.post("Start over", HUSAM)
    world.drain()
    assert len(world.service.requests) == 1
    assert [each.status for each in results(world)] == ["asked", "done"]
    assert world.texts()[-2:] == ["Start over", render("session_reset")]
    assert len(world.model.requests) == prompts
    run = world.runs()[-1]
    assert (run.status, run.marks) == ("done", ("answered_without_model",))
    assert world.membership(COACH).seen_seq == reset.message.seq


def test_question_shows_hidden_words_of_the_arguments() -> None:
    hidden = "weather in Rome" + "".join(chr(0xE0000 + ord(each)) for each in "HIV")
    look = calls(("order_status", {"order": f"**{hidden}**"}))
    world = asked(look, "Well.", privacy="shared", from_private="ask")
    shown = question(world).text.removeprefix("Call order_status? ")
    sent, end = json.JSONDecoder().raw_decode(shown)
    assert sent == {"order": f"**{hidden}**"}
    assert hidden not in shown
    assert shown[end:] == " Yes sends exactly this to order_status.\nYes / No"
    answer(world, "yes")
    [request] = world.service.requests
    assert unquote(request.url.rpartition("/")[2]) == sent["order"]


def test_recorded_call_that_differs_from_its_question_is_not_made() -> None:
    world = asked(BOOKS, "Shall I?", "Well.", record=BOOK, approval="person")
    [step, *_] = steps_of(world, the_run(world))
    other = step.tool_calls[0].model_copy(update={"arguments": '{"day": "Friday", "seats": 4}'})
    world.table.write(Update(step.key, set={"tool_calls": [other.model_dump(mode="json")]}))
    answer(world, "yes")
    assert world.service.requests == []
    assert results(world)[-1].content == f"error: {CHANGED}"


def test_yes_after_the_request_was_deleted_tells_the_model_why_nothing_is_sent() -> None:
    world = asked(BOOKS, "Shall I?", "It was deleted.", record=BOOK, approval="person")
    world.app.message_deletion.delete(TENANT, HUSAM.ref, "chat_1", 1)
    world.drain()
    answer(world, "yes")
    assert world.service.requests == []
    assert [each.content for each in results(world)] == [f"error: {CHANGED}"]
    assert world.texts()[-1] == "It was deleted."


def test_yes_for_a_tool_that_the_agent_lost_tells_the_model_why_nothing_is_sent() -> None:
    world = asked(BOOKS, "Shall I?", "It is gone.", record=BOOK, approval="person")
    world.app.own_tools.delete(TENANT, BOOKING)
    answer(world, "yes")
    assert world.service.requests == []
    assert "there is no tool" in results(world)[-1].content
    assert world.texts()[-1] == "It is gone."


@pytest.mark.parametrize("spoiled", ["no", "changed", "joined"])
def test_call_is_not_made_without_approval_of_the_exact_call(spoiled: str) -> None:
    chat = PRIVATE if spoiled == "joined" else DIRECT
    world = asked(BOOKS, "Shall I?", "Well.", record=BOOK, approval="person", chat=chat)
    if spoiled == "changed":
        own_tool(world, BOOK, approval="person", version=2)
    if spoiled == "joined":
        world.known(AHMAD)
        world.add(AHMAD)
    answer(world, "no" if spoiled == "no" else "yes")
    assert world.service.requests == []


def test_call_whose_question_is_open_asks_nothing_again() -> None:
    script = [BOOKS, "Shall I?", BOOKS, "Press Yes, please.", "Booked!"]
    world = asked(*script, record=BOOK, approval="person")
    world.post("I mean it", HUSAM)
    world.drain()
    first, second = results(world)
    assert (first.status, second.status) == ("asked", "asked")
    assert "already asked: only the person's" in second.content
    answer(world, "yes")
    assert len(world.service.requests) == 1


def test_question_in_another_chat_than_the_prompt_is_told_without_its_number() -> None:
    world = waiting_elsewhere(BOOKS, END, enabled_tools=(*TOOLS, "book_table"))
    own_tool(world, BOOK, approval="person")
    world.post("Ten. Book a table", AHMAD, chat_id="chat_2")
    settle(world)
    [run] = world.runs()
    told = [each.content for each in results_of(world, run)]
    assert any("is asked in another chat whether" in each for each in told), told
    assert world.messages()[-1].kind == "choice"


def test_call_with_other_arguments_is_asked_about_too() -> None:
    other = calls(("book_table", {"day": "Monday", "seats": 4}))
    world = asked(BOOKS, "Shall I?", other, "Or that?", record=BOOK, approval="person")
    world.post("Or Monday?", HUSAM)
    world.drain()
    assert [each.status for each in results(world)] == ["asked", "asked"]


def test_person_who_rejected_calls_is_asked_about_later_ones() -> None:
    script = [BOOKS, "Shall I?", "Well."] * 3
    world = asked(*script, record=BOOK, approval="person")
    for n in range(3):
        newest = [each for each in world.messages() if each.choice is not None][-1]
        given = GivenAnswer(
            tenant=TENANT,
            chat_id="chat_1",
            person_id=HUSAM.id,
            seq=newest.seq,
            option="no",
            client_id=f"no-{n}",
        )
        world.app.get(Answering).answer_in_app(given)
        world.drain()
        world.post("Another time", HUSAM)
        world.drain()
    assert [each.status for each in results(world)] == ["asked"] * 3


def test_plain_message_is_answered_while_a_question_is_open() -> None:
    world = asked(BOOKS, "Shall I?", "It rains.", record=BOOK, approval="person")
    world.post("How is the weather?", HUSAM)
    world.drain()
    assert world.texts()[-1] == "It rains."
    assert world.service.requests == []


def test_words_of_a_tool_count_as_an_outsiders() -> None:
    world = asked(LOOK)
    held = the_run(world).held
    assert held is not None
    assert "tool:order_status" in held.authors.ids
    assert held.outsiders


def test_calls_of_one_answer_are_all_made() -> None:
    world = asked(calls(("order_status", {"order": "1"}), ("order_status", {"order": "2"})))
    assert sorted(each.url[-1] for each in world.service.requests) == ["1", "2"]
    assert [each.status for each in results(world)] == ["done", "done"]


# ---------------------------------------------------------------------- functions in Python


@pytest.fixture
def functions() -> Iterator[list[str]]:
    """Install two functions, and return what they were called for."""
    seen: list[str] = []

    @tool(effect="read")
    def order_status(call: CallContext, order: str) -> str:
        """Look up an order."""
        seen.append(f"{order} for {call.person}")
        if order == "0":
            raise ValueError("secret words")
        return f"order {order} is on its way"

    module = ModuleType("my_tools")
    vars(module)["order_status"] = order_status
    use_functions_of(module)
    yield seen
    use_functions_of()


PYTHON: dict[str, Any] = {"http": None, "python": {"function": "order_status"}, "parameters": None}


def test_function_is_called_with_its_context(functions: list[str]) -> None:
    world = asked(LOOK, description="", **PYTHON)
    assert functions == [f"17 for {HUSAM.id}"]
    assert "| order 17 is on its way" in results(world)[0].content
    [offered] = world.model.requests[0].tools
    assert (offered.description, list(offered.parameters)) == (
        "Look up an order.",
        ["type", "properties", "required", "additionalProperties"],
    )


def test_failed_function_result_hides_error_details(functions: list[str]) -> None:
    world = asked(calls(("order_status", {"order": "0"})), **PYTHON)
    [result] = results(world)
    assert result.status == "failed"
    assert "out of order" in result.content
    assert "secret words" not in result.content


def test_tool_without_its_function_is_not_offered() -> None:
    world = asked(LOOK, **PYTHON)
    assert world.model.requests[0].tools == ()


# ---------------------------------------------------------------------- an operator agrees


@pytest.mark.parametrize("decision", ["approved", "refused"])
def test_operators_decision_starts_a_run_that_makes_the_call_or_tells_of_the_refusal(
    decision: Decision,
) -> None:
    world = asked(BOOKS, "They look.", "Well.", record=BOOK, approval="operator")
    approvals = world.app.get(OperatorApprovals)
    [waiting] = approvals.list(TENANT)
    assert (waiting.call.tool, waiting.call.person, waiting.private) == (
        "book_table",
        HUSAM.id,
        True,
    )
    assert approvals.get(TENANT, waiting.id, private=False).arguments is None
    shown = approvals.get(TENANT, waiting.id, private=True).arguments
    assert json.loads(shown or "") == {"day": "Tuesday", "seats": 4}
    for _ in range(2):
        approvals.decide(TENANT, waiting.id, decision, by="usr_op")
        world.drain()
    assert approvals.list(TENANT) == []
    keys = [each.headers["Idempotency-Key"] for each in world.service.requests]
    assert keys == ([waiting.call.key] if decision == "approved" else [])
    assert world.texts()[-1] == "Well."
    system = world.model.requests[-1].messages[0].content
    later = "".join(message.content for message in world.model.requests[-1].messages)
    assert f"An operator {decision} your call of book_table" in system + later


def test_equal_call_waits_for_operators_once_and_another_call_waits_too() -> None:
    friday = calls(("book_table", {"seats": 4, "day": "Friday"}))
    script = [BOOKS, "They look.", BOOKS, "They still look.", friday, "They look."]
    world = asked(*script, record=BOOK, approval="operator")
    for text in ("Well?", "Or Friday?"):
        world.post(text, HUSAM)
        world.drain()
    assert [each.status for each in results(world)] == ["asked"] * 3
    waiting = world.app.get(OperatorApprovals).list(TENANT)
    assert [(each.call.run_id, each.call.step) for each in waiting] == [
        (run.id, 1) for run in world.runs()[::2]
    ]


def test_operator_sees_when_an_equal_call_was_made_before() -> None:
    world = asked(BOOKS, "They look.", "Done.", BOOKS, "Again?", record=BOOK, approval="operator")
    approvals = world.app.get(OperatorApprovals)
    [first] = approvals.list(TENANT)
    assert approvals.get(TENANT, first.id, private=True).made_at == ()
    approvals.decide(TENANT, first.id, "approved", by="usr_op")
    world.drain()
    made_at = world.clock.now()
    world.post("Book it again!", HUSAM)
    world.drain()
    [again] = approvals.list(TENANT)
    assert approvals.get(TENANT, again.id, private=True).made_at == (made_at,)
    assert approvals.get(TENANT, again.id, private=False).made_at == ()


def test_operator_sees_an_equal_call_that_is_approved_and_not_yet_made() -> None:
    script = (BOOKS, "They look.", BOOKS, "They look.", "Done.")
    world = asked(*script, record=BOOK, approval="operator", chat={"visibility": "private"})
    approvals = world.app.get(OperatorApprovals)
    world.known(AHMAD)
    world.add(AHMAD)  # who may not be shown the first call
    world.post("Book it again!", HUSAM)
    world.drain()
    first, second = approvals.list(TENANT)
    decided = approvals.decide(TENANT, first.id, "approved", by="usr_op")
    assert approvals.get(TENANT, second.id, private=True).made_at == (decided.decided_at,)
    world.drain()
    [made_at] = approvals.get(TENANT, second.id, private=True).made_at
    assert made_at == world.clock.now()


def test_call_that_waits_is_announced_and_counted_as_late_until_it_is_decided() -> None:
    world = asked(BOOKS, "They look.", "Well.", record=BOOK, approval="operator")
    [waiting] = world.app.get(OperatorApprovals).list(TENANT)
    stored = world.table.get(waiting.key)
    change = ItemChange(key=waiting.key, before=None, after=stored, sequence="1", at=NOON)
    [event] = events_of(change)
    assert (event.type, event.data["tool"]) == ("approval.requested", "book_table")

    counts = []
    for minutes in (1, 13, 2, 61):
        world.clock.advance(60 * minutes)
        world.tick()
        world.drain()
        counts.append(world.metrics.counts["DeskLate"])
    assert counts == [0, 0, 1, 2]
    world.app.get(OperatorApprovals).decide(TENANT, waiting.id, "refused", by="usr_op")
    world.clock.advance(7_200)
    world.tick()
    world.drain()
    assert world.metrics.counts["DeskLate"] == 2


def test_agent_whose_tool_writes_leaves_outsiders_out() -> None:
    for effect in ("read", "write"):
        world = asked("Hello.", record=LOOK_UP, effect=effect)
        run = the_run(world)
        reading = world.app.reader.read(run, world.stored_chat(), None)
        assert reading.insiders.alone is (effect == "write")


# ---------------------------------------------------------------------- limits and figures


def test_calls_of_a_day_are_counted_and_limited() -> None:
    world = stage(LOOK, "1", LOOK, "2", LOOK, "3", reply_mode="text", enabled_tools=(NAME,))
    own_tool(world, LOOK_UP, max_calls_per_day=2)
    world.chat(HUSAM, COACH, **DIRECT)
    for text in ("First", "Second", "Third"):
        world.post(text, HUSAM)
        world.drain()
    assert len(world.service.requests) == 2
    assert "often enough today" in results(world)[-1].content
    usage = world.app.usage.tool_calls(TENANT, Payer(COACH.id, HUSAM.id), NAME)
    assert usage == 2
    world.clock.advance(86_400)
    assert world.app.usage.tool_calls(TENANT, Payer(COACH.id, HUSAM.id), NAME) == 0


def test_each_try_of_a_call_costs_money_in_the_run_and_in_the_usage() -> None:
    world = stage(LOOK, "Here.", reply_mode="text", enabled_tools=(NAME,))
    world.service.errors = [Unavailable("down"), None]
    own_tool(world, LOOK_UP, cost_per_call=0.02)
    world.chat(HUSAM, COACH)
    world.post("Where is my order?", HUSAM)
    admin = operator(world)
    prices = {"currency": "EUR", "models": {"test-model": {"input": 0, "output": 0}}}
    assert admin.patch("/v1/settings", {"prices": prices}).status == 200
    world.drain()
    shown = admin.get(f"/v1/runs/{the_run(world).id}").body
    assert shown["steps"][0]["results"][0]["usage"]["cost"] == 0.04
    assert (shown["money"]["amount"], shown["steps"][0]["money"]["amount"]) == (0.04, 0.04)
    report = admin.get("/v1/usage", by="agent").body
    assert (report["total"]["tool_cost"], report["total"]["money"]["amount"]) == (0.04, 0.04)


def test_service_that_fails_often_is_left_alone_for_a_while() -> None:
    script: list[Any] = [LOOK, "Sorry."] * 4
    world = stage(*script, reply_mode="text", enabled_tools=(NAME,))
    own_tool(world, LOOK_UP)
    world.service.answer = lambda _: json_answer({}, 503)
    world.chat(HUSAM, COACH, **DIRECT)
    for text in ("First", "Second", "Third", "Fourth"):
        world.post(text, HUSAM)
        world.drain()
    assert len(world.service.requests) == 5  # the breaker opens at the fifth failure
    assert "circuit breaker is open" in results(world)[-1].content
    assert world.metrics.counts["CircuitsOpened"] == 1


def test_preview_shows_what_a_tool_adds_in_tokens() -> None:
    world = stage(reply_mode="text", enabled_tools=(NAME,))
    own_tool(world, LOOK_UP)
    world.chat(HUSAM, COACH, **DIRECT)
    [shown] = world.app.preview.show(TENANT, COACH.id, "chat_1").tools
    assert shown.name == NAME
    assert 20 < shown.tokens < 100


# ---------------------------------------------------------------------- the run around a call


def test_write_is_not_repeated_for_readers_who_joined_meanwhile() -> None:
    def joins(_: ModelRequest) -> str:
        world.add(AHMAD)
        return "Booked!"

    world = stage(BOOKS, joins, BOOKS, "It is booked.", reply_mode="text", enabled_tools=(BOOKING,))
    own_tool(world, BOOK)
    world.known(HUSAM, AHMAD)
    world.chat(HUSAM, COACH, **PRIVATE)
    world.post("Book Tuesday", HUSAM)
    world.drain()
    run = the_run(world)
    assert (run.rebuilds, run.status) == (1, "done")
    assert len(world.service.requests) == 1
    assert "not called again" in results(world)[-1].content


def test_call_without_enough_time_left_is_made_by_a_new_invocation() -> None:
    def late(_: ModelRequest) -> Calls:
        world.clock.advance(102)  # an invocation has 120 seconds, 10 of which are for writing
        return LOOK

    world = stage(late, "Here you are.", reply_mode="text", enabled_tools=(NAME,))
    own_tool(world, LOOK_UP)
    world.chat(HUSAM, COACH, **DIRECT)
    world.post("Where is my order?", HUSAM)
    jobs = len(world.queues.sent)
    world.drain()
    assert [each.status for each in results(world)] == ["done"]
    assert len(world.service.requests) == 1
    turns = [each.job for each in world.queues.sent[jobs - 1 :] if isinstance(each.job, RunJob)]
    assert len(turns) == 2
