"""`skein chat` and `skein tail`: use a running stack from the terminal."""

import sys
import time
from collections.abc import Callable, Mapping
from typing import Any

import httpx2

from local.demo import LINE
from local.tokens import NoStackError, local_token
from skein_client.client import Client
from skein_client.errors import ApiError, NoAnswer, Unreachable

PERSON = "you"
WHY = "skein tail shows the runs of this machine"
RUNS = 100  # that one look reads
PAUSE_SECONDS = 1.0
FAILED = 1


def chat(url: str, name: str | None, read: Callable[[], str] | None = None) -> int:
    """Talk to an agent until the input ends; return the exit status."""
    return _reported(lambda: _chat(url, name, read or _prompted))


def tail(url: str, name: str | None, *, follow: bool = True) -> int:
    """Print each run of an agent as it ends, until Ctrl-C; return the exit status."""
    return _reported(lambda: _tail(url, name, follow=follow))


def _reported(action: Callable[[], None]) -> int:
    try:
        action()
    except (NoStackError, ApiError, Unreachable, httpx2.HTTPError) as error:
        print(f"skein: {error}", file=sys.stderr)
        return FAILED
    except EOFError:
        print()
    return 0


def connected(url: str) -> Client:
    """Return a client with a token of the local stack.

    Raises:
        NoStackError: No stack answers at the URL.
    """
    try:
        return Client(url, local_token(url, sub=PERSON, scope="chat admin", name="You"))
    except NoStackError as error:
        raise NoStackError(
            f"{error}: start one with `skein run my_agent.py`, or name it with --url"
        ) from error


def agent_of(client: Client, name: str | None) -> Mapping[str, Any]:
    """Return the agent with this name; without a name, the agent of the demo's line.

    Raises:
        NoStackError: There is no such agent.
    """
    agents = list(client.items("/v1/agents"))
    lines = client.items("/v1/lines") if name is None else []
    answering = {each["agent_id"] for each in lines if each["phone"] == LINE}
    for agent in agents:
        if agent["name"] == name or agent["id"] in answering:
            return dict(agent)
    known = ", ".join(each["name"] for each in agents)
    raise NoStackError(f"no agent is named {name or 'by the line'}: choose one of {known}")


def _prompted() -> str:
    return input("You: ")


def _chat(url: str, name: str | None, read: Callable[[], str]) -> None:
    with connected(url) as client:
        agent = agent_of(client, name)
        opened = client.chats.open(agent["id"])
        print(f"You talk to {agent['name']}. End with Ctrl-D.")
        while True:
            text = read().strip()
            if not text:
                continue
            try:
                answer = client.chats.ask(opened["id"], text)
            except NoAnswer:
                print(f"({agent['name']} has not answered; `skein tail` says why)")
            else:
                print(f"{answer['sender']['name']}: {answer['text']}")


def _tail(url: str, name: str | None, *, follow: bool) -> None:
    with connected(url) as client:
        agent = agent_of(client, name)
        shown: dict[str, str] = {}
        while True:
            query = {"reason": WHY, "limit": RUNS}
            page = client.call("GET", f"/v1/agents/{agent['id']}/runs", None, query)
            for run in reversed(page["items"]):
                line = run_line(run)
                if line and shown.get(run["id"]) != line:
                    shown[run["id"]] = line
                    print(line, flush=True)
            if not follow:
                return
            time.sleep(PAUSE_SECONDS)


def run_line(run: Mapping[str, Any]) -> str:
    """Describe a run in one line: its time, what was asked, and the answer or the reason.

    The line is empty while the run has not ended and has no reason why it waits.
    """
    if not run["ended_at"] and not run["meaning"]:
        return ""
    words = run["preview"] or {}
    asked = _on_one_line(words.get("asked") or "(no message)")
    tools = f"({', '.join(run['tools'])}) " if run["tools"] else ""
    answered = words.get("answered")
    missing = "no answer" if run["ended_at"] else "no answer yet"
    outcome = _on_one_line(answered) if answered else f"{missing}: {run['meaning']}"
    at = (run["ended_at"] or run["created_at"])[11:19]
    return f"{at}  {run['status']:<9}  {asked}  ->  {tools}{outcome}"


def _on_one_line(text: str) -> str:
    return " ".join(text.split())
