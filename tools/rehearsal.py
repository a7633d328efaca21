"""Rehearsal: `make rehearse` deploys to an AWS emulator, answers SMS and deletes the stack.

The emulator's CloudFormation creates the resources of the expanded template. The functions run the
packaged code with a layer that is built for this machine, so this Python must have the runtime's
version. Resources that the emulator does not support, and the gateway in front of the webhook, are
left out.
"""

import contextlib
import json
import os
import platform
import sys
import tempfile
import time
import uuid
import zipfile
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import boto3
from twilio.request_validator import RequestValidator

from local.demo import LINE, make_demo
from local.demo import TENANT as DEMO_TENANT
from local.environment import CREDENTIALS, LOOPBACK
from local.template import ROOT, Template
from skein import bootstrap
from skein.models.delivery.sms import CONNECTION_OVERRIDES
from skein.services.directory.assigned_numbers import AssignedNumbers
from skein.settings import Settings
from tests.support.scripted_openai import ScriptedOpenAI
from tests.support.scripted_twilio import ACCOUNT, ScriptedTwilio
from tools import emulator
from tools.deployment import layer, template_checks
from tools.deployment.deploy import PROFILES
from tools.deployment.expansion import expand
from tools.install import packages

STACK, BUCKET, PACKAGE = "skein", "bucket", "package"  # as the expansion names the package
URL = "https://skein.example"
FALLBACK = "rehearsal.lambda-url.us-east-1.on.aws"
TABLES = 3  # the table, the erasure register and the numbers; the emulator names each stack's alike
PERSON, QUESTION, ANSWER = "+14155550142", "How many push-ups?", "Twenty, on a good day."
SECONDS = 120.0
POLL_SECONDS = 0.2
UNKNOWN_TYPES = ("AWS::CloudWatch::", "AWS::CodeDeploy::", "AWS::CloudFormation::")


NOT_SHOWN = """An emulator cannot show:
  - IAM: the emulator lets every function call everything (tests: PermittedTable, permissions)
  - RecursiveLoop and Lambda's limit of 16 invocations in one lineage (tests/faults)
  - the gateway, vector indexes, alarms and canaries
  - quotas, throttling, concurrency, cold starts and costs of AWS
  - the processor of the functions (arm64) on another machine, and Amazon Linux
  - Twilio's and the model provider's real answers, carriers and registrations"""


class RehearsalError(packages.InstallError):
    """A step failed; the message says why."""


