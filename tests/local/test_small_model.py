"""Chat completions by the local model, with a scripted continuation in place of the library."""

import json
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from local.model import tutorial_script
from local.model.server import MAX_WAITING, MODEL_NAME, SLOTS, make_server
from local.model.small_answer import (
    BE_KIND,
    DEMO_AGENT,
    MY_RULE,
    NO_PICTURE,
    READS_NOTHING,
    SEE_A_DOCTOR,
    SEES_NOTHING,
    SENDS_BACK,
)
from local.model.small_model import DUE, Continuation, SmallModel
from local.model.tutorial_script import NO_REPLY
from skein.adapters.openai.model import OpenAIModel
from skein.memory.extraction import SCHEMA as MEMORY_SCHEMA
from skein.models.runs.completion import ModelMessage, ModelRequest
from skein.summaries.model import AGENT_SCHEMA, CHAT_SCHEMA
from tests.support.goldens import golden_messages

PROMPTS: list[str] = []


def model(text: str = "Walk a little. Then", *, whole: bool = False) -> SmallModel:
    def continued(prompt: str) -> Continuation:
        PROMPTS.append(prompt)
        return Continuation(text, whole, prompt_tokens=20, tokens=5)

    PROMPTS.clear()
    return SmallModel(MODEL_NAME, continued)


def identity(name: str, character: str) -> dict[str, str]:
    """The beginning of Skein's prompt for an agent."""
    text = f'IDENTITY:\n  name: "{name}"\n\n{character}\n\nINSTRUCTIONS:\n'
    return {"role": "system", "content": text}


def offering(*tools: str) -> list[dict[str, Any]]:
    return [{"type": "function", "function": {"name": name}} for name in tools]


COACH = identity(DEMO_AGENT, "You are Coach.")


def message_of(answer: dict[str, Any]) -> dict[str, Any]:
    [choice] = answer["choices"]
    return dict(choice["message"])


def test_question_is_continued_and_shaped() -> None:
    answer = model().complete({"messages": golden_messages("person_roles_text")})
    assert message_of(answer) == {"role": "assistant", "content": "Walk a little."}
    assert answer["usage"] == {"prompt_tokens": 20, "completion_tokens": 5, "total_tokens": 25}
    [prompt] = PROMPTS
    assert prompt.endswith("Person: Pull the Q4 revenue numbers\nDataAnalyst:")


def test_fixed_answer_asks_no_model() -> None:
    messages = [COACH, {"role": "user", "content": "What time is it?"}]
    answer = model().complete({"messages": messages})
    assert "set OPENAI_API_KEY" in message_of(answer)["content"]
    assert not PROMPTS


RULE = "In an emergency, say that they must call 112."


@pytest.mark.parametrize("name", ["Mira", DEMO_AGENT, tutorial_script.NAME])
@pytest.mark.parametrize(
    "question",
    [
        "I have chest pain",
        "I have chest pain, I want to talk to a human",
        "I am ill, is the gym open on Monday?",
        "My knee hurts, send me a picture",
        "My knee hurts, send it back [picture 3.1, not shown]",
        "I'm bleeding [file 3.1: text/plain, 12 characters]",
        "I feel sick and sad",
        "I can\u2019t breathe, I need a human",
        "This is an emergency, can you call somebody?",
    ],
)
def test_rule_of_an_agent_comes_before_calls_fixed_answers_and_the_model(
    name: str, question: str
) -> None:
    messages = [
        identity(name, f"You are {name}. {RULE} Be kind."),
        {"role": "user", "content": question},
    ]
    tools = offering("ask_a_person", "gym_hours")
    said = message_of(model().complete({"messages": messages, "tools": tools}))
    assert said["content"] == MY_RULE.format(rule=RULE)
    assert not PROMPTS


@pytest.mark.parametrize(
    "question",
    [
        "I have chest pain",
        "I feel sad",
        "Hello",
        "Thanks!",
        "Who are you?",
        "What can you do?",
        "What time is it?",
        "Did Tom write?",
        "Show me a picture",
        "Wo ist der Bahnhof?",
        "\u0414\u043e\u0431\u0440\u044b\u0439 \u0434\u0435\u043d\u044c",
        *tutorial_script.ANSWERS,
    ],
)
def test_agent_other_than_the_demos_gets_no_fixed_answer(question: str) -> None:
    messages = [identity("Mira", "You are Mira."), {"role": "user", "content": question}]
    said = message_of(model().complete({"messages": messages, "tools": offering("send_message")}))
    assert said["content"] == "Walk a little."
    assert len(PROMPTS) == 1


