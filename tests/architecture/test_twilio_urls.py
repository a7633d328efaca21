"""`make webhooks` sets the URLs of the assigned numbers at Twilio, and of no others."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from skein.models.common.address import phone_address
from skein.models.directory.assigned_number import AssignedNumber
from tests.support.template import deployed_template
from tools.deployment import webhooks
from tools.deployment.checks import Aws, FailedCheckError
from tools.deployment.webhooks import Webhooks

TOKEN = "secretword"
ASSIGNED, FOREIGN = "+15005550006", "+15005550007"
OUTPUTS = {
    "SmsWebhookUrl": "https://api.example/webhooks/twilio/sms#rc=3",
    "SmsFallbackUrl": "https://abc.lambda-url.on.aws/webhooks/twilio/sms#rc=3",
    "AssignedNumbersName": "numbers",
}


class Twilio:
    """An account with two numbers."""

    def __init__(self) -> None:
        phones = (ASSIGNED, "+150055500061")
        self.numbers = [{"sid": f"PN{n}", "phone_number": p} for n, p in enumerate(phones)]
        self.urls: list[str] = []

    def __call__(self, url: str, login: str, form: Mapping[str, str] | None) -> Any:
        self.urls.append(url)
        assert login.startswith("Basic ")
        if form is None:
            return {"incoming_phone_numbers": self.numbers}
        assert url.endswith("/Accounts/AC1/IncomingPhoneNumbers/PN0.json")
        names = {"SmsUrl": "sms_url", "SmsMethod": "sms_method"}
        names |= {"SmsFallbackUrl": "sms_fallback_url", "SmsFallbackMethod": "sms_fallback_method"}
        self.numbers[0] |= {names[name]: value for name, value in form.items()}
        return self.numbers[0]


def account(phones: Sequence[str] = (ASSIGNED,), **outputs: str) -> Aws:
    def aws(command: Sequence[str]) -> str:
        match list(command):
            case ["cloudformation", *_]:
                given = {"TwilioSecretArn": "arn", "TwilioApiUrl": "https://ie1.example"}
                stack = {
                    "Outputs": [{"OutputKey": k, "OutputValue": v} for k, v in outputs.items()],
                    "Parameters": [
                        {"ParameterKey": k, "ParameterValue": v} for k, v in given.items()
                    ],
                }
                return json.dumps({"Stacks": [stack]})
            case ["dynamodb", "scan", "--table-name", "numbers"]:
                keys = [AssignedNumber.key_of(phone_address(phone)) for phone in phones]
                return json.dumps({"Items": [{"sk": {"S": key.sk}} for key in keys]})
            case ["secretsmanager", *_]:
                secret = {"account_sid": "AC1", "auth_token": TOKEN}
                return json.dumps({"SecretString": json.dumps(secret)})
        raise AssertionError(command)

    return aws


def test_assigned_numbers_get_their_urls_once(capsys: pytest.CaptureFixture[str]) -> None:
    twilio = Twilio()
    tool = Webhooks("skein", account([ASSIGNED, FOREIGN], **OUTPUTS), twilio)
    assert dict(tool.set()) == {
        ASSIGNED: "has new URLs",
        FOREIGN: "is not a number of the Twilio account",
    }
    assert twilio.numbers[0]["sms_url"] == OUTPUTS["SmsWebhookUrl"]
    assert twilio.numbers[0]["sms_fallback_url"] == OUTPUTS["SmsFallbackUrl"]
    assert "sms_url" not in twilio.numbers[1]
    assert all(url.startswith("https://ie1.example/") for url in twilio.urls)
    assert webhooks.main([], lambda _: tool) == 0
    assert f"{ASSIGNED} has its URLs" in (printed := capsys.readouterr().out)
    assert TOKEN not in printed


def test_stack_without_sms_or_numbers_asks_twilio_nothing() -> None:
    for aws in (account(AssignedNumbersName="numbers"), account([], **OUTPUTS)):
        twilio = Twilio()
        assert list(Webhooks("skein", aws, twilio).set()) == []
        assert not twilio.urls


def test_refusal_of_twilio_is_an_error_without_the_token(
    capsys: pytest.CaptureFixture[str],
) -> None:
    def refused(url: str, login: str, form: Mapping[str, str] | None) -> Any:
        raise FailedCheckError("Twilio answered 401")

    assert webhooks.main([], lambda name: Webhooks(name, account(**OUTPUTS), refused)) == 1
    assert "Twilio answered 401" in (printed := capsys.readouterr().err)
    assert TOKEN not in printed


def test_outputs_are_those_of_the_template() -> None:
    outputs = deployed_template().document["Outputs"]
    assert {*OUTPUTS} <= {*outputs}
    assert {webhooks.WEBHOOK, webhooks.FALLBACK} < {*OUTPUTS}
