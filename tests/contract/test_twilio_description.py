"""The check against Twilio's description finds what Twilio would not accept or answer."""

import pytest

from tests.support.twilio_description import UnknownToTwilioError, check_answer, check_request

SENDS = "/2010-04-01/Accounts/AC00000000000000000000000000000001/Messages.json"
TO, FROM = ("To", "+15005550100"), ("From", "+15005550006")
SID = "SM00000000000000000000000000000001"


@pytest.mark.parametrize(
    "values",
    [
        [FROM, ("Body", "Hi")],
        [TO, FROM, ("Text", "Hi")],
        [TO, FROM, ("ContentSid", "HX1")],
        [TO, FROM, ("SmartEncoded", "perhaps")],
    ],
)
def test_request_with_a_wrong_field_is_an_error(values: list[tuple[str, str]]) -> None:
    with pytest.raises(UnknownToTwilioError):
        check_request("POST", SENDS, values)


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (200, {"sid": SID}),
        (201, {"sid": "1"}),
        (201, {"status": "on its way"}),
        (201, {"num_segments": 1}),
        (201, {"segments": "1"}),
    ],
)
def test_answer_with_a_wrong_field_is_an_error(status: int, body: dict[str, object]) -> None:
    with pytest.raises(UnknownToTwilioError):
        check_answer("POST", SENDS, status, body)


def test_message_with_two_pictures_and_its_answer_are_described() -> None:
    pictures = [("MediaUrl", "https://a.example/1"), ("MediaUrl", "https://a.example/2")]
    check_request("POST", SENDS, [TO, FROM, *pictures])
    check_answer("POST", SENDS, 201, {"sid": SID, "status": "queued", "error_code": None})
