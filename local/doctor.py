"""`skein doctor`: what the stack needs to start, what is missing, and how to fix it."""

import os
import sys
from collections.abc import Iterator, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

import httpx2

from local.config import Config
from local.errors import LocalError
from local.folders import running_url
from local.model import server
from tools.install import data_files, packages, port

PYTHON = (3, 11)
NEEDED = ("openai", "pydantic", "tiktoken", "tokenizers", "twilio", "websockets", "werkzeug")
OPENAI = "https://api.openai.com/v1"
SECONDS = 5.0
REFUSED = (401, 403)
FAILED = 1


class Finding(NamedTuple):
    """A requirement for starting the stack, and whether it is met.

    Attributes:
        what: The name of the requirement.
        is_well: Whether the requirement is met.
        told: What was found, or how to meet the requirement.
    """

    what: str
    is_well: bool
    told: str


def doctor(environment: Mapping[str, str]) -> int:
    """Print all findings. Return 0 if the stack could start, otherwise `FAILED`."""
    findings = list(examine(environment))
    for what, is_well, told in findings:
        print(f"{'ok   ' if is_well else 'fix  '} {what:<9} {told}")
    return 0 if all(each.is_well for each in findings) else FAILED


def examine(environment: Mapping[str, str]) -> Iterator[Finding]:
    """Check everything that the stack needs to start."""
    yield _python()
    yield _packages()
    try:
        config = Config.from_environment(environment)
    except LocalError as error:
        yield Finding("settings", is_well=False, told=str(error))
        return
    yield _port(config)
    yield _data(config.data_dir)
    yield _files()
    yield _small_model() if config.uses_local_model else _model(config)


def _python() -> Finding:
    found = ".".join(map(str, sys.version_info[:3]))
    if sys.version_info >= PYTHON:
        return Finding("Python", is_well=True, told=found)
    return Finding("Python", is_well=False, told=f"{found}: install Python 3.11 or newer")


def _packages() -> Finding:
    missing = [name for name in NEEDED if find_spec(name) is None]
    if missing:
        told = f"{', '.join(missing)} missing: run `pip install .` again"
        return Finding("packages", is_well=False, told=told)
    return Finding("packages", is_well=True, told="installed")


def _port(config: Config) -> Finding:
    if port.is_used(config.data_dir):
        told = f"a stack is running at {running_url(config.data_dir)}; a second needs other data"
        return Finding("port", is_well=True, told=told)
    if not port.is_taken(config.port):
        return Finding("port", is_well=True, told=f"{config.port} is free")
    if config.next_port:
        told = f"{config.port} is in use; a start takes the next free one"
        return Finding("port", is_well=True, told=told)
    told = f"{config.port} is in use: choose another, with SKEIN_PORT or --port"
    return Finding("port", is_well=False, told=told)


def _data(folder: Path) -> Finding:
    there = next(each for each in (folder, *folder.parents) if each.exists())
    if there.is_dir() and os.access(there, os.W_OK):
        return Finding("data", is_well=True, told=str(folder))
    told = f"{there} cannot be written: set SKEIN_DATA_DIR to another folder"
    return Finding("data", is_well=False, told=told)


def _files() -> Finding:
    if all(file.path.exists() for file in data_files.FILES):
        return Finding("files", is_well=True, told=str(data_files.CACHE))
    return _to_download("files", "token ranks and embeddings")


def _small_model() -> Finding:
    if server.MODEL_FILE.exists():
        told = "the small model; for good answers set OPENAI_API_KEY, or use --model"
        return Finding("model", is_well=True, told=told)
    return _to_download("model", "the small model (253 MB)")


def _to_download(what: str, name: str) -> Finding:
    try:
        packages.pip()
    except packages.InstallError as error:
        return Finding(what, is_well=False, told=str(error))
    return Finding(what, is_well=True, told=f"{name}: downloaded at the first start")


def _model(config: Config) -> Finding:
    url = config.openai_base_url or OPENAI
    headers = {"Authorization": f"Bearer {config.openai_api_key or 'none'}"}
    try:
        response = httpx2.get(f"{url}/models", headers=headers, timeout=SECONDS)
    except httpx2.HTTPError as error:
        told = f"{url} can't be reached ({type(error).__name__}): check OPENAI_BASE_URL"
        return Finding("model", is_well=False, told=told)
    if response.status_code in REFUSED:
        told = f"{url} rejects the key: check OPENAI_API_KEY"
        return Finding("model", is_well=False, told=told)
    return Finding("model", is_well=True, told=f"{url} answers")