class Rehearsal:
    """One deployment in an emulator.

    Args:
        layer_folder: The folder of the built layer, which replaces `/opt`. Beside this folder are
            the functions that have packages of their own, in folders named by logical id.
    """

    def __init__(self, url: str, layer_folder: Path) -> None:
        self._url, self._layer = url, layer_folder
        self._session = boto3.Session(
            aws_access_key_id="rehearsal",
            aws_secret_access_key="rehearsal",  # noqa: S106 - the emulator takes any
            region_name=CREDENTIALS["AWS_REGION"],
        )
        self._resources: dict[str, str] = {}
        self._stack_id = ""
        buckets = self.client("s3")
        buckets.create_bucket(Bucket=BUCKET)
        buckets.put_object(Bucket=BUCKET, Key=PACKAGE, Body=_zipped(layer.FUNCTIONS))
        for name in layer.OWN_PACKAGES:
            buckets.put_object(Bucket=BUCKET, Key=name, Body=_zipped(layer_folder.parent / name))

    def client(self, service: Any) -> Any:
        """Return a client of the emulator."""
        return self._session.client(service, endpoint_url=self._url)

    def deploy(self, addresses: Mapping[str, str], given: Mapping[str, str]) -> None:
        """Create the stack.

        Args:
            addresses: Environment variables of the functions that replace those of the template.
            given: Parameters of the stack, in addition to those that every stack needs.

        Raises:
            RehearsalError: The stack was not created.
        """
        template = Template.load()
        parameters = {
            "PublicBaseUrl": URL,
            "JwtIssuer": "https://issuer.example",
            "JwtAudience": "skein",
            "Canaries": "false",
            **given,
        }
        buckets = self.client("s3")
        document = {
            **template.document,
            "Resources": self._known(expand(template, **parameters), addresses),
        }
        for part in ("Transform", "Globals", "Outputs"):
            document.pop(part, None)
        text = json.dumps(_resolved(document, template.parameters(parameters)))
        buckets.put_object(Bucket=BUCKET, Key="template", Body=text.encode())
        stacks = self.client("cloudformation")
        created = stacks.create_stack(
            StackName=STACK,
            TemplateURL=f"{self._url}/{BUCKET}/template",
            Parameters=[
                {"ParameterKey": name, "ParameterValue": value}
                for name, value in parameters.items()
            ],
            Capabilities=["CAPABILITY_IAM", "CAPABILITY_NAMED_IAM"],
        )
        self._stack_id = created["StackId"]
        self._wait(stacks, "CREATE")
        found = stacks.get_paginator("list_stack_resources").paginate(StackName=STACK)
        self._resources = {
            each["LogicalResourceId"]: each["PhysicalResourceId"]
            for page in found
            for each in page["StackResourceSummaries"]
        }

    def _known(
        self, resources: Mapping[str, Any], addresses: Mapping[str, str]
    ) -> dict[str, Mapping[str, Any]]:
        """Return the resources that the emulator supports.

        Functions get the layer's folder and the environment variables in `addresses`.
        """
        text = json.dumps(resources).replace('"/opt/', f'"{self._layer}/')
        known: dict[str, Any] = {
            name: each
            for name, each in json.loads(text).items()
            if not each["Type"].startswith(UNKNOWN_TYPES)
        }
        for name, each in known.items():
            if each["Type"] == "AWS::Lambda::Function":
                if name in layer.OWN_PACKAGES:
                    each["Properties"]["Code"]["S3Key"] = name
                each["Properties"].pop("Layers", None)
                each["Properties"]["Environment"]["Variables"] |= addresses
        return known

    def _wait(self, stacks: Any, action: str) -> None:
        """Wait until CloudFormation has finished an action.

        Raises:
            RehearsalError: The action failed.
        """

        def ended() -> bool:
            [stack] = stacks.describe_stacks(StackName=self._stack_id)["Stacks"]
            if stack["StackStatus"].endswith("IN_PROGRESS"):
                return False
            if stack["StackStatus"] != f"{action}_COMPLETE":
                reasons = [
                    f"{event['LogicalResourceId']}: {event['ResourceStatusReason']}"
                    for event in stacks.describe_stack_events(StackName=STACK)["StackEvents"]
                    if event["ResourceStatus"].endswith("FAILED")
                ]
                raise RehearsalError(f"{stack['StackStatus']}: {'; '.join(reasons)}")
            return True

        wait_until(ended, f"the end of {action}")

    def secrets(self) -> dict[str, str]:
        """Create the secrets; return their ARNs by the names of the stack's parameters."""
        secrets = self.client("secretsmanager")
        fields = {"TwilioSecretArn": ACCOUNT, "OpenaiSecretArn": {"api_key": "sk-rehearsal"}}
        return {
            name: secrets.create_secret(Name=name, SecretString=json.dumps(each))["ARN"]
            for name, each in fields.items()
        }

    def functions(self) -> set[str]:
        """Return the logical ids of the functions that the stack has."""
        return {f.logical_id for f in Template.load().functions} & self._resources.keys()

    def text(self, twilio: ScriptedTwilio) -> None:
        """Send an SMS to the webhook, and wait until its answer has been sent to Twilio.

        Raises:
            RehearsalError: The SMS was refused, or no answer came.
        """
        table = self._resources["Table"]
        settings = Settings(
            table_name=table,
            assigned_numbers_name=self._resources["AssignedNumbers"],
            aws_endpoint_url=self._url,
            twilio_secret="TwilioSecretArn",  # noqa: S106 - the name of the secret
            twilio_api_url=twilio.url,
        )
        app = bootstrap.build_app(settings)
        app.get(AssignedNumbers).assign(DEMO_TENANT, LINE)
        make_demo(app)
        # The second one comes past the gateway, and signed with the connection overrides.
        for number, event in enumerate((sms_event(), sms_event(FALLBACK)), start=1):
            answer = self._invoke("SmsWebhook", event)
            if answer.get("statusCode") != 200:  # noqa: PLR2004
                raise RehearsalError(f"the webhook answered {answer}")
            wait_until(partial(_answered, twilio, number), f"answer {number}")
        forged = sms_event(FALLBACK) | {"body": "Body=forged"}
        if self._invoke("SmsWebhook", forged).get("statusCode") != 403:  # noqa: PLR2004
            raise RehearsalError("a forged SMS was not refused")

    def _invoke(self, function: str, event: Mapping[str, Any]) -> dict[str, Any]:
        done = self.client("lambda").invoke(
            FunctionName=self._resources[function], Payload=json.dumps(event)
        )
        answer: dict[str, Any] = json.loads(done["Payload"].read())
        return answer

    def delete(self) -> None:
        """Delete the stack. The tables must stay.

        Raises:
            RehearsalError: A function still exists, or a table is gone.
        """
        stacks = self.client("cloudformation")
        stacks.delete_stack(StackName=STACK)
        self._wait(stacks, "DELETE")
        left = self.client("lambda").list_functions()["Functions"]
        if left:
            raise RehearsalError(f"{len(left)} functions are left")
        tables = self.client("dynamodb").list_tables()["TableNames"]
        if len(tables) != TABLES:
            raise RehearsalError(f"the deletion left these tables: {tables}")


def _answered(twilio: ScriptedTwilio, times: int) -> bool:
    return [sms["body"] for sms in twilio.taken].count(ANSWER) >= times