def test_demos_agent_is_kind_and_sends_to_a_doctor() -> None:
    for question, answer in (("I have chest pain", SEE_A_DOCTOR), ("I feel sad", BE_KIND)):
        messages = [COACH, {"role": "user", "content": question}]
        assert message_of(model().complete({"messages": messages}))["content"] == answer


@pytest.mark.parametrize(
    ("name", "character"),
    [
        (tutorial_script.NAME, "You are Pace, a walking coach."),
        ("Mira", tutorial_script.SYSTEM_PROMPT),
        (DEMO_AGENT, tutorial_script.SYSTEM_PROMPT),
    ],
)
def test_script_of_the_tutorial_is_of_its_agent_only(name: str, character: str) -> None:
    question = "My race in Utrecht is on 9 May."
    messages = [identity(name, character), {"role": "user", "content": question}]
    assert message_of(model().complete({"messages": messages}))["content"] == "Walk a little."
    messages[0] = identity(tutorial_script.NAME, tutorial_script.SYSTEM_PROMPT)
    assert message_of(model().complete({"messages": messages}))["content"] == "Good luck!"
    assert not PROMPTS


@pytest.mark.parametrize("name", ["plan_in_chat_roles", "plan_in_chat_timeline"])
def test_due_plan_of_a_chat_is_announced_without_the_model(name: str) -> None:
    said = message_of(model().complete({"messages": golden_messages(name)}))
    assert said["content"].startswith(f"{DUE} ")
    assert len(said["content"]) > len(DUE) + 10
    assert not PROMPTS


def test_due_plan_without_a_chat_is_answered_with_silence() -> None:
    assert (
        message_of(model().complete({"messages": golden_messages("plan")}))["content"] == NO_REPLY
    )


def test_agent_that_speaks_by_tools_sends_its_answer_and_is_then_done() -> None:
    messages = golden_messages("person_timeline_tools")
    tools = [{"type": "function", "function": {"name": "send_message"}}]
    said = message_of(model().complete({"messages": messages, "tools": tools}))
    [call] = said["tool_calls"]
    assert call["function"]["name"] == "send_message"
    assert json.loads(call["function"]["arguments"]) == {"text": "Walk a little."}

    results = [{**said}, {"role": "tool", "tool_call_id": call["id"], "content": "sent"}]
    after = message_of(model().complete({"messages": messages + results, "tools": tools}))
    assert after == {"role": "assistant", "content": NO_REPLY}


@pytest.mark.parametrize(
    ("text", "media"),
    [
        ("Look [picture 3.1, not shown]", None),
        ("[picture 3.1, not shown]", None),
        ('Look [picture 3.1, not shown: "A \\"lake\\" [blue]"]', None),
        ("Send it back [picture 3.1, not shown]", ["3.1"]),
        ("Send me the photo", ["1.2"]),
    ],
)
def test_picture_is_acknowledged_and_comes_back_on_request(
    text: str, media: list[str] | None
) -> None:
    messages = [
        COACH,
        {"role": "user", "content": "Two [picture 1.1, not shown] [picture 1.2, not shown]"},
        {"role": "assistant", "content": "Thanks!"},
        {"role": "user", "content": text},
    ]
    tools = [{"type": "function", "function": {"name": "send_message"}}]
    said = message_of(model().complete({"messages": messages, "tools": tools}))
    if media is None:
        assert said["content"] == f"{SEES_NOTHING} {SENDS_BACK}"
    else:
        [call] = said["tool_calls"]
        assert json.loads(call["function"]["arguments"])["media"] == media
    assert not PROMPTS


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("Send me a picture", NO_PICTURE),
        ("My plan [file 3.1: text/plain, 12 characters]", READS_NOTHING),
        ("[picture 3.1, not loaded: too large]", READS_NOTHING),
    ],
)
def test_request_about_a_file_gets_a_fixed_answer(text: str, answer: str) -> None:
    messages = [COACH, {"role": "user", "content": text}]
    assert message_of(model().complete({"messages": messages}))["content"] == answer


