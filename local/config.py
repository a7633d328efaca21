"""Configuration of a local stack."""

import ipaddress
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from local.errors import LocalError
from local.folders import data_folder
from local.template import TEMPLATE

LOOPBACK = "127.0.0.1"
DEFAULT_PORT = 8787
LARGEST_PORT = 65_535
PREFIX = "SKEIN_"
API_KEY = "_API_KEY"
ORIGIN = re.compile(r"https?://[^,/ *]+")


class BadConfigError(LocalError):
    """An environment variable has an invalid value, or the data folder cannot be used."""


@dataclass(frozen=True)
class Config:
    """Configuration of a local stack.

    Attributes:
        port: TCP port; 0 for any free port.
        next_port: Whether the stack takes the next free port if `port` is in use.
        live_port: TCP port of the live channel; 0 for any free port.
        host: The IP address to listen on, in addition to 127.0.0.1; `0.0.0.0` or `::` for all.
        data_dir: The folder with all data that stays between starts.
        openai_api_key: Key of the OpenAI API. Without this key and without `openai_base_url`, the
            stack uses the local model.
        openai_base_url: URL of an OpenAI-compatible API; None for OpenAI's own API.
        provider_keys: Keys of further model providers, by provider name. The environment variable
            `AZURE_API_KEY`, for example, has the key of `azure`.
        cors_origins: The origins whose pages may call the API. If empty, pages of every origin may.
        settings: Skein's own settings, as environment variables.
        template: The path of the CloudFormation template.
        day: Whether the stack serves the recorded day (`local.day`).
    """

    port: int = DEFAULT_PORT
    live_port: int = 0
    host: str = LOOPBACK
    data_dir: Path = field(default_factory=data_folder)
    openai_api_key: str | None = None
    openai_base_url: str | None = None
    provider_keys: Mapping[str, str] = field(default_factory=dict)
    cors_origins: tuple[str, ...] = ()
    settings: Mapping[str, str] = field(default_factory=dict)
    template: Path = TEMPLATE
    day: bool = False
    next_port: bool = False

    @property
    def uses_local_model(self) -> bool:
        """Whether the stack uses the local model."""
        return self.openai_api_key is None and self.openai_base_url is None

    @classmethod
    def from_environment(cls, environment: Mapping[str, str], *, day: bool = False) -> "Config":
        """Read the configuration from the environment variables that docs/settings.md describes.

        Raises:
            BadConfigError: `SKEIN_PORT` or `SKEIN_LIVE_PORT` is not a port, `SKEIN_HOST` is not an
                IP address, `SKEIN_CORS_ORIGINS` has a part that is no origin, or
                `OPENAI_BASE_URL` is not a URL.
        """
        base_url = environment.get("OPENAI_BASE_URL") or None
        if base_url and not re.match(r"https?://[^/]", base_url):
            raise BadConfigError(
                f"OPENAI_BASE_URL is {base_url!r}, which is not a URL such as http://127.0.0.1:11434/v1"
            )
        return cls(
            port=_port(environment, "SKEIN_PORT", DEFAULT_PORT),
            live_port=_port(environment, "SKEIN_LIVE_PORT", 0),
            host=_host(environment.get("SKEIN_HOST") or LOOPBACK),
            data_dir=data_folder(environment),
            openai_api_key=environment.get("OPENAI_API_KEY") or None,
            openai_base_url=base_url,
            provider_keys={
                name.removesuffix(API_KEY).lower(): value
                for name, value in environment.items()
                if name.endswith(API_KEY) and value
            },
            cors_origins=_origins(environment.get("SKEIN_CORS_ORIGINS") or ""),
            settings={
                name: value for name, value in environment.items() if name.startswith(PREFIX)
            },
            day=day,
            next_port=not environment.get("SKEIN_PORT"),
        )


def _port(environment: Mapping[str, str], name: str, default: int) -> int:
    """Return the TCP port that an environment variable names.

    Raises:
        BadConfigError: The value is not a port.
    """
    value = environment.get(name) or str(default)
    if not value.isdecimal() or int(value) > LARGEST_PORT:
        raise BadConfigError(f"{name} is {value!r}, which is not a port")
    return int(value)


def _host(value: str) -> str:
    """Return an IP address in its canonical form.

    Raises:
        BadConfigError: The value is neither an IP address that a machine can have nor `localhost`.
    """
    try:
        address = ipaddress.ip_address(LOOPBACK if value == "localhost" else value)
    except ValueError:
        address = None
    if address is None or address.is_multicast or "%" in value:
        raise BadConfigError(f"SKEIN_HOST is {value!r}, which is not an IP address such as 0.0.0.0")
    return str(address)


def _origins(value: str) -> tuple[str, ...]:
    """Parse a list of origins that are separated by commas.

    Raises:
        BadConfigError: A part of the list is not an origin.
    """
    origins = tuple(part.strip() for part in value.split(",") if part.strip())
    for origin in origins:
        if not ORIGIN.fullmatch(origin):
            raise BadConfigError(
                f"SKEIN_CORS_ORIGINS has {origin!r}, which is not an origin such as "
                "http://127.0.0.1:3000"
            )
    return origins
