"""The environment of local functions: environment variables, settings and secrets."""

import json
import os
import secrets
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from local.errors import BadTemplateError
from local.intrinsics import REGION
from local.template import SERVICES_KEY, Template
from local.twilio.webhooks import PREFIX as TWILIO_PREFIX
from skein.errors import MissingSecret
from skein.ports import Secrets
from skein.settings import Settings

TWILIO_SECRET = "skein/twilio"  # noqa: S105 - the secret's name
OPENAI_SECRET = "skein/openai"  # noqa: S105
SERVICES_SECRET = "skein/services"  # noqa: S105
SECRETS = {  # the parameter or the logical id of each secret in the template
    TWILIO_SECRET: "TwilioSecretArn",
    OPENAI_SECRET: "OpenaiSecretArn",
    SERVICES_SECRET: SERVICES_KEY,
}
OTHERS = 0o077  # the rights of all but the owner of a file
AUDIENCE = "skein-local"
CONSOLE_CLIENT = "skein-console"
LOOPBACK = "127.0.0.1,localhost"
# No AWS client is used. A client that is used by mistake cannot connect to this address.
NOWHERE = "http://127.0.0.1:9"
OWN_NAMES = {"LiveApi": "local"}  # only URLs need this reference, and here they are local
# No platform application is used either; the stack's own push provider takes all devices.
PUSH_APPLICATIONS = {"ApnsApplicationArn": "local-apns", "FcmApplicationArn": "local-fcm"}
CHOOSABLE = {
    "SKEIN_DEFAULT_MODEL": "DefaultModel",
    "SKEIN_LIGHT_MODEL": "LightModel",
    "SKEIN_EMBEDDINGS_MODEL": "EmbeddingsModel",
    "SKEIN_MODEL_PROVIDERS": "ModelProviders",
    "SKEIN_TRACE_PERCENT": "TracePercent",
    "SKEIN_CONSOLE_ISSUER": "JwtIssuer",
    "SKEIN_CONSOLE_AUDIENCE": "JwtAudience",
    "SKEIN_CONSOLE_CLIENT_ID": "ConsoleClientId",
    "SKEIN_CONSOLE_ORIGINS": "ConsoleOrigins",
}
JWT_TENANT = "SKEIN_JWT_TENANT"
# These variables would point an SDK to other endpoints or credentials.
MISLEADING = ("AWS_PROFILE", "AWS_DEFAULT_PROFILE", "AWS_ENDPOINT_URL")

# Credentials for all AWS clients of this process, so that none can reach the real AWS by mistake.
CREDENTIALS = {
    "AWS_ACCESS_KEY_ID": "local",
    "AWS_SECRET_ACCESS_KEY": "local",
    "AWS_SESSION_TOKEN": "local",
    "AWS_REGION": REGION,
    "AWS_DEFAULT_REGION": REGION,
    "AWS_EC2_METADATA_DISABLED": "true",
    "AWS_CONFIG_FILE": os.devnull,
    "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
}


