"""Command `skein`: serve an agent from one file, and use it from a terminal.

skein run my_agent.py  serves the agent of a file
skein chat             talks to it
skein tail             shows its runs as they end, with their reasons
skein agent            exports an agent as a file, or imports one
skein doctor           says what is missing, and how to fix it
"""

import argparse
import os
import signal
from collections.abc import Sequence
from pathlib import Path

from local.agent_command import add_agent_command
from local.folders import cache_folder, default_url
from local.steps import Steps

INTERRUPTED = 130  # the exit status after Ctrl-C


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; return the exit status."""
    given = _parser().parse_args(arguments)
    os.environ.setdefault("TIKTOKEN_CACHE_DIR", str(cache_folder() / "tiktoken"))
    os.environ.setdefault("SKEIN_EMBEDDINGS_DIR", str(cache_folder() / "embeddings"))
    try:
        return int(given.command(given))
    except KeyboardInterrupt:
        return INTERRUPTED


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="skein", description="Agents in one file.")
    commands = parser.add_subparsers(required=True, metavar="command")
    _add_run(commands.add_parser("run", help="serve the agent of a Python file"))
    for name, command, about in (
        ("chat", _chat, "talk to the agent"),
        ("tail", _tail, "show runs as they end, with their reasons"),
    ):
        each = commands.add_parser(name, help=about)
        each.add_argument("--url", help="by default, of the stack that runs on this machine")
        each.add_argument("--agent", help="the agent's name; by default, the agent of the line")
        each.set_defaults(command=command)
    add_agent_command(commands)
    doctor = commands.add_parser("doctor", help="say what is missing, and how to fix it")
    doctor.set_defaults(command=_doctor)
    return parser


def _add_run(run: argparse.ArgumentParser) -> None:
    run.add_argument("file", type=Path, nargs="?", help="by default, the demo's agent Coach")
    run.add_argument("--reload", action="store_true", help="serve the file again when it changes")
    run.add_argument("--port", type=int, help="8787 by default, or the next free one")
    run.add_argument("--model", help="the name of a model of a server on this machine")
    run.add_argument("--day", action="store_true", help="with the recorded day of a clinic")
    run.set_defaults(command=_run)


def _run(given: argparse.Namespace) -> int:
    # Exit without a traceback on Ctrl-C during the slow imports below.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    with Steps("skein") as steps:
        steps.begin("loading the code; the first start also compiles it")
        from skein.bootstrap import lasting

        with lasting():
            from local.serving import run
    return run(
        given.file.resolve() if given.file else None,
        port=given.port,
        model=given.model,
        day=given.day,
        reload=given.reload,
    )


def _chat(given: argparse.Namespace) -> int:
    from local.terminal import chat

    return chat(_url(given), given.agent)


def _tail(given: argparse.Namespace) -> int:
    from local.terminal import tail

    return tail(_url(given), given.agent)


def _url(given: argparse.Namespace) -> str:
    return str(given.url or default_url())


def _doctor(_: argparse.Namespace) -> int:
    from local.doctor import doctor

    return doctor(os.environ)
