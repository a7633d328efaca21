"""`skein agent export` and `skein agent import`: an agent as a YAML file, over the HTTP API.

`--url` or `SKEIN_URL` names the address of the API. By default, the command uses the stack that
runs on this machine. `SKEIN_TOKEN` is the token to use. If it is not set, the command gets a token
from the local stack.
"""

import argparse
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote
from uuid import uuid4

import httpx2

from local.folders import default_url
from local.tokens import NoStackError, local_token

YAML = {"content-type": "application/yaml"}
PAGE = 100
TIMEOUT_SECONDS = 30.0
OK, FAILED = 0, 1


class CommandError(Exception):
    """The command failed; the message says why."""


def add_agent_command(commands: Any) -> None:
    """Add `agent export` and `agent import` to the subcommands of a parser.

    Each subcommand sets `command` to a function that takes the parsed arguments and returns the
    exit status.
    """
    agent = commands.add_parser("agent", help="export an agent as a file, or import one")
    verbs = agent.add_subparsers(required=True, metavar="command")
    export = verbs.add_parser("export", help="write an agent as YAML")
    export.add_argument("agent", help="the name or the id of the agent")
    export.add_argument("-o", "--output", type=Path, help="the file; otherwise, it is printed")
    export.set_defaults(command=lambda given: _reported(_export, given))
    importing = verbs.add_parser("import", help="create or update an agent from YAML")
    importing.add_argument("file", type=Path)
    importing.add_argument("--into", metavar="AGENT", help="the agent to update, by name or id")
    importing.add_argument(
        "--overwrite", action="store_true", help="change tools and skills that differ"
    )
    importing.set_defaults(command=lambda given: _reported(_import, given))
    for verb in (export, importing):
        verb.add_argument("--url", help="by default, of the stack that runs on this machine")


def _reported(action: Callable[[argparse.Namespace], None], given: argparse.Namespace) -> int:
    try:
        action(given)
    except (CommandError, OSError, httpx2.HTTPError) as error:
        print(f"skein: {error}", file=sys.stderr)
        return FAILED
    return OK


def _export(given: argparse.Namespace) -> None:
    with _connected(given.url or default_url()) as http:
        text = _checked(http.get(f"{_path_of(http, given.agent)}/file")).text
    if given.output is None:
        sys.stdout.write(text)
    else:
        given.output.write_text(text, encoding="utf-8")
        print(f"Exported {given.agent} to {given.output}")


def _import(given: argparse.Namespace) -> None:
    content = given.file.read_bytes()
    query = {"overwrite": "true"} if given.overwrite else {}
    with _connected(given.url or default_url()) as http:
        if given.into is None:
            headers = {**YAML, "idempotency-key": uuid4().hex}
            answer = http.post("/v1/agents/file", content=content, headers=headers, params=query)
        else:
            path = f"{_path_of(http, given.into)}/file"
            answer = http.put(path, content=content, headers=YAML, params=query)
    agent = _checked(answer).json()
    print(f"{'Updated' if given.into else 'Created'} {agent['name']} ({agent['id']})")
    for each in agent["secrets"]:
        print(f"The tool {each['tool']} needs the secret {each['secret']} ({each['header']})")


def _connected(url: str) -> httpx2.Client:
    """Return a client with the token in `SKEIN_TOKEN`, or with a token of the local stack.

    Raises:
        CommandError: There is no token.
    """
    token = os.environ.get("SKEIN_TOKEN")
    try:
        token = token or local_token(url, sub="operator", scope="admin")
    except NoStackError as error:
        raise CommandError(f"{error}. For a deployment, set SKEIN_TOKEN") from None
    headers = {"authorization": f"Bearer {token}"}
    return httpx2.Client(base_url=url, headers=headers, timeout=TIMEOUT_SECONDS)


def _path_of(http: httpx2.Client, named: str) -> str:
    """Return the API path of the agent that has this name or id.

    Raises:
        CommandError: There is no such agent, or several have the name.
    """
    agents = list(_agents(http))
    found = [each["id"] for each in agents if named in {each["id"], each["name"]}]
    if len(found) > 1:
        raise CommandError(f"several agents are named {named}: give one of {', '.join(found)}")
    if not found:
        names = ", ".join(sorted({each["name"] for each in agents})) or "none"
        raise CommandError(f"there is no agent {named}; there are: {names}")
    return f"/v1/agents/{quote(found[0], safe='')}"


def _agents(http: httpx2.Client) -> Iterator[Mapping[str, str]]:
    query: dict[str, str] = {"limit": str(PAGE)}
    while True:
        page = _checked(http.get("/v1/agents", params=query)).json()
        yield from page["items"]
        if page["next_cursor"] is None:
            return
        query["cursor"] = page["next_cursor"]


def _checked(answer: httpx2.Response) -> httpx2.Response:
    """Return a successful response.

    Raises:
        CommandError: The API refused the call; the message names the invalid fields.
    """
    if answer.is_success:
        return answer
    try:
        problem = answer.json()
        reasons = problem["details"].get("reasons", ())
        named = [f"{'.'.join(each['where'][1:])}: {each['why']}" for each in reasons]
        raise CommandError("\n  ".join([problem["detail"], *named]))
    except (ValueError, LookupError, TypeError, AttributeError):
        raise CommandError(f"the API answered with status {answer.status_code}") from None
