"""Sets the URLs of the phone numbers at Twilio: the webhook, and a fallback past the gateway.

`python -m tools.deployment.webhooks [--stack NAME] [--env NAME]` sets the URLs for all numbers that
are assigned to tenants. Twilio retries the webhook, and then calls the fallback, the function's own
URL. `make deploy` and `make numbers` run this module. The module needs only the standard library
and the `aws` command, and prints no secret.
"""

import base64
import json
import sys
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from tools.deployment.checks import Aws, FailedCheckError, aws
from tools.deployment.deploy import BadNameError, Target, arguments

TWILIO = "https://api.twilio.com"
API = "2010-04-01"
SECONDS = 20
WEBHOOK, FALLBACK = "SmsWebhookUrl", "SmsFallbackUrl"  # outputs of the stack

Call = Callable[[str, str, Mapping[str, str] | None], Any]
"""Calls Twilio with a URL, the header `Authorization` and a form; None for a GET."""


def call(url: str, login: str, form: Mapping[str, str] | None) -> Any:
    """Call Twilio's API and return its JSON.

    Raises:
        FailedCheckError: Twilio refused the call or can't be reached.
    """
    data = None if form is None else urlencode(form).encode()
    request = urllib.request.Request(url, data, {"authorization": login})  # noqa: S310
    try:
        with urllib.request.urlopen(request, timeout=SECONDS) as response:  # noqa: S310
            return json.load(response)
    except urllib.error.HTTPError as error:
        with error:
            raise FailedCheckError(f"Twilio answered {error.code}") from None
    except (OSError, ValueError) as error:
        raise FailedCheckError(f"Twilio is out of reach: {error}") from None


@dataclass(frozen=True)
class Webhooks:
    """Sets the URLs of a stack's phone numbers at Twilio.

    Args:
        stack: The name of the stack.
        aws: Runs the `aws` command.
        call: Calls Twilio.
    """

    stack: str
    aws: Aws = aws
    call: Call = call

    def set(self) -> Iterator[tuple[str, str]]:
        """Set the URLs of each assigned number; yield each number with the result.

        Raises:
            FailedCheckError: AWS or Twilio refused a call.
        """
        listed = json.loads(
            self.aws(["cloudformation", "describe-stacks", "--stack-name", self.stack])
        )["Stacks"][0]
        outputs = {each["OutputKey"]: each["OutputValue"] for each in listed.get("Outputs", ())}
        given = {each["ParameterKey"]: each["ParameterValue"] for each in listed["Parameters"]}
        if WEBHOOK not in outputs:
            return  # a stack without SMS
        phones = self._phones(outputs["AssignedNumbersName"])
        if not phones:
            return
        secret = json.loads(
            self.aws(
                ["secretsmanager", "get-secret-value", "--secret-id", given["TwilioSecretArn"]]
            )
        )
        account = json.loads(secret["SecretString"])
        login = f"{account['account_sid']}:{account['auth_token']}"
        header = "Basic " + base64.b64encode(login.encode()).decode()
        base = given.get("TwilioApiUrl") or TWILIO
        numbers = f"{base}/{API}/Accounts/{account['account_sid']}/IncomingPhoneNumbers"
        form = {
            "SmsUrl": outputs[WEBHOOK],
            "SmsMethod": "POST",
            "SmsFallbackUrl": outputs[FALLBACK],
            "SmsFallbackMethod": "POST",
        }
        for phone in phones:
            yield phone, self._point(numbers, header, phone, form)

    def _phones(self, table: str) -> list[str]:
        """Return the phone numbers that are assigned to tenants, in order."""
        found = json.loads(self.aws(["dynamodb", "scan", "--table-name", table]))["Items"]
        keys = (str(each["sk"]["S"]) for each in found)
        return sorted(key.removeprefix("phone#") for key in keys)

    def _point(self, numbers: str, header: str, phone: str, form: Mapping[str, str]) -> str:
        answer = self.call(f"{numbers}.json?{urlencode({'PhoneNumber': phone})}", header, None)
        for number in answer["incoming_phone_numbers"]:
            if number["phone_number"] != phone:
                continue
            if all(number.get(_snake(name)) == value for name, value in form.items()):
                return "has its URLs"
            self.call(f"{numbers}/{number['sid']}.json", header, form)
            return "has new URLs"
        return "is not a number of the Twilio account"


def _snake(name: str) -> str:
    """Return a form field's name in Twilio's responses: `SmsUrl` becomes `sms_url`."""
    return "".join(f"_{c.lower()}" if c.isupper() else c for c in name).lstrip("_")


def main(argv: Sequence[str], webhooks: Callable[[str], Webhooks] = Webhooks) -> int:
    """Set the URLs, print what was done, and return the exit status."""
    options = arguments().parse_args(argv)
    try:
        target = Target.of(stack=options.stack, environment=options.env, confirm=False)
        for phone, finding in webhooks(target.stack).set():
            print(f"{phone} {finding}")
    except (BadNameError, FailedCheckError) as error:
        print(f"webhooks: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
