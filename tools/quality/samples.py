"""Answers of the local model to ten text messages, as a table for `docs/local-model.md`.

`python -m tools.quality.samples` starts a local stack in a temporary folder and texts the agent
Coach from ten phones, one after another. The model's seed is fixed.
"""

import json
import os
import sys
import tempfile
import time
import urllib.request
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

from local.config import Config
from local.demo import LINE
from local.stack import Stack

QUESTIONS = (
    "What is a good exercise for my back?",
    "hi",
    "I want to start running. How do I begin?",
    "My knee hurts after squats. What should I do?",
    "What did my wife say to you yesterday?",
    "When is my next training?",
    "How many push-ups should I do?",
    "Can you book a gym for me tomorrow at 6?",
    "I ate a whole pizza and feel bad",
    "Thanks, that helped!",
)
PHONE = "+1500555{:04}"
FIRST_PHONE = 1_000
POLL_SECONDS = 0.2
PATIENCE_SECONDS = 180.0


def text(url: str, phone: str, body: str) -> dict[str, Any]:
    """Text the agent Coach and return the first SMS that reaches the phone.

    Raises:
        TimeoutError: No SMS arrives within `PATIENCE_SECONDS`.
    """
    _call(f"{url}/local/sms", {"from": phone, "to": LINE, "body": body})
    give_up = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < give_up:
        for sms in _call(f"{url}/local/sms")["items"]:
            if sms["to"] == phone:
                return dict(sms)
        time.sleep(POLL_SECONDS)
    raise TimeoutError(f"no answer to {body!r}")


def main() -> None:
    """Print the table."""
    console = sys.stdout
    with (
        tempfile.TemporaryDirectory() as folder,
        (Path(folder) / "log").open("w") as log,
        redirect_stdout(log),
        Stack(Config(port=0, data_dir=Path(folder) / "data")) as stack,
    ):
        print("| message | answer | SMS segments |\n|---|---|---|", file=console)
        for number, question in enumerate(QUESTIONS, FIRST_PHONE):
            sms = text(stack.url, PHONE.format(number), question)
            answer = " ".join(sms["body"].split())
            print(f"| {question} | {answer} | {sms['segments']} |", file=console, flush=True)


def _call(url: str, body: dict[str, str] | None = None) -> Any:
    data = None if body is None else json.dumps(body).encode()
    with urllib.request.urlopen(url, data) as response:  # noqa: S310 - the stack on this machine
        return json.load(response)


if __name__ == "__main__":
    os.environ.pop("OPENAI_API_KEY", None)
    main()
