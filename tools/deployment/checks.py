"""Checks before a deployment: whatever would make it fail halfway, or make the stack fail later.

`python -m tools.deployment.checks [--stack NAME] [--env NAME] [--profile small] [Name=value ...]`
checks the region, the credentials, the parameters, the issuer of tokens, the secrets and the quota
of concurrent executions. It changes nothing and prints no secret. The module needs only the
standard library and the `aws` command.
"""

import json
import os
import re
import subprocess
import sys
import urllib.request
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tools.deployment.deploy import BadNameError, Target, arguments, with_profile

TEMPLATE = Path(__file__).resolve().parents[2] / "template.yaml"
FETCH_SECONDS = 10
# Clients, webhooks, the tick and the feed need executions beside those of the workers. The workers
# of a small stack are rarely busy all at once, so it needs fewer.
MIN_CONCURRENCY = 2  # that SQS accepts for the workers of one queue
RESERVE, LEAST_RESERVE = 10, 2
# The kinds of workers that a stack without the part does not have.
OPTIONAL_WORKERS = {
    "Pushes": ("Live", "off"),
    "Deliveries": ("TwilioSecretArn", ""),
    "Events": ("Services", "off"),
    "Media": ("Size", "small"),
}
_LARGE = {
    "Turns": 500,
    "Deliveries": 100,
    "Upkeep": 250,
    "Media": 100,
    "Events": 100,
    "Background": 150,
    "Pushes": 100,
}
# The executions of each kind of worker, by the value of the parameter Size.
WORKERS = {
    "small": dict.fromkeys(_LARGE, 2),
    "standard": {
        "Turns": 50,
        "Deliveries": 10,
        "Upkeep": 25,
        "Media": 25,
        "Events": 25,
        "Background": 30,
        "Pushes": 10,
    },
    "large": _LARGE,
    "provisioned": _LARGE,
}
WEBHOOKS = 3  # each has the executions of the parameter WebhookReserve
CONCURRENCY_QUOTA = "L-B99A9384"
NO_SECRET = "none"  # noqa: S105 - the functions use their role instead
SECRETS = {"TwilioSecretArn": ("account_sid", "auth_token"), "OpenaiSecretArn": ("api_key",)}

INDEXES = {"gsi1", "gsi2"}
TTL_ATTRIBUTE = "expires_at"
STREAM_VIEW = "NEW_AND_OLD_IMAGES"

Aws = Callable[[Sequence[str]], str]
Fetch = Callable[[str], Any]


class FailedCheckError(Exception):
    """A check failed; the message says why and what to do."""


def aws(command: Sequence[str]) -> str:
    """Run the `aws` command and return its output.

    Version 1 of the command ignores `AWS_REGION`, so the region is also passed as
    `AWS_DEFAULT_REGION`.

    Raises:
        FailedCheckError: The command failed or is not installed.
    """
    region = os.environ.get("AWS_REGION")
    try:
        done = subprocess.run(
            ["aws", *command, "--output", "json"],
            check=True,
            text=True,
            capture_output=True,
            env={**os.environ, **({"AWS_DEFAULT_REGION": region} if region else {})},
        )
    except FileNotFoundError:
        raise FailedCheckError("the `aws` command is not installed") from None
    except subprocess.CalledProcessError as error:
        reason = (error.stderr or "").strip().splitlines() or ["it failed"]
        raise FailedCheckError(f"`aws {command[0]} {command[1]}`: {reason[-1]}") from None
    return done.stdout


def fetch(url: str) -> Any:
    """Fetch a JSON document over HTTPS.

    Raises:
        FailedCheckError: The document cannot be fetched, or is not JSON.
    """
    if not url.startswith("https://"):
        raise FailedCheckError(f"{url} does not begin with https://")
    try:
        with urllib.request.urlopen(url, timeout=FETCH_SECONDS) as response:  # noqa: S310
            return json.load(response)
    except (OSError, ValueError) as error:
        raise FailedCheckError(f"{url} cannot be read: {error}") from None


def template_parameters(template: str) -> dict[str, str | None]:
    """Return the template's parameters with their defaults; None for a required parameter."""
    _, _, rest = template.partition("\nParameters:\n")
    section, _, _ = rest.partition("\nMappings:\n")
    found: dict[str, str | None] = {}
    for block in re.split(r"(?m)^  (?=\w+:$)", section)[1:]:
        name = block.split(":", 1)[0]
        default = re.search(
            r"(?m)^    (?:Default: *(?P<line>.*)|{.*\bDefault: *(?P<part>[^,}]*))", block
        )
        value = None if default is None else default["line"] or default["part"] or ""
        found[name] = None if value is None else value.strip("\"'")
    return found