def sms_event(domain: str = "") -> dict[str, Any]:
    """Return the event of a signed SMS to the demo's line.

    Args:
        domain: The domain of the function's own URL; empty if the SMS comes through the gateway.
    """
    event: dict[str, Any] = json.loads((ROOT / "events" / "sms_webhook.json").read_text("utf-8"))
    form = {
        "MessageSid": f"SM{uuid.uuid4().hex}",
        "AccountSid": ACCOUNT["account_sid"],
        "From": PERSON,
        "To": LINE,
        "Body": QUESTION,
        "NumMedia": "0",
    }
    url = f"https://{domain}{event['rawPath']}{CONNECTION_OVERRIDES}" if domain else None
    if domain:
        event["routeKey"] = "$default"
        event["requestContext"]["domainName"] = domain
    validator = RequestValidator(ACCOUNT["auth_token"])
    signed = validator.compute_signature(url or URL + event["rawPath"], form)
    event["headers"]["x-twilio-signature"] = signed
    return event | {"body": urlencode(form), "isBase64Encoded": False}


def wait_until(ready: Callable[[], bool], what: str) -> None:
    """Wait until `ready()` is true.

    Raises:
        RehearsalError: `ready()` is still false after two minutes.
    """
    end = time.monotonic() + SECONDS
    while not ready():
        if time.monotonic() > end:
            raise RehearsalError(f"{what} did not come within {SECONDS:.0f} s")
        time.sleep(POLL_SECONDS)


def _resolved(value: Any, parameters: Mapping[str, Any]) -> Any:
    """Replace the references to parameters by their values.

    The emulator would treat the values of all parameters as texts.
    """
    if isinstance(value, list):
        return [_resolved(each, parameters) for each in value]
    if not isinstance(value, dict):
        return value
    if value.keys() == {"Ref"} and value["Ref"] in parameters:
        return parameters[value["Ref"]]
    found = {name: _resolved(each, parameters) for name, each in value.items()}
    variables = found.get("Variables")
    if isinstance(variables, dict):  # of a function, which are texts
        texts = {k: str(v) if isinstance(v, int) else v for k, v in variables.items()}
        return found | {"Variables": texts}
    return found


def _zipped(folder: Path) -> bytes:
    archive = BytesIO()
    with zipfile.ZipFile(archive, "w") as file:
        for path in sorted(each for each in folder.rglob("*") if each.is_file()):
            if path.suffix != ".pyc":
                file.write(path, path.relative_to(folder))
    return archive.getvalue()


@contextlib.contextmanager
def step(name: str) -> Iterator[None]:
    """Print the name of a step and how long it took."""
    begun = time.monotonic()
    yield
    print(f"ok  {name} ({time.monotonic() - begun:.0f} s)", flush=True)


def rehearse() -> None:
    """Run all steps.

    Raises:
        RehearsalError: A step failed.
    """
    os.environ |= {**CREDENTIALS, "no_proxy": LOOPBACK}
    with contextlib.ExitStack() as parts:
        built = Path(parts.enter_context(tempfile.TemporaryDirectory(prefix="skein-rehearsal-")))
        folder = built / "layer"
        print(f"ok  template: {template_checks.check(ROOT / 'template.yaml')}", flush=True)
        with step("layer"):
            machine = platform.machine()
            platforms = [each.replace("aarch64", machine) for each in layer.PLATFORMS]
            layer.build(folder, platforms)
            for name in layer.OWN_PACKAGES:
                layer.build_function(name, built / name, platforms)
        # The functions import what the layer has; this process's packages come after that.
        os.environ["PYTHONPATH"] = str(folder / "python")
        twilio = parts.enter_context(ScriptedTwilio())
        model = parts.enter_context(ScriptedOpenAI(default=ANSWER))
        url = parts.enter_context(emulator.running())
        rehearsal = Rehearsal(url, folder)
        with step("deploy"):
            addresses = {
                "SKEIN_AWS_ENDPOINT_URL": url,
                "SKEIN_OPENAI_BASE_URL": model.base_url,
                "SKEIN_TWILIO_API_URL": twilio.url,
            }
            secrets = rehearsal.secrets()
            rehearsal.deploy(addresses, secrets)
        with step("two SMS and their answers, one past the gateway; a forged one is refused"):
            rehearsal.text(twilio)
        with step("delete"):
            rehearsal.delete()
        with step("deploy and delete the profile small without SMS"):
            small = {**PROFILES["small"], "OpenaiSecretArn": secrets["OpenaiSecretArn"]}
            rehearsal.deploy(addresses, small)
            if left := rehearsal.functions() & {"SmsWebhook", "SmsDelivery", "PushWorker"}:
                raise RehearsalError(f"the stack has functions of parts that are off: {left}")
            rehearsal.delete()
    print(NOT_SHOWN)


def main() -> int:
    """Run the rehearsal; return the exit status."""
    needed = layer.runtime_version(layer.TEMPLATE.read_text(encoding="utf-8"))
    if f"{sys.version_info.major}.{sys.version_info.minor}" != needed:
        print(
            f"rehearse: the functions need Python {needed}: make rehearse VENV=.cache/venv313"
            ' PYTHON="$(python3 -m tools.install.runtime_python)"',
            file=sys.stderr,
        )
        return 1
    return packages.report_errors(rehearse)


if __name__ == "__main__":
    sys.exit(main())