def test_picture_for_another_agent_is_not_seen_and_not_offered_back() -> None:
    picture = {"role": "user", "content": "Look [picture 3.1, not shown]"}
    messages = [identity("Mira", "You are Mira."), picture]
    assert message_of(model().complete({"messages": messages}))["content"] == SEES_NOTHING


def test_request_for_a_person_is_a_call_and_then_silence() -> None:
    messages = [{"role": "user", "content": "I want to talk to a human"}]
    tools = [{"type": "function", "function": {"name": "ask_a_person"}}]
    said = message_of(model().complete({"messages": messages, "tools": tools}))
    [call] = said["tool_calls"]
    assert call["function"]["name"] == "ask_a_person"
    results = [{**said}, {"role": "tool", "tool_call_id": call["id"], "content": "asked"}]
    after = message_of(model().complete({"messages": messages + results, "tools": tools}))
    assert after == {"role": "assistant", "content": NO_REPLY}
    without = message_of(model().complete({"messages": messages}))
    assert "tool_calls" not in without


def test_run_without_a_message_to_answer_is_silent() -> None:
    messages = [{"role": "assistant", "content": "Bye"}]
    assert message_of(model().complete({"messages": messages}))["content"] == NO_REPLY
    assert not PROMPTS


@pytest.mark.parametrize(
    ("schema", "answer"),
    [
        (AGENT_SCHEMA, {"lines": [""]}),
        (CHAT_SCHEMA, {"summary": ""}),
        (MEMORY_SCHEMA, {"journal": [], "core": [], "remove": []}),
    ],
)
def test_answer_by_schema_is_empty_without_a_model_call(schema: Any, answer: object) -> None:
    form = {"type": "json_schema", "json_schema": {"name": "answer", "schema": schema}}
    messages = [{"role": "user", "content": "Sum it up"}]
    said = message_of(model().complete({"messages": messages, "response_format": form}))
    assert json.loads(said["content"]) == answer
    assert not PROMPTS


# ---------------------------------------------------------------------- over HTTP


@contextmanager
def served(small: SmallModel) -> Iterator[str]:
    server = make_server(small.complete)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def status_of(url: str, body: bytes) -> int:
    try:
        with urllib.request.urlopen(url, body) as response:
            return int(response.status)
    except urllib.error.HTTPError as error:
        error.close()
        return error.code


def test_model_server_answers_the_openai_adapter() -> None:
    with served(model()) as url:
        client = OpenAIModel(api_key=lambda: "none", base_url=url)
        asked = ModelRequest(
            model=MODEL_NAME,
            messages=(ModelMessage(role="user", content="How do I start running?"),),
            max_output_tokens=9,
            timeout_seconds=9,
        )
        assert client.complete(asked).text == "Walk a little."
        heard: list[str] = []
        assert client.stream(asked, heard.append) == client.complete(asked)
        assert heard == ["Walk", "Walk a", "Walk a little."]
        assert client.models(seconds=9) == {MODEL_NAME}
        client.close()


@pytest.mark.parametrize("body", [b"", b"[]", b"{}", b'{"messages": 1}', b'{"messages": ["x"]}'])
def test_body_of_another_form_is_refused(body: bytes) -> None:
    with served(model()) as url:
        assert status_of(f"{url}/chat/completions", body) == 400
        assert status_of(f"{url}/elsewhere", body) == 404


def test_request_beyond_the_queue_is_refused_for_now() -> None:
    entered, go_on = threading.Semaphore(0), threading.Event()

    def slow(_: str) -> Continuation:
        entered.release()
        go_on.wait(10)
        return Continuation("Hi.", whole=True)

    most = SLOTS + MAX_WAITING
    body = json.dumps({"messages": [{"role": "user", "content": "How far is it?"}]}).encode()
    with served(SmallModel(MODEL_NAME, slow)) as url:
        asking = [
            threading.Thread(target=status_of, args=(f"{url}/chat/completions", body))
            for _ in range(most)
        ]
        for thread in asking:
            thread.start()
        for _ in range(most):
            assert entered.acquire(timeout=10)
        assert status_of(f"{url}/chat/completions", body) == 503
        go_on.set()
        for thread in asking:
            thread.join()
