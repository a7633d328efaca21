"""Notifications to phones by SNS mobile push, which hands them to APNs and FCM."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from botocore.exceptions import ClientError

from skein.adapters.aws.clients import Aws
from skein.adapters.aws.errors import AWS_ERRORS, AwsError, meaning_of
from skein.errors import DeviceGone, PushRefused, Transient
from skein.models.delivery.notification import Notification, Platform

READ_SECONDS = 3
TRIES = 2
GONE = frozenset({"EndpointDisabled", "EndpointDisabledException", "NotFound", "NotFoundException"})
REFUSED = frozenset({"InvalidParameter", "InvalidParameterException"})
# SNS rejects a token that it already knows with other attributes (e.g. disabled) with this text.
KNOWN = re.compile(r"Endpoint (arn:[^ ]+) already exists with the same Token")
APNS = "AWS.SNS.MOBILE.APNS"  # the prefix of message attributes that become header fields for Apple


def sns_client(aws: Aws) -> Any:
    return aws.client("sns", read_seconds=READ_SECONDS, tries=TRIES)


@dataclass(frozen=True, slots=True)
class SnsPush:
    """`MobilePush` on SNS; the address of a device is the ARN of its endpoint.

    Args:
        client: A client, for example from `sns_client`.
        applications: The ARN of the platform application of each platform.
    """

    client: Any
    applications: Mapping[str, str]

    def register(self, platform: Platform, token: str) -> str:
        address = self._endpoint(platform, token)
        enabled = {"Token": token, "Enabled": "true"}  # SNS disables rejected endpoints
        try:
            self.client.set_endpoint_attributes(EndpointArn=address, Attributes=enabled)
        except AWS_ERRORS as error:
            raise _meaning(error) from error
        return address

    def _endpoint(self, platform: Platform, token: str) -> str:
        application = self.applications[platform]
        try:
            made = self.client.create_platform_endpoint(
                PlatformApplicationArn=application, Token=token
            )
        except AWS_ERRORS as error:
            known = KNOWN.search(str(error))
            if known is not None:
                return known[1]
            raise _meaning(error) from error
        return str(made["EndpointArn"])

    def forget(self, address: str) -> None:
        try:
            self.client.delete_endpoint(EndpointArn=address)
        except AWS_ERRORS as error:
            meaning = _meaning(error)
            if not isinstance(meaning, DeviceGone):
                raise meaning from error

    def notify(self, address: str, notification: Notification) -> None:
        try:
            self.client.publish(
                TargetArn=address,
                MessageStructure="json",
                Message=message_of(address, notification),
                MessageAttributes={
                    f"{APNS}.{name}": {"DataType": "String", "StringValue": value}
                    for name, value in (
                        ("COLLAPSE_ID", notification.collapse_key),
                        ("PUSH_TYPE", "alert"),
                    )
                },
            )
        except AWS_ERRORS as error:
            meaning = _meaning(error)
            if isinstance(meaning, DeviceGone | Transient):
                raise meaning from error
            raise PushRefused("the push provider refuses the notification") from error


def message_of(address: str, notification: Notification) -> str:
    """Return the SNS message of a notification, in the format of the endpoint's provider.

    Args:
        address: The ARN of an endpoint: `arn:aws:sns:region:account:endpoint/APNS/name/id`.
    """
    provider = address.split("/")[1]
    text, chat_id, key = notification
    if provider == "GCM":
        payload: dict[str, Any] = {
            "fcmV1Message": {
                "message": {
                    "notification": {"body": text},
                    "data": {"chat_id": chat_id},
                    "android": {"collapse_key": key, "notification": {"tag": key}},
                }
            }
        }
    else:
        payload = {
            "aps": {"alert": {"body": text}, "sound": "default", "thread-id": key},
            "chat_id": chat_id,
        }
    return json.dumps({"default": text, provider: json.dumps(payload)})


def _meaning(error: AwsError) -> Exception:
    """Map an error of SNS to the errors of the port."""
    code = error.response.get("Error", {}).get("Code") if isinstance(error, ClientError) else None
    if code in GONE:
        return DeviceGone("the push provider does not know the device")
    if code in REFUSED:
        return PushRefused("the push provider refuses the token")
    return meaning_of(error, writing=True)
