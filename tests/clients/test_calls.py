"""Calls of the Python client: errors, and answers that are not of the API."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer

import httpx2
import pytest

from skein_client import ApiError, Client, Unreachable
from skein_client.errors import error_of
from tests.support.scripted_api import ScriptedApi


def test_call_with_error_of_the_api_has_its_code_and_pause(api: ScriptedApi) -> None:
    api.refusals = [(429, {"retry-after": "7"})]
    with pytest.raises(ApiError) as failure:
        Client(api.url, "token", retries=0).ticket()
    assert (failure.value.status, failure.value.code) == (429, "scripted")
    assert failure.value.retry_after == 7.0
    assert failure.value.is_temporary


def test_error_of_a_call_has_the_fields_of_its_problem_and_the_id_of_its_request() -> None:
    problem = {
        "type": "about:blank",
        "title": "Unprocessable Content",
        "status": 422,
        "detail": "a value is wrong",
        "code": "unprocessable",
        "request_id": "req_1",
        "details": {"reasons": ["name: too long"]},
    }
    error = error_of(httpx2.Response(422, json=problem))
    assert {name: getattr(error, name) for name in problem if name != "detail"} == {
        name: value for name, value in problem.items() if name != "detail"
    }
    assert str(error) == "422 unprocessable: a value is wrong (request req_1)"
    gateway = httpx2.Response(404, json={"message": "Not Found"}, headers={"apigw-requestid": "2"})
    error = error_of(gateway)
    assert (error.request_id, error.details, error.title) == ("2", {}, "Not Found")


def test_call_with_error_of_the_gateway_has_its_message_and_the_code_of_its_status(
    api: ScriptedApi,
) -> None:
    api.signed_in = False
    with pytest.raises(ApiError, match="Unauthorized") as failure:
        Client(api.url, "token").ticket()
    assert failure.value.code == "unauthenticated"
    assert failure.value.needs_sign_in


def test_call_that_is_redirected_sends_the_token_to_no_other_server(api: ScriptedApi) -> None:
    with other_server() as (url, tokens):
        api.refusals = [(307, {"location": f"{url}/v1/live"})]
        with pytest.raises(Unreachable, match="redirected"):
            list(Client(api.url, "token").chats.list())
    assert tokens == []


def test_call_answered_with_a_web_page_is_unreachable() -> None:
    with other_server() as (url, tokens), pytest.raises(Unreachable, match="not JSON"):
        list(Client(url, "token").chats.list())
    assert tokens == ["Bearer token"]


def test_answer_to_a_choice_is_posted_as_a_message_once(api: ScriptedApi) -> None:
    client = Client(api.url, "token")
    [question] = client.choices.list()
    seq = question["seq"]
    assert seq is not None
    answers = [
        client.choices.answer("chat_1", {"seq": seq, "option": "yes"}, client_id="1")
        for _ in range(2)
    ]
    assert api.sent[-1] == {"choice": {"seq": 1, "option": "yes"}, "client_id": "1"}
    assert api.texts == ["yes"]
    assert answers[0] == answers[1]


def test_answer_to_an_invitation_is_sent_for_its_chat(api: ScriptedApi) -> None:
    Client(api.url, "token").choices.answer_invitation("chat/1", accept=False)
    assert (api.calls[-1], api.sent[-1]) == (
        "POST /v1/chats/chat%2F1/invitation",
        {"accept": False},
    )


@contextmanager
def other_server() -> Iterator[tuple[str, list[str | None]]]:
    """Run a server that answers with a web page, and collect the tokens that it gets."""
    tokens: list[str | None] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            tokens.append(self.headers["authorization"])
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b"<title>Sign in</title>")

        def log_message(self, *_: object) -> None:
            """Print nothing."""

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.05,))
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}", tokens
        server.shutdown()
        thread.join()