@dataclass
class Checks:
    """The checks of one deployment.

    Args:
        given: The parameters that the user gives for this deployment.
        environment: The environment variables.
        aws: Runs the `aws` command.
        fetch: Fetches a JSON document.
    """

    stack: str
    given: Mapping[str, str]
    environment: Mapping[str, str]
    aws: Aws = aws
    fetch: Fetch = fetch
    declared: Mapping[str, str | None] = field(
        default_factory=lambda: template_parameters(TEMPLATE.read_text(encoding="utf-8"))
    )

    def run(self) -> Iterator[tuple[str, str, bool]]:
        """Run all checks. For each, yield its name, its finding, and whether it succeeded.

        Without a region and credentials, only the given parameters are checked.
        """
        for check in (self._region, self._credentials):
            name, finding, passed = _result(check)
            yield name, finding, passed
            if not passed:
                self.aws = _nothing_deployed
                yield from map(_result, (self._parameters, self._issuer))
                return
        checks = [self._parameters, self._issuer, self._secrets, self._concurrency]
        if self._values().get("ExistingTable", "").startswith("arn:"):
            checks.append(self._table)
        for check in checks:
            yield _result(check)

    def _region(self) -> str:
        """Region: there is one, and all settings name the same."""
        names = ("AWS_REGION", "AWS_DEFAULT_REGION")
        set_to = {name: self.environment[name] for name in names if self.environment.get(name)}
        if len(set(set_to.values())) > 1:
            both = " and ".join(f"{name}={value}" for name, value in set_to.items())
            raise FailedCheckError(f"{both} differ: unset one of them")
        if not set_to:
            raise FailedCheckError("no region is set: export AWS_REGION=eu-west-1")
        return next(iter(set_to.values()))

    def _credentials(self) -> str:
        """Credentials: AWS accepts them."""
        identity = json.loads(self.aws(["sts", "get-caller-identity"]))
        return f"account {identity['Account']}, {identity['Arn']}"

    def _values(self) -> dict[str, str]:
        """Return the values of the parameters in this deployment.

        A later deployment keeps the value of a parameter that is not given.
        """
        defaults = {name: value for name, value in self.declared.items() if value is not None}
        return defaults | self._deployed() | dict(self.given)

    def _deployed(self) -> dict[str, str]:
        try:
            found = json.loads(
                self.aws(["cloudformation", "describe-stacks", "--stack-name", self.stack])
            )
        except FailedCheckError as error:
            if "does not exist" in str(error):
                return {}
            raise
        parameters = found["Stacks"][0].get("Parameters", ())
        return {each["ParameterKey"]: each["ParameterValue"] for each in parameters}

    def _parameters(self) -> str:
        """Parameters: the template has all given ones, and no required one is missing."""
        unknown = sorted(self.given.keys() - self.declared.keys())
        if unknown:
            raise FailedCheckError(f"the template has no {', '.join(unknown)}")
        missing = sorted(self.declared.keys() - self._values().keys())
        if missing:
            raise FailedCheckError(f"a first deployment needs {', '.join(missing)}")
        return f"{len(self.given)} given for the stack {self.stack}"

    def _issuer(self) -> str:
        """Issuer: it publishes its own URL as the issuer, and RSA keys."""
        issuer = self._values().get("JwtIssuer", "")
        if not issuer:
            return "none: API keys only"
        url = f"{issuer.rstrip('/')}/.well-known/openid-configuration"
        document = self.fetch(url)
        name = document.get("issuer") if isinstance(document, dict) else None
        if name != issuer:
            raise FailedCheckError(f"{url} names the issuer {name!r}: JwtIssuer must be the same")
        keys = self.fetch(str(document.get("jwks_uri")))
        found = [key for key in keys.get("keys", ()) if key.get("kty") == "RSA"]
        if not found:
            raise FailedCheckError(f"{issuer} publishes no RSA key, which RS256 needs")
        return f"{issuer} publishes {len(found)} RSA keys"

    def _secrets(self) -> str:
        """Secrets: they exist in this region and have the required fields."""
        region, values = self._region(), self._values()
        for parameter, fields in SECRETS.items():
            arn = values.get(parameter, "")
            if arn in {"", NO_SECRET}:
                continue  # the template says which part the stack lacks then
            if arn.split(":")[3:4] != [region]:
                raise FailedCheckError(f"{parameter} is not in the region {region}")
            secret = json.loads(
                self.aws(["secretsmanager", "get-secret-value", "--secret-id", arn])
            )
            if secret.get("ARN", arn) != arn:
                raise FailedCheckError(f"{parameter} must be the whole ARN: {secret['ARN']}")
            try:
                stored = json.loads(secret.get("SecretString", ""))
            except ValueError:
                stored = None
            if not isinstance(stored, dict):
                raise FailedCheckError(f"the secret of {parameter} is not a JSON object")
            if missing := [name for name in fields if not stored.get(name)]:
                raise FailedCheckError(f"the secret of {parameter} has no {', '.join(missing)}")
        return " and ".join(SECRETS)

    def _table(self) -> str:
        """Table: an existing table has the template's keys, indexes and settings."""
        given = self._values()["ExistingTable"]
        name = given.split("/")[1]
        found = json.loads(self.aws(["dynamodb", "describe-table", "--table-name", name]))["Table"]
        keys = [key["AttributeName"] for key in found["KeySchema"]]
        if keys != ["pk", "sk"]:
            raise FailedCheckError(f"{name} has the keys {', '.join(keys)}, not pk, sk")
        indexes = {index["IndexName"] for index in found.get("GlobalSecondaryIndexes", ())}
        if missing := sorted(INDEXES - indexes):
            raise FailedCheckError(f"{name} has no index {', '.join(missing)}")
        stream, view = found.get("LatestStreamArn"), found.get("StreamSpecification", {})
        if view.get("StreamViewType") != STREAM_VIEW:
            raise FailedCheckError(f"{name} has no stream of the kind {STREAM_VIEW}: enable it")
        if given != stream:
            raise FailedCheckError(f"set ExistingTable={stream}")
        ttl = json.loads(self.aws(["dynamodb", "describe-time-to-live", "--table-name", name]))
        description = ttl["TimeToLiveDescription"]
        if description.get("AttributeName") != TTL_ATTRIBUTE:
            raise FailedCheckError(f"{name} does not expire items by {TTL_ATTRIBUTE}: set its TTL")
        backups = json.loads(
            self.aws(["dynamodb", "describe-continuous-backups", "--table-name", name])
        )["ContinuousBackupsDescription"]
        recovery = backups["PointInTimeRecoveryDescription"]["PointInTimeRecoveryStatus"]
        if recovery != "ENABLED":
            raise FailedCheckError(f"{name} has no point-in-time recovery: enable it")
        return f"{name} has keys, indexes, a stream, expiry and backups"

    def _concurrency(self) -> str:
        """Quota: the account allows as many concurrent executions as the workers may use."""
        values = self._values()
        wanted, workers = self._wanted(values)
        account = json.loads(self.aws(["lambda", "get-account-settings"]))["AccountLimit"]
        allowed = int(account["UnreservedConcurrentExecutions"])
        allowed += WEBHOOKS * int(self._deployed().get("WebhookReserve", 0))  # its own reservation
        least = MIN_CONCURRENCY * workers + LEAST_RESERVE
        reserve = LEAST_RESERVE if wanted + LEAST_RESERVE == least else RESERVE
        advice = (
            "Or choose a smaller Size and WebhookReserve (PROFILE=small does)"
            if allowed >= least
            else f"Size=small does not help: the least is {least}, or 10 with PROFILE=small"
        )
        if allowed < wanted + reserve:
            raise FailedCheckError(
                f"the account has {allowed} concurrent executions that no function has reserved, "
                f"and the workers and the reserve may take {wanted}, beside {reserve} for clients: "
                f"request more (quota {CONCURRENCY_QUOTA} of Lambda; AWS takes a day or longer). "
                f"{advice}"
            )
        return f"{allowed} concurrent executions, of which {wanted} may be taken"

    def _wanted(self, values: Mapping[str, str]) -> tuple[int, int]:
        """Return how many executions a stack may use at once.

        The second number is how many kinds of workers the stack has.
        """
        workers = [
            most
            for name, most in WORKERS[values["Size"]].items()
            if name not in OPTIONAL_WORKERS or not self._lacks(*OPTIONAL_WORKERS[name])
        ]
        return sum(workers) + WEBHOOKS * int(values.get("WebhookReserve", 0)), len(workers)

    def _lacks(self, parameter: str, value: str) -> bool:
        return self._values().get(parameter) == value


def _nothing_deployed(_command: Sequence[str]) -> str:
    raise FailedCheckError("the stack does not exist, as far as is known without credentials")


def _result(check: Callable[[], str]) -> tuple[str, str, bool]:
    name = (check.__doc__ or "").split(":")[0]
    try:
        return name, check(), True
    except FailedCheckError as error:
        return name, str(error), False


def main(argv: Sequence[str]) -> int:
    """Print all findings and return the exit status: 1 if a check failed."""
    parser = arguments()
    parser.add_argument("parameters", nargs="*")
    options = parser.parse_args(argv)
    try:
        target = Target.of(stack=options.stack, environment=options.env, confirm=False)
        parameters = with_profile(options.profile, options.parameters)
    except BadNameError as error:
        print(f"deploy: {error}", file=sys.stderr)
        return 1
    given = dict(each.partition("=")[::2] for each in parameters)
    failed = False
    for name, finding, passed in Checks(target.stack, given, os.environ).run():
        failed = failed or not passed
        print(f"{'ok    ' if passed else 'FAILED'} {name}: {finding}")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
