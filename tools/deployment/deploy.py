"""Deploys the output of `sam build` as one stack, and passes the API's own URL as a parameter.

`python -m tools.deployment.deploy [--stack NAME] [--env NAME] [--tag name=value ...] [--profile
small] [--warm READS,WRITES] [--yes] <sam> [Name=value ...]` deploys a stack. Each environment is a
stack of its own. The API's URL is known only after the first deployment, so a deployment that
leaves `PublicBaseUrl` unset is followed by a second one that sets it. Each deployment passes an
identifier of its build and parameters, the release, so that a change of either publishes new
versions of the functions. The module needs only the standard library and the `aws` command.
"""

import argparse
import hashlib
import json
import re
import subprocess
import sys
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / ".aws-sam" / "build"
PROTECTION = "TableDeletionProtection"
EXISTING = "ExistingTable="
SUBSCRIPTIONS = ("aws", "sns", "list-subscriptions-by-topic", "--output", "json")
PENDING = "PendingConfirmation"  # in place of the ARN of a subscription
UNSET = "unset"  # the value of the template's output PublicBaseUrl if there is none
# Parameters under one name; parameters that are given win. `small` runs in a new account, whose
# quota may be 10 concurrent executions, and costs less than $2 a month while idle.
PROFILES = {
    "small": {
        "Size": "small",
        "Live": "off",
        "Services": "off",
        "Alarms": "off",
        "Canaries": "false",
    }
}
# Of the stack: no update may replace or delete a table.
STACK_POLICY: dict[str, list[dict[str, Any]]] = {
    "Statement": [
        {"Effect": "Allow", "Principal": "*", "Action": "Update:*", "Resource": "*"},
        {
            "Effect": "Deny",
            "Principal": "*",
            "Action": ["Update:Replace", "Update:Delete"],
            "Resource": "*",
            "Condition": {"StringEquals": {"ResourceType": ["AWS::DynamoDB::Table"]}},
        },
    ]
}
ANY_UPDATE = {"Statement": STACK_POLICY["Statement"][:1]}
WARM = re.compile(r"([1-9][0-9]{0,7}),([1-9][0-9]{0,7})")
STACK_NAME = re.compile(r"[A-Za-z][A-Za-z0-9-]{0,99}")

Run = Callable[[Sequence[str]], str]


class BadNameError(ValueError):
    """CloudFormation does not accept a stack's name, or a parameter is given without its name."""


@dataclass(frozen=True)
class WarmThroughput:
    """The reads and writes a second that a table or an index serves at once without throttling."""

    reads: int
    writes: int

    @classmethod
    def parse(cls, text: str) -> "WarmThroughput":
        """Read `READS,WRITES`.

        Raises:
            argparse.ArgumentTypeError: The text has another form.
        """
        found = WARM.fullmatch(text)
        if found is None:
            raise argparse.ArgumentTypeError(f"{text!r} is not READS,WRITES, such as 20000,12000")
        return cls(*map(int, found.groups()))

    @classmethod
    def of(cls, described: Mapping[str, Any]) -> "WarmThroughput":
        """Return the warm throughput of a table or an index from the result of `DescribeTable`."""
        units = described.get("WarmThroughput", {})
        return cls(units.get("ReadUnitsPerSecond", 0), units.get("WriteUnitsPerSecond", 0))

    def __or__(self, other: "WarmThroughput") -> "WarmThroughput":
        """Return the higher number of reads and the higher number of writes of the two."""
        return WarmThroughput(max(self.reads, other.reads), max(self.writes, other.writes))

    @property
    def units(self) -> dict[str, int]:
        """The throughput in the form that `UpdateTable` expects."""
        return {"ReadUnitsPerSecond": self.reads, "WriteUnitsPerSecond": self.writes}


@dataclass(frozen=True)
class Target:
    """The stack to deploy.

    Attributes:
        tags: The tags of the stack, which AWS copies to its resources.
        confirm: Whether to ask the user before the change set is executed.
    """

    stack: str
    tags: tuple[str, ...] = ()
    confirm: bool = False

    @classmethod
    def of(
        cls, *, stack: str = "", environment: str = "", tags: Sequence[str] = (), confirm: bool
    ) -> "Target":
        """Return the target of an environment. By default, its stack is `skein-<environment>`.

        Raises:
            BadNameError: CloudFormation does not accept the name.
        """
        name = stack or (f"{stack_name()}-{environment}" if environment else stack_name())
        if not STACK_NAME.fullmatch(name):
            raise BadNameError(f"{name!r} is no name of a stack: use letters, digits and hyphens")
        own = ("application=skein", *([f"environment={environment}"] if environment else []))
        return cls(stack=name, tags=(*own, *tags), confirm=confirm)


