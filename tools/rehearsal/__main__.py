"""`python -m tools.rehearsal`: deploy into an emulator, pass a text through it, and delete it.

It follows docs/deploy.md: the page's own commands deploy and delete the stack. The emulator runs
the template, the queues, the table and the gateways. Lambda's own runtime client runs the built
functions. Everything listens on loopback. The last lines list what an emulator cannot show.
"""

import contextlib
import json
import logging
import os
import shutil
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import boto3

from local.template import ROOT, Template
from tools.rehearsal import conversation, emulator, layer, routes, template_checks
from tools.rehearsal.outside import Certificate, Issuer, Model, Twilio
from tools.rehearsal.page import CommandError, Shell, blocks
from tools.rehearsal.runtime import Deployed, FunctionHost, InvocationError, namespaces

SECONDS = 8 * 60
DEPLOY_SECONDS = 360.0
COMMAND_SECONDS = 120.0
AUDIENCE = "skein"
STACK = "skein"
ANSWER = "Twenty, on a good day."
BUILD = ROOT / ".aws-sam" / "build"
CACHE = ROOT / ".cache"
ACCOUNT_SID = "AC00000000000000000000000000000001"
AUTH_TOKEN = "rehearsal-token"  # noqa: S105 - of the fake Twilio
PLACEHOLDERS = {
    '"account_sid": "AC..."': f'"account_sid": "{ACCOUNT_SID}"',
    '"auth_token": "..."': f'"auth_token": "{AUTH_TOKEN}"',
    "sk-...": "sk-rehearsal",
}
# The page's function `out`, with the address at which this machine reaches the API.
OUT = """eval "deployed_$(declare -f out)"
out() {{ if [ "$1" = ApiUrl ]; then echo '{api}'; else deployed_out "$1"; fi; }}
"""


class RehearsalError(Exception):
    """A step of the rehearsal failed; the message says why."""


FAILURES = (
    RehearsalError,
    CommandError,
    conversation.NoAnswerError,
    template_checks.WrongTemplateError,
)