@dataclass(frozen=True)
class StackEnvironment:
    """Local URLs and names from which the functions' environment variables are made.

    Attributes:
        base_url: The URL of the stack.
        model_url: The URL of an OpenAI-compatible API; None for OpenAI's own API.
        names: The local names of the template's table and queues, for references to them.
        live_url: The URL of the live channel.
        chosen: Skein's settings that the user has chosen or that the local model needs, as
            environment variables.
    """

    base_url: str
    model_url: str | None
    names: Mapping[str, str]
    live_url: str
    chosen: Mapping[str, str]

    @property
    def issuer(self) -> str:
        """The `iss` of this stack's tokens."""
        return f"{self.base_url}/local"

    def variables(self, template: Template) -> dict[str, str]:
        """Return the merged environment variables of a template's functions.

        Raises:
            BadTemplateError: The template lacks a parameter, or a reference has no local value.
        """
        parameters = {
            "JwtIssuer": self.issuer,
            "JwtAudience": AUDIENCE,
            "ConsoleClientId": CONSOLE_CLIENT,
            "TwilioSecretArn": TWILIO_SECRET,
            "OpenaiSecretArn": OPENAI_SECRET,
            "OpenaiBaseUrl": self.model_url or "",
            "PublicBaseUrl": self.base_url,
            "Widget": "on",
            **PUSH_APPLICATIONS,
        }
        for name, parameter in CHOOSABLE.items():
            if name in self.chosen:
                parameters[parameter] = self.chosen[name]
        if JWT_TENANT in self.chosen:  # the last part of the parameter, which is empty by default
            claims = template.parameters()["JwtClaims"]
            parameters["JwtClaims"] = f"{claims}{self.chosen[JWT_TENANT]}"
        unknown = parameters.keys() - template.parameters().keys()
        if unknown:
            raise BadTemplateError(f"the template has no parameter {', '.join(sorted(unknown))}")
        variables: dict[str, str] = {}
        for function in template.functions:
            resolved = template.resolve(
                dict(function.environment), {**parameters, **OWN_NAMES, **self.names}
            )
            # A parameter of the type Number is a number here, and a text for a function on AWS.
            variables.update({name: str(value) for name, value in resolved.items()})
        return variables

    def skein(self, template: Template) -> dict[str, str]:
        """Return Skein's variables: the template's, with the chosen settings and local URLs."""
        return {
            **self.chosen,
            **self.variables(template),
            "SKEIN_AWS_ENDPOINT_URL": NOWHERE,
            "SKEIN_LIVE_URL": self.live_url,
            "SKEIN_LOCAL": "true",
            "SKEIN_TWILIO_API_URL": f"{self.base_url}{TWILIO_PREFIX}",
        }

    def settings(self, template: Template) -> Settings:
        """Create Skein's settings from `skein()`.

        Raises:
            BadSettings: A variable has an invalid value.
        """
        return Settings.from_environment(self.skein(template))


def new_twilio_account() -> dict[str, str]:
    """Create the credentials of the Twilio sandbox."""
    return {"account_sid": f"AC{secrets.token_hex(16)}", "auth_token": secrets.token_hex(16)}


def new_services_key() -> dict[str, str]:
    """Create the key that encrypts the secrets of webhook services."""
    return {"key": secrets.token_hex(32)}


@contextmanager
def lambda_environment(variables: Mapping[str, str]) -> Iterator[None]:
    """Within the block, this process has the environment variables of a function."""
    before = dict(os.environ)
    for name in MISLEADING:
        os.environ.pop(name, None)
    proxies = {
        name: ",".join(filter(None, (before.get(name), LOOPBACK)))
        for name in ("no_proxy", "NO_PROXY")
    }
    # The layer's folders under /opt do not exist here; the repository has their content.
    own = {name: value for name, value in variables.items() if not value.startswith("/opt/")}
    os.environ.update({**own, **CREDENTIALS, **proxies})
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


class LocalSecrets:
    """Secrets (see `skein.ports.Secrets`). The model's key is kept in memory and never on disk.

    Args:
        others: The source of all other secrets.
    """

    def __init__(self, others: Secrets, api_key: str) -> None:
        self._others = others
        self._api_key = api_key

    def get(self, name: str) -> Mapping[str, str]:
        return {"api_key": self._api_key} if name == OPENAI_SECRET else self._others.get(name)


@dataclass(frozen=True)
class KeptSecrets:
    """Secrets (see `skein.ports.Secrets`) from a mapping. The secrets of tools are in a file.

    Attributes:
        tools: A JSON file with the secrets of tools, by name. Only the file's owner may read it.
    """

    secrets: Mapping[str, Mapping[str, str]]
    tools: Path | None = None

    def get(self, name: str) -> Mapping[str, str]:
        found = self.secrets.get(name) or self._of_tool(name)
        if found is None:
            raise MissingSecret(f"the local stack has no secret {name}")
        return found

    def _of_tool(self, name: str) -> Mapping[str, str] | None:
        if self.tools is None or not self.tools.exists():
            return None
        if self.tools.stat().st_mode & OTHERS:
            raise MissingSecret(f"others may read {self.tools}: run chmod 600 on it")
        try:
            found = json.loads(self.tools.read_bytes())
        except ValueError:
            raise MissingSecret(f"{self.tools} is not JSON") from None
        fields: Mapping[str, str] | None = found.get(name) if isinstance(found, dict) else None
        return fields