def run(command: Sequence[str]) -> str:
    """Run a SAM or `aws` command in the user's terminal.

    Returns:
        The output of a command that lists or describes something. Any other command prints its
        output, and an empty string is returned.

    Raises:
        subprocess.CalledProcessError: The command failed and has printed the reason.
    """
    listing = any(part.startswith(("list", "describe")) for part in command)
    stdout = subprocess.PIPE if listing else None
    done = subprocess.run(command, check=True, text=True, stdout=stdout)
    return done.stdout or ""


def stack_name() -> str:
    """Read the default name of the stack from the SAM CLI's configuration."""
    config = tomllib.loads((ROOT / "samconfig.toml").read_text(encoding="utf-8"))
    return str(config["default"]["deploy"]["parameters"]["stack_name"])


def outputs(sam: str, target: Target, run: Run) -> dict[str, str]:
    """Return the deployed stack's outputs by name."""
    listed = run([sam, "list", "stack-outputs", "--stack-name", target.stack, "--output", "json"])
    return {output["OutputKey"]: output["OutputValue"] for output in json.loads(listed)}


def release(build: Path, parameters: Sequence[str]) -> str:
    """Return the identifier of a build with its parameters: 40 hexadecimal digits."""
    digest = hashlib.sha256()
    for path in sorted(path for path in build.rglob("*") if path.is_file()):
        content = hashlib.sha256(path.read_bytes()).hexdigest()
        digest.update(f"{path.relative_to(build).as_posix()} {content}\n".encode())
    digest.update("\0".join(sorted(parameters)).encode())
    return digest.hexdigest()[:40]


def deploy(
    sam: str, target: Target, parameters: Sequence[str], run: Run = run, build: Path = BUILD
) -> dict[str, str]:
    """Deploy with the given parameters and return the outputs; other parameters keep their values.

    SAM prints the change set before it is executed. A new stack is deployed twice. The second pass
    sets `PublicBaseUrl` to the API's URL, unless it is given. It also protects the tables and the
    stack from deletion; in the first pass, this would keep CloudFormation from rolling back after a
    failure. The stack policy forbids taking the stack's own table out of the stack, which a restore
    must do. In this case, the policy is lifted for the deployment and then set again, even after a
    failure.
    """
    lifted = any(each.startswith(EXISTING) for each in parameters) and leaves_table(
        parameters, _outputs_if_deployed(sam, target, run)
    )
    if lifted:
        set_stack_policy(target.stack, ANY_UPDATE, run)
    try:
        run([sam, "deploy", *options(target), *overrides(build, parameters)])
    finally:
        if lifted:
            set_stack_policy(target.stack, STACK_POLICY, run)
    found = outputs(sam, target, run)
    second = []
    if found["PublicBaseUrl"] == UNSET:
        second.append(f"PublicBaseUrl={found['ApiUrl']}")
    if found[PROTECTION] == "off" and f"{PROTECTION}=off" not in parameters:
        second.append(f"{PROTECTION}=on")
    if second:
        again = Target(target.stack, target.tags)
        parameters = [*parameters, *second]
        run([sam, "deploy", *options(again), *overrides(build, parameters)])
        found = outputs(sam, target, run)
    if found[PROTECTION] == "on":
        protect(target.stack, run)
    return found


def warm_up(table: str, warm: WarmThroughput, run: Run) -> bool:
    """Raise the warm throughput of a table and its indexes; return whether it was too low.

    DynamoDB refuses to lower the throughput. The template doesn't set it, so CloudFormation doesn't
    try to lower it when it rolls a deployment back.

    Raises:
        subprocess.CalledProcessError: AWS refused; the deployment itself has succeeded.
    """
    named = ["--table-name", table]
    described = run(["aws", "dynamodb", "describe-table", *named, "--output", "json"])
    found = json.loads(described)["Table"]
    parts = {each["IndexName"]: each for each in found.get("GlobalSecondaryIndexes", ())}
    raised = {
        name: after.units
        for name, part in {"": found, **parts}.items()
        if (after := WarmThroughput.of(part) | warm) != WarmThroughput.of(part)
    }
    if not raised:
        return False
    own = raised.pop("", None)
    indexes = [{"Update": {"IndexName": n, "WarmThroughput": u}} for n, u in raised.items()]
    options = ["--warm-throughput", json.dumps(own)] if own else []
    if indexes:
        options += ["--global-secondary-index-updates", json.dumps(indexes)]
    run(["aws", "dynamodb", "update-table", *named, *options])
    return True


def leaves_table(parameters: Sequence[str], found: Mapping[str, str]) -> bool:
    """Return whether a deployment takes the table out of the stack, which the stack policy forbids.

    Args:
        parameters: The given parameters.
        found: The outputs of the stack before the deployment; empty for a new stack.
    """
    uses_another = any(each.startswith(f"{EXISTING}arn:") for each in parameters)
    return uses_another and found.get(PROTECTION) == "on" and found.get("OwnTable") != "off"


