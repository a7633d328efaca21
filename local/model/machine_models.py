"""Finds model servers on this machine: Ollama, LM Studio and llama.cpp, on their usual ports."""

import http.client
import json
from collections.abc import Sequence
from dataclasses import dataclass, replace

from local.config import LOOPBACK, Config
from local.errors import LocalError

SECONDS = 0.5  # a server on loopback answers at once, and a closed port refuses at once
MAX_BODY = 1_000_000
OK = 200
PORTS = (("Ollama", 11434), ("LM Studio", 1234), ("llama.cpp", 8080))
MAX_SHOWN = 3


class NoSuchModelError(LocalError):
    """No model server of this machine has the model."""


@dataclass(frozen=True)
class ModelServer:
    """A model server of this machine with an OpenAI-compatible API.

    Attributes:
        name: The name of the program that usually has this port.
        models: The names of the server's models; at least one.
    """

    name: str
    port: int
    models: tuple[str, ...]

    @property
    def base_url(self) -> str:
        return f"http://{LOOPBACK}:{self.port}/v1"

    def offer(self, command: str) -> str:
        """Return one line that says how to use the server.

        Args:
            command: The beginning of the command that starts a stack, to which the model is added.
        """
        first, *others = self.models[:MAX_SHOWN]
        also = f" (also {', '.join(others)})" if others else ""
        return f"{self.name} answers on this machine: `{command}{first}` uses it{also}"


def model_servers(ports: Sequence[tuple[str, int]] = PORTS) -> list[ModelServer]:
    """Return the model servers on this machine that answer now.

    Args:
        ports: The names of programs, each with the port to look at.
    """
    found = ((name, port, _models(port)) for name, port in ports)
    return [ModelServer(name, port, models) for name, port, models in found if models]


def with_model(config: Config, model: str, servers: Sequence[ModelServer]) -> Config:
    """Return a configuration that uses a model of a server on this machine.

    If the user has configured an API by its key or URL, this API is used for the model instead.

    Raises:
        NoSuchModelError: No server of this machine has the model.
    """
    chosen = {"SKEIN_DEFAULT_MODEL": model, "SKEIN_LIGHT_MODEL": model}
    settings = {**config.settings, **chosen}
    if not config.uses_local_model:
        return replace(config, settings=settings)
    # Ollama lists "llama3.2:latest", and takes the name without its tag, too.
    for server in servers:
        if model in server.models or f"{model}:latest" in server.models:
            return replace(config, openai_base_url=server.base_url, settings=settings)
    names = [name for server in servers for name in server.models]
    known = f"the models here are {', '.join(names)}" if names else "no model server answers here"
    raise NoSuchModelError(f"no server of this machine has the model {model}: {known}")


def _models(port: int) -> tuple[str, ...]:
    """Return the models of the API on a port; empty if the port is closed or has no such API."""
    connection = http.client.HTTPConnection(LOOPBACK, port, timeout=SECONDS)
    try:
        connection.request("GET", "/v1/models")
        answer = connection.getresponse()
        body = json.loads(answer.read(MAX_BODY)) if answer.status == OK else {}
        return tuple(each["id"] for each in body["data"] if isinstance(each["id"], str))
    except (OSError, http.client.HTTPException, ValueError, LookupError, TypeError):
        return ()
    finally:
        connection.close()