class Rehearsal:
    """One rehearsal, within the context managers of its servers.

    Args:
        folder: A new folder for logs and temporary files.
        stack: Closes the servers.
    """

    def __init__(self, folder: Path, stack: contextlib.ExitStack) -> None:
        self.folder = folder
        self._stack = stack
        self._certificate = Certificate(folder)
        self.issuer = stack.enter_context(Issuer(self._certificate, AUDIENCE).running())
        self.twilio = stack.enter_context(Twilio().running())
        self.model = stack.enter_context(Model(ANSWER).running())
        self.host = FunctionHost(
            python=CACHE / "runtime-client-313" / "bin" / "python",
            layer=layer.for_this_machine(BUILD / "SkeinLayer", folder),
            code=BUILD / "SmsWebhook",
            logs=folder,
            lookup=cache(self._deployed),
            change=self._on_loopback,
        )
        invocations = stack.enter_context(self.host.running())
        self.url = stack.enter_context(
            emulator.running(
                CACHE / "rehearse" / "bin" / "python",
                folder,
                invocations=invocations,
                certificate=self._certificate,
            )
        )
        self._secure = stack.enter_context(emulator.tls_front(self.url, self._certificate))
        self.shell = Shell(self._environment(), folder / "shell.log")
        stack.callback(self.shell.close)
        self._outputs: dict[str, str] = {}

    def _environment(self) -> dict[str, str]:
        """Return the environment of the page's commands: credentials, and where AWS is."""
        given = emulator.environment(os.environ)
        path = f"{CACHE / 'rehearse' / 'bin'}:{given['PATH']}"
        return {
            **given,
            **emulator.CREDENTIALS,
            "AWS_ENDPOINT_URL": self.url,
            "PATH": path,
            "SSL_CERT_FILE": str(self._certificate.file),
            "SAM_CLI_TELEMETRY": "0",
            "TOKEN": self.issuer.token(sub="ops", tenant="rehearsal", scope="admin"),
        }

    def client(self, service: str) -> Any:
        """Return a client of the emulator."""
        make: Any = boto3.client
        return make(
            service,
            endpoint_url=self.url,
            region_name=emulator.REGION,
            aws_access_key_id="rehearsal",
            aws_secret_access_key="rehearsal",  # noqa: S106 - the emulator takes any
        )

    def _deployed(self, name: str) -> Deployed:
        found = self.client("lambda").get_function_configuration(FunctionName=name)
        return Deployed(
            name=name,
            arn=found["FunctionArn"],
            handler=found["Handler"],
            memory=found["MemorySize"],
            environment=found["Environment"]["Variables"],
        )

    def _on_loopback(self, deployed: Mapping[str, str]) -> dict[str, str]:
        """Return a deployed environment in which the addresses are those of this machine."""
        api, _, stage = deployed["SKEIN_LIVE_URL"].removeprefix("wss://").partition("/")
        live = f"wss://{self._secure}/_aws/execute-api/{api.split('.')[0]}/{stage}"
        return {
            **deployed,
            **emulator.CREDENTIALS,
            "AWS_CA_BUNDLE": str(self._certificate.file),
            "SKEIN_AWS_ENDPOINT_URL": self.url,
            "SKEIN_LIVE_URL": live,
            "SKEIN_OPENAI_BASE_URL": self.model.base_url,
            "SKEIN_TWILIO_API_URL": self.twilio.url,
        }

    def deploy(self) -> str:
        """Deploy: the commands of docs/deploy.md build and deploy the stack, in two passes."""
        page = blocks()
        values, commands = page["In four commands"]
        values = values.replace("https://issuer.example", self.issuer.url)
        for placeholder, value in PLACEHOLDERS.items():
            commands = commands.replace(placeholder, value)
        self.shell.run(values, seconds=COMMAND_SECONDS)
        printed = self.shell.run(commands, seconds=DEPLOY_SECONDS)
        self.shell.run(page["Outputs"][0], seconds=COMMAND_SECONDS)
        stack = self.client("cloudformation").describe_stacks(StackName=STACK)["Stacks"][0]
        self._outputs = {each["OutputKey"]: each["OutputValue"] for each in stack["Outputs"]}
        self.shell.run(OUT.format(api=self.api), seconds=COMMAND_SECONDS)
        if self._outputs["PublicBaseUrl"] != self._outputs["ApiUrl"]:
            raise RehearsalError(f"the second pass left PublicBaseUrl: {self._outputs}")
        if "FAILED" in printed:
            raise RehearsalError(printed)
        return f"{stack['StackStatus']}, {len(self._outputs)} outputs, both passes"

    def routes(self) -> str:
        """Routes: the HTTP API has the template's, with the JWT authorizer."""
        made = routes.create(
            self.client("apigatewayv2"),
            Template.load(BUILD / "template.yaml"),
            {each["Handler"]: each["FunctionArn"] for each in self._functions()},
            issuer=self.issuer.url,
            aud=AUDIENCE,
        )
        return f"{made} routes"

    def _functions(self) -> list[dict[str, Any]]:
        pages = self.client("lambda").get_paginator("list_functions").paginate()
        return [each for page in pages for each in page["Functions"]]

    @property
    def api(self) -> str:
        """The URL at which this machine reaches the deployed API."""
        identifier = self._outputs["ApiUrl"].removeprefix("https://").split(".")[0]
        return f"{self.url}/_aws/execute-api/{identifier}"

    def template(self) -> str:
        """Template: the parts that the emulator does not know are as they should be."""
        return template_checks.check(BUILD / "template.yaml")

    def events(self) -> str:
        """Events: the built functions take real events on a read-only tree."""
        names = {each["Handler"]: each["FunctionName"] for each in self._functions()}
        taken = 0
        for path in sorted((ROOT / "events").glob("*.json")):
            handler = f"{path.stem.removesuffix('_plain')}.handler"
            event = json.loads(path.read_text(encoding="utf-8"))
            try:
                self.host.invoke(names[handler], event)
            except InvocationError as error:
                raise RehearsalError(f"{path.name}: {error}") from None
            taken += 1
        return f"{taken} events of {len(names)} functions"

    def smoke(self) -> str:
        """Smoke test: `make smoke` passes against the deployment."""
        token = self.issuer.token(sub="smoke", tenant="smoke", scope="chat admin")
        [commands] = blocks()["Smoke test"]
        commands = commands.replace("SMOKE_TOKEN=...", f"SMOKE_TOKEN={token}")
        printed = self.shell.run(commands, seconds=COMMAND_SECONDS)
        return printed.strip().splitlines()[-1]

    def text(self) -> str:
        """Text: an SMS arrives at the webhook, and its answer leaves for Twilio."""
        [commands] = blocks()["Twilio"]
        self.shell.run(commands, seconds=COMMAND_SECONDS)
        seconds = conversation.text(
            self.api,
            webhook=self._outputs["SmsWebhookUrl"],
            account=(ACCOUNT_SID, AUTH_TOKEN),
            twilio=self.twilio,
            answer=ANSWER,
        )
        return f"answered after {seconds:.1f} s; {sum(self.host.invoked.values())} invocations"

    def functions(self) -> str:
        """Functions: none has failed, and none has written to its tree."""
        if self.host.failures:
            raise RehearsalError("; ".join(self.host.failures[:3]))
        return f"{len(self.host.invoked)} functions ran: {', '.join(sorted(self.host.invoked))}"

    def teardown(self) -> str:
        """Teardown: the page's commands delete the stack, then the tables."""
        removal, data = blocks()["Taking it down"]
        tables = {self._outputs["TableName"], self._outputs["ErasureRegisterName"]}
        dynamodb = self.client("dynamodb")
        self.shell.run(removal, seconds=DEPLOY_SECONDS)
        if not tables <= set(dynamodb.list_tables()["TableNames"]):
            raise RehearsalError("a table went with the stack")
        self.shell.run(data, seconds=COMMAND_SECONDS)
        if tables & set(dynamodb.list_tables()["TableNames"]):
            raise RehearsalError("a table is still there")
        left = self._functions()
        if left:
            raise RehearsalError(f"{len(left)} functions are left")
        return "the stack is gone; both tables stayed until they were deleted"

    def steps(self) -> Iterator[Callable[[], str]]:
        """Return all steps in order."""
        yield self.deploy
        yield self.routes
        yield self.template
        yield self.events
        yield self.smoke
        yield self.text
        yield self.functions
        yield self.teardown


def main() -> int:
    """Run all steps and return the exit status: 1 if one failed."""
    logging.basicConfig(level=logging.WARNING)
    if not namespaces():
        print("rehearse: this machine gives processes no mounts (unshare -rm)", file=sys.stderr)
        return 1
    # An interrupt, so that all servers and processes are ended on the way out.
    late = threading.Timer(SECONDS, os.kill, (os.getpid(), signal.SIGINT))
    late.daemon = True
    late.start()
    folder = Path(tempfile.mkdtemp(prefix="skein-rehearsal-"))
    with contextlib.ExitStack() as stack:
        rehearsal = Rehearsal(folder, stack)
        for step in rehearsal.steps():
            name, _, rest = (step.__doc__ or "").partition(":")
            began = time.monotonic()
            try:
                finding = step()
            except FAILURES as error:
                print(f"FAILED {name}:{rest} {error}; logs in {folder}", flush=True)
                for failure in rehearsal.host.failures:
                    print(f"       {failure}", flush=True)
                return 1
            print(f"ok     {name} ({time.monotonic() - began:.0f} s): {finding}", flush=True)
    shutil.rmtree(folder)
    print("An emulator cannot show:")
    for line in template_checks.NOT_SHOWN:
        print(f"  - {line}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