def _outputs_if_deployed(sam: str, target: Target, run: Run) -> dict[str, str]:
    try:
        return outputs(sam, target, run)
    except subprocess.CalledProcessError:
        return {}  # SAM has printed that there is no such stack


def unconfirmed(found: Mapping[str, str], run: Run) -> list[str]:
    """Return the addresses that get no alarms because their subscription is not confirmed yet."""
    topics = [found[name] for name in ("PageTopicArn", "TicketTopicArn") if name in found]
    listed = [
        each
        for topic in topics
        for each in json.loads(run([*SUBSCRIPTIONS, "--topic-arn", topic]))["Subscriptions"]
    ]
    return sorted({each["Endpoint"] for each in listed if each["SubscriptionArn"] == PENDING})


def protect(stack: str, run: Run) -> None:
    """Protect a stack from deletion, and its tables from replacement and deletion (idempotent).

    Raises:
        subprocess.CalledProcessError: AWS refused; the deployment itself has succeeded.
    """
    cloudformation, named = ["aws", "cloudformation"], ["--stack-name", stack]
    on = "--enable-termination-protection"
    run([*cloudformation, "update-termination-protection", *named, on])
    set_stack_policy(stack, STACK_POLICY, run)


def set_stack_policy(stack: str, policy: Mapping[str, Any], run: Run) -> None:
    """Set the policy that says what updates of a stack may do (idempotent).

    Raises:
        subprocess.CalledProcessError: AWS refused.
    """
    named = ["--stack-name", stack, "--stack-policy-body", json.dumps(policy)]
    run(["aws", "cloudformation", "set-stack-policy", *named])


def options(target: Target) -> list[str]:
    """Return the options of `sam deploy` for a stack."""
    name = target.stack
    confirm = "--confirm-changeset" if target.confirm else "--no-confirm-changeset"
    return ["--stack-name", name, "--s3-prefix", name, confirm, "--tags", *target.tags]


def overrides(build: Path, parameters: Sequence[str]) -> list[str]:
    """Return the options with which `sam deploy` gets the parameters and the release."""
    named = f"Release={release(build, parameters)}"
    return ["--parameter-overrides", *map(quoted, [*parameters, named])]


def quoted(parameter: str) -> str:
    """Return `Name=value` in quotes: without them, SAM's parser cuts or refuses some values."""
    name, _, value = parameter.partition("=")
    escaped = value.replace('"', '\\"')
    return f'{name}="{escaped}"'


def with_profile(profile: str | None, parameters: Sequence[str]) -> list[str]:
    """Return the given parameters, plus the parameters of a profile that are not given.

    Raises:
        BadNameError: A parameter has no `=`; usually, the shell has split a value at a space.
    """
    for each in parameters:
        if "=" not in each:
            raise BadNameError(f"{each!r} is not Name=value: quote a value that has spaces")
    given = {each.partition("=")[0] for each in parameters}
    values = PROFILES[profile] if profile else {}
    return [
        *parameters,
        *(f"{name}={value}" for name, value in values.items() if name not in given),
    ]


def arguments() -> argparse.ArgumentParser:
    """Return an argument parser with the options that name a stack."""
    parser = argparse.ArgumentParser(add_help=False)
    parser.add_argument("--stack", default="")
    parser.add_argument("--env", default="")
    parser.add_argument("--tag", action="append", default=[])
    parser.add_argument("--profile", choices=sorted(PROFILES))
    parser.add_argument("--yes", action="store_true")
    return parser


def main(argv: Sequence[str], run: Run = run, build: Path = BUILD) -> int:
    """Deploy as the command line says, print the outputs, and return the exit status."""
    parser = arguments()
    parser.add_argument("--warm", type=WarmThroughput.parse, metavar="READS,WRITES")
    parser.add_argument("sam")
    parser.add_argument("parameters", nargs="*")
    given = parser.parse_args(argv)
    confirm = not given.yes and sys.stdin.isatty()
    try:
        target = Target.of(
            stack=given.stack, environment=given.env, tags=given.tag, confirm=confirm
        )
        parameters = with_profile(given.profile, given.parameters)
        found = deploy(given.sam, target, parameters, run, build)
        for name, value in found.items():
            print(f"{name:<28}{value}")
        if given.warm is not None:
            warmed = warm_up(found["TableName"], given.warm, run)
            print(f"the table was {'warmed up' if warmed else 'as warm before'}")
        for address in unconfirmed(found, run):
            print(f"{address} gets no alarms until somebody follows the link in AWS's mail")
    except BadNameError as error:
        print(f"deploy: {error}", file=sys.stderr)
        return 1
    except subprocess.CalledProcessError as error:
        return int(error.returncode)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
