"""What the functions find around them: environment, settings, secrets."""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

from local.aws import CREDENTIALS, OPENAI_SECRET, TWILIO_SECRET
from local.errors import BadTemplateError
from local.template import Template
from local.twilio_sandbox import PREFIX as TWILIO_PREFIX
from skein.ports import Secrets
from skein.settings import Settings

AUDIENCE = "skein-local"
LOOPBACK = "127.0.0.1,localhost"
CHOOSABLE = {"SKEIN_DEFAULT_MODEL": "DefaultModel", "SKEIN_LIGHT_MODEL": "LightModel"}
# These would let an SDK look elsewhere for its endpoint or credentials.
MISLEADING = ("AWS_PROFILE", "AWS_DEFAULT_PROFILE", "AWS_ENDPOINT_URL")


@dataclass(frozen=True)
class Surroundings:
    """Where things are for the functions.

    Attributes:
        base_url: Where the stack is reached.
        aws_url: Where DynamoDB, SQS and Secrets Manager are.
        model_url: Of an OpenAI-compatible API; None for OpenAI's own.
        names: What references to the template's table and queues stand for.
        chosen: Skein's own settings as the user, or the model, has them.
    """

    base_url: str
    aws_url: str
    model_url: str | None
    names: Mapping[str, str]
    chosen: Mapping[str, str]

    @property
    def issuer(self) -> str:
        """The `iss` of this stack's tokens."""
        return f"{self.base_url}/local"

    def variables(self, template: Template) -> dict[str, str]:
        """The environment variables of all functions of a template.

        Raises:
            BadTemplateError: It lacks a parameter, or refers to something unknown.
        """
        parameters = {
            "JwtIssuer": self.issuer,
            "JwtAudience": AUDIENCE,
            "TwilioSecretArn": TWILIO_SECRET,
            "OpenaiSecretArn": OPENAI_SECRET,
            "OpenaiBaseUrl": self.model_url or "",
            "PublicBaseUrl": self.base_url,
        }
        for name, parameter in CHOOSABLE.items():
            if name in self.chosen:
                parameters[parameter] = self.chosen[name]
        unknown = parameters.keys() - template.parameters().keys()
        if unknown:
            raise BadTemplateError(f"the template has no parameter {', '.join(sorted(unknown))}")
        variables: dict[str, str] = {}
        for function in template.functions:
            resolved = template.resolve(dict(function.environment), {**parameters, **self.names})
            variables.update(resolved)
        return variables

    def skein(self, template: Template) -> dict[str, str]:
        """Skein's own variables: as deployed, but for what was chosen and where things are here."""
        return {
            **self.chosen,
            **self.variables(template),
            "SKEIN_AWS_ENDPOINT_URL": self.aws_url,
            "SKEIN_TWILIO_API_URL": f"{self.base_url}{TWILIO_PREFIX}",
        }

    def settings(self, template: Template) -> Settings:
        """Skein's settings, from those.

        Raises:
            BadSettings: A variable has an unfit value.
        """
        return Settings.from_environment(self.skein(template))


@contextmanager
def lambda_environment(variables: Mapping[str, str]) -> Iterator[None]:
    """Let this process have a function's environment for a while."""
    before = dict(os.environ)
    for name in MISLEADING:
        os.environ.pop(name, None)
    proxies = {
        name: ",".join(filter(None, (before.get(name), LOOPBACK)))
        for name in ("no_proxy", "NO_PROXY")
    }
    # The layer's folders are not here; what lies in them is found in the repository instead.
    own = {name: value for name, value in variables.items() if not value.startswith("/opt/")}
    os.environ.update({**own, **CREDENTIALS, **proxies})
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


class LocalSecrets:
    """Secrets (see `skein.ports.Secrets`) of which the model's key is never written to disk.

    Args:
        others: Where all other secrets are.
        api_key: For the model.
    """

    def __init__(self, others: Secrets, api_key: str) -> None:
        self._others = others
        self._api_key = api_key

    def get(self, name: str) -> Mapping[str, str]:
        """The fields of a secret."""
        return {"api_key": self._api_key} if name == OPENAI_SECRET else self._others.get(name)
