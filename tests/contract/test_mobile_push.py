"""Mobile push by SNS: what is asked of it, and what its errors mean."""

import json
from typing import Any

import pytest
from botocore.stub import Stubber

from skein.adapters.aws.clients import Aws
from skein.adapters.aws.mobile_push import SnsPush, sns_client
from skein.errors import DeviceGone, PushRefused, Throttled
from skein.live.models.device import notification_of
from skein.settings import Settings

PREFIX = "arn:aws:sns:us-east-1:000000000000"
APPLICATIONS = {"apns": f"{PREFIX}:app/APNS/skein", "fcm": f"{PREFIX}:app/GCM/skein"}
IPHONE, ANDROID = f"{PREFIX}:endpoint/APNS/skein/1", f"{PREFIX}:endpoint/GCM/skein/2"
RING = notification_of("chat_1", "Coach answered")


@pytest.fixture
def sns(monkeypatch: pytest.MonkeyPatch) -> Any:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "test")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    client = sns_client(Aws(Settings()))
    with Stubber(client) as stubber:
        yield stubber
    stubber.assert_no_pending_responses()
    client.close()


def push(sns: Any) -> SnsPush:
    return SnsPush(sns.client, APPLICATIONS)


def enables(sns: Any, address: str) -> None:
    attributes = {"Token": "t", "Enabled": "true"}
    asked = {"EndpointArn": address, "Attributes": attributes}
    sns.add_response("set_endpoint_attributes", {}, asked)


def test_device_is_made_and_enabled(sns: Any) -> None:
    asked = {"PlatformApplicationArn": APPLICATIONS["fcm"], "Token": "t"}
    sns.add_response("create_platform_endpoint", {"EndpointArn": ANDROID}, asked)
    enables(sns, ANDROID)
    assert push(sns).register("fcm", "t") == ANDROID


def test_device_that_sns_has_disabled_is_enabled_again(sns: Any) -> None:
    message = (
        f"Invalid parameter: Token Reason: Endpoint {IPHONE} already exists with the same Token, "
        "but different attributes."
    )
    sns.add_client_error("create_platform_endpoint", "InvalidParameter", message, 400)
    enables(sns, IPHONE)
    assert push(sns).register("apns", "t") == IPHONE


@pytest.mark.parametrize(("address", "provider"), [(IPHONE, "APNS"), (ANDROID, "GCM")])
def test_notification_has_no_more_than_a_text_a_chat_and_a_collapse_key(
    sns: Any, address: str, provider: str
) -> None:
    sent: list[dict[str, Any]] = []
    sns.add_response("publish", {"MessageId": "1"})
    sns.client.meta.events.register(
        "provide-client-params.sns.Publish", lambda params, **_: sent.append(params)
    )
    push(sns).notify(address, RING)
    [params] = sent
    assert params["TargetArn"] == address
    message = json.loads(params["Message"])
    assert set(message) == {"default", provider}
    payload = json.loads(message[provider])
    if provider == "GCM":
        inner = payload["fcmV1Message"]["message"]
        assert inner["notification"] == {"body": "Coach answered"}
        assert inner["data"] == {"chat_id": "chat_1"}
        assert inner["android"]["collapse_key"] == RING.collapse_key
        assert inner["android"]["notification"] == {"tag": RING.collapse_key}
    else:
        assert payload["aps"]["alert"] == {"body": "Coach answered"}
        assert payload["chat_id"] == "chat_1"
    attributes = params["MessageAttributes"]
    collapse = attributes["AWS.SNS.MOBILE.APNS.COLLAPSE_ID"]["StringValue"]
    assert collapse == RING.collapse_key
    assert len(collapse) <= 64  # Apple's limit


@pytest.mark.parametrize(
    ("code", "status", "error"),
    [
        ("EndpointDisabled", 400, DeviceGone),
        ("NotFound", 404, DeviceGone),
        ("Throttled", 429, Throttled),
        ("PlatformApplicationDisabled", 400, PushRefused),
        ("AuthorizationError", 403, PushRefused),
        ("InvalidParameter", 400, PushRefused),
    ],
)
def test_notification_error_is_mapped_to_the_error_of_the_port(
    sns: Any, code: str, status: int, error: type[Exception]
) -> None:
    sns.add_client_error("publish", code, "no", status)
    with pytest.raises(error):
        push(sns).notify(IPHONE, RING)


def test_forgetting_a_device_that_sns_does_not_have_succeeds(sns: Any) -> None:
    sns.add_client_error("delete_endpoint", "NotFound", "no", 404)
    push(sns).forget(IPHONE)


def test_registering_an_invalid_token_raises_push_refused(sns: Any) -> None:
    sns.add_client_error("create_platform_endpoint", "InvalidParameter", "Invalid token", 400)
    with pytest.raises(PushRefused):
        push(sns).register("apns", "t")
