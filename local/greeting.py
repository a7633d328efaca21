"""The greeting that the terminal shows when the stack is ready."""

import ipaddress
import math
from collections.abc import Sequence
from datetime import timedelta
from urllib.parse import urlsplit

from local.demo import LINE
from local.model.machine_models import ModelServer
from local.model.server import MODEL_NAME
from local.python_agent import PythonAgent
from local.stack import Stack
from local.web.chat_page import PATH as CHAT_PAGE

PHONE = "+15005550100"
QUESTION = "What is a good exercise for my back?"
CONSOLE, PHONE_PAGE = "/console/", "/console/#/phone"
IPV6 = 6


def greeting(stack: Stack, servers: Sequence[ModelServer] = ()) -> str:
    """Return the greeting of a stack that is ready. Its last line is a URL.

    Args:
        servers: The model servers on this machine. If the stack uses the small local model, the
            greeting suggests these servers.
    """
    return (
        _of_demo(stack, servers) if stack.agent is None else _of_file(stack, servers, stack.agent)
    )


def _of_file(stack: Stack, servers: Sequence[ModelServer], agent: PythonAgent) -> str:
    return f"""
{agent.name} is at {stack.url}; stop it with Ctrl-C.{port_lines(stack)}
  line   {LINE}
{_state(stack, servers, f"skein run {agent.path.name} --model ")}
In a second terminal, talk to {agent.name}, and see the reason for each answer and each silence:
  skein chat
  skein tail

{_by_sms(stack, "Hello")}

Or open the console in a browser: a phone to write to {agent.name}.
  {stack.url}{PHONE_PAGE}
"""


def _of_demo(stack: Stack, servers: Sequence[ModelServer]) -> str:
    first = "first steps in six clicks, and a phone" if stack.config.day else "a phone"
    page = CONSOLE if stack.config.day else PHONE_PAGE
    return f"""
Skein is at {stack.url}; stop it with Ctrl-C.{port_lines(stack)}
  line   {LINE}, answered by the agent Coach of the tenant demo
{_state(stack, servers, "make run MODEL=")}
{_by_sms(stack, QUESTION)}

Or open a web page of another origin with a web chat:
  {stack.url.replace("127.0.0.1", "localhost")}{CHAT_PAGE}

Or open the console in a browser: {first} to write to Coach.
  {stack.url}{page}
"""


def _state(stack: Stack, servers: Sequence[ModelServer], command: str) -> str:
    small = stack.model == MODEL_NAME
    quality = " (a small local model: set OPENAI_API_KEY for better answers)" if small else ""
    offers = "".join(f"\n         {each.offer(command)}" for each in servers if small)
    return f"""  model  {stack.model}{quality}{offers}
  data   {stack.config.data_dir}
  clock  {clock_line(stack.ahead, stack.url)}
{network_lines(stack.config.host, urlsplit(stack.url).port)}"""


def _by_sms(stack: Stack, text: str) -> str:
    return f"""Send an SMS, wait for the answer, list all SMS:
  curl -s {stack.url}/local/sms -d '{{"from": "{PHONE}", "to": "{LINE}", "body": "{text}"}}'
  curl -s -X POST {stack.url}/local/drain
  curl -s {stack.url}/local/sms"""


def port_lines(stack: Stack) -> str:
    """Return the greeting's lines about a port other than the configured one; empty if none."""
    port = urlsplit(stack.url).port
    if not stack.config.next_port or port == stack.config.port:
        return ""
    return f"""
  port   {port}, because {stack.config.port} is in use. For the commands of the docs:
         export SKEIN_URL={stack.url}"""


def clock_line(ahead: timedelta, url: str) -> str:
    """Say how far the clock is ahead of real time and, if it is ahead, how to reset it.

    Args:
        ahead: The offset of the clock from real time. It is shown in whole seconds.
    """
    if not ahead:
        return "real time"
    reset = f"""curl -s {url}/local/clock -d '{{"reset": true}}'"""
    seconds = timedelta(seconds=math.ceil(ahead.total_seconds()))
    return f"{seconds} ahead of real time; reset: {reset}"


def network_lines(host: str, port: int | None) -> str:
    """Return the greeting's lines about access from other machines; empty if there is none.

    Args:
        host: The IP address in `SKEIN_HOST`.
    """
    address = ipaddress.ip_address(host)
    if address.is_loopback:
        return ""
    name = f"[{address}]" if address.version == IPV6 else str(address)
    shown = "<address of this machine>" if address.is_unspecified else name
    return f"""  other machines reach the API at http://{shown}:{port}, with a token
  from POST /local/token, which only this machine can call (docs/local.md)
"""
