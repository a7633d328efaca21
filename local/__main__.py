"""Command `python -m local`, which serves the local stack until Ctrl-C.

With `--day`, as in `make run`, the stack has the recorded day (`local.day`). `--model NAME` uses a
model of a server on this machine.
"""

import signal

from local.steps import Steps

if __name__ == "__main__":
    # Exit without a traceback on Ctrl-C during the slow imports below.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    steps = Steps("skein")
    steps.begin("loading the code; the first start also compiles it")

import argparse
import ipaddress
import math
import os
import sys
from collections.abc import Sequence
from contextlib import redirect_stdout
from datetime import timedelta
from urllib.parse import urlsplit

from local.config import Config
from local.demo import LINE
from local.end_signal import EndSignal
from local.errors import LocalError
from local.log_file import log_in, set_up_logs
from local.model.machine_models import ModelServer, model_servers, with_model
from local.model.server import MODEL_NAME
from local.stack import Stack
from skein.errors import SkeinError

PHONE = "+15005550100"
QUESTION = "What is a good exercise for my back?"
CONSOLE, PHONE_PAGE = "/console/", "/console/#/phone"
FAILED = 1
IPV6 = 6


def main(steps: Steps) -> int:
    """Serve the stack until SIGINT, SIGTERM or SIGHUP; return the exit status.

    Args:
        steps: Names the steps of the start.
    """
    console = sys.stdout
    numbers = [signal.SIGINT, signal.SIGTERM]
    if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:  # set by `nohup`
        numbers.append(signal.SIGHUP)
    end = EndSignal(numbers)
    try:
        config, servers = _config(_arguments())
        with log_in(config.data_dir) as log:
            set_up_logs(console, log)
            # As on Lambda, the functions' standard output is their log.
            with redirect_stdout(log), Stack(config, step=steps.begin) as stack:
                steps.end()
                console.write(greeting(stack, servers))
                console.flush()
                stack.check_model()
                end.wait()
                console.write("\nstopping\n")
                console.flush()
    except (LocalError, SkeinError, OSError) as error:
        steps.end()
        print(f"skein: {error}", file=sys.stderr)
        return FAILED
    return 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m local", description="Serve the local stack.")
    parser.add_argument("--day", action="store_true", help="with the recorded day")
    parser.add_argument("--model", help="the name of a model of a server on this machine")
    return parser.parse_args()


def _config(given: argparse.Namespace) -> tuple[Config, Sequence[ModelServer]]:
    """Return the configuration, and the model servers of this machine that it could use."""
    config = Config.from_environment(os.environ, day=given.day)
    servers = model_servers() if config.uses_local_model else []
    return (with_model(config, given.model, servers) if given.model else config), servers


def greeting(stack: Stack, servers: Sequence[ModelServer] = ()) -> str:
    """Return what `make run` prints when the stack serves; the last line is an address.

    Args:
        servers: The model servers of this machine, which the small model's user is offered.
    """
    first = "first steps in six clicks, and a phone" if stack.config.day else "a phone"
    page = CONSOLE if stack.config.day else PHONE_PAGE
    small = stack.model == MODEL_NAME
    offers = "".join(f"\n         {server.offer()}" for server in servers)
    quality = " (a small local model: set OPENAI_API_KEY for better answers)"
    return f"""
Skein is at {stack.url}; stop it with Ctrl-C.{port_lines(stack)}
  line   {LINE}, answered by the agent Coach of the tenant demo
  model  {stack.model}{quality if small else ""}{offers if small else ""}
  data   {stack.config.data_dir}
  clock  {clock_line(stack.ahead, stack.url)}
{network_lines(stack.config.host, urlsplit(stack.url).port)}
Send an SMS, wait for the answer, list all SMS:
  curl -s {stack.url}/local/sms -d '{{"from": "{PHONE}", "to": "{LINE}", "body": "{QUESTION}"}}'
  curl -s -X POST {stack.url}/local/drain
  curl -s {stack.url}/local/sms

Or open the console in a browser: {first} to write to Coach.
  {stack.url}{page}
"""


def port_lines(stack: Stack) -> str:
    """Return the greeting's lines about another port than the usual one; nothing without one."""
    port = urlsplit(stack.url).port
    if not stack.config.next_port or port == stack.config.port:
        return ""
    return f"""
  port   {port}, because {stack.config.port} is in use. For the commands of the docs:
         export SKEIN_URL={stack.url}"""


def clock_line(ahead: timedelta, url: str) -> str:
    """Return the clock's offset in words, and how to reset it if it was turned.

    Args:
        ahead: The offset of the clock from real time; shown in whole seconds.
    """
    if not ahead:
        return "real time"
    reset = f"""curl -s {url}/local/clock -d '{{"reset": true}}'"""
    seconds = timedelta(seconds=math.ceil(ahead.total_seconds()))
    return f"{seconds} ahead of real time; reset: {reset}"


def network_lines(host: str, port: int | None) -> str:
    """Return the greeting's lines about other machines; nothing if none can connect.

    Args:
        host: The IP address of `SKEIN_HOST`.
    """
    address = ipaddress.ip_address(host)
    if address.is_loopback:
        return ""
    name = f"[{address}]" if address.version == IPV6 else str(address)
    shown = "<address of this machine>" if address.is_unspecified else name
    return f"""  other machines reach the API at http://{shown}:{port}, with a token
  from POST /local/token, which only this machine can call (docs/local.md)
"""


if __name__ == "__main__":
    sys.exit(main(steps))
