"""What the way in does not let pass."""

from urllib.parse import urlencode

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from twilio.request_validator import RequestValidator

from tests.e2e.client import LINE, Client

FORM = "application/x-www-form-urlencoded"
PATH = "/webhooks/twilio/sms"


def _fields(client: Client, sid: str) -> dict[str, str]:
    return {
        "AccountSid": "AC0",
        "MessageSid": sid,
        "From": client.phone,
        "To": LINE,
        "Body": "STOP",
        "NumMedia": "0",
    }


@pytest.mark.parametrize("signature", [None, "", "bm9uc2Vuc2U=", "of another text"])
def test_a_forged_text_is_refused_and_not_stored(client: Client, signature: str | None) -> None:
    config = client.ok("GET", "/local/config")
    signer = RequestValidator(config["twilio_auth_token"])
    url = f"{config['public_base_url']}{PATH}"
    if signature == "of another text":
        signature = signer.compute_signature(url, _fields(client, "SM1") | {"Body": "START"})
    headers = {"content-type": FORM}
    if signature is not None:
        headers["x-twilio-signature"] = signature
    body = urlencode(_fields(client, "SM1")).encode()
    assert client.call("POST", PATH, body, headers=headers).status == 403
    users = client.ok("GET", "/v1/users", token=client.token("ops", "admin"))["items"]
    assert not any(client.phone in user["phones"] for user in users)


def test_a_text_that_is_signed_as_twilio_signs_is_taken(client: Client) -> None:
    config = client.ok("GET", "/local/config")
    fields = _fields(client, "SM2")
    signature = RequestValidator(config["twilio_auth_token"]).compute_signature(
        f"{config['public_base_url']}{PATH}", fields
    )
    answer = client.call(
        "POST",
        PATH,
        urlencode(fields).encode(),
        headers={"content-type": FORM, "x-twilio-signature": signature},
    )
    assert (answer.status, answer.body) == (200, b"<Response/>")
    assert answer.headers["content-type"].startswith("text/xml")


def test_a_forged_token_is_refused(client: Client) -> None:
    config = client.ok("GET", "/local/config")
    good = client.token("husam")
    claims = jwt.decode(good, options={"verify_signature": False})
    header = {"kid": jwt.get_unverified_header(good)["kid"]}
    own_key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    forgeries = {
        "none at all": None,
        "no token": "nonsense",
        "unsigned": jwt.encode(claims, "", algorithm="none", headers=header),
        "own key": jwt.encode(claims, own_key, algorithm="RS256", headers=header),
        "guessed secret": jwt.encode(claims, "x" * 32, algorithm="HS256", headers=header),
        "cut": good[:-4],
        "changed": ".".join(
            [good.split(".")[0], jwt.encode(claims | {"tenant": "t"}, "x" * 32).split(".")[1], ""]
        ),
    }
    for forgery, token in forgeries.items():
        answer = client.call("GET", "/v1/me", token=token)
        assert answer.status == 401, forgery
        assert ("message" if token is None else "detail") in answer.json
    assert client.call("GET", "/v1/me", token=good).status == 200
    assert config["issuer"] == claims["iss"]


def test_path_without_a_route_is_404(client: Client) -> None:
    answer = client.call("GET", "/nothing/here")
    assert (answer.status, answer.json) == (404, {"message": "Not Found"})


def test_a_body_over_the_gateways_limit_is_refused(client: Client) -> None:
    answer = client.call("POST", "/v1/chats", b"x" * (10 * 1024 * 1024 + 1))
    assert (answer.status, answer.json) == (413, {"message": "Request Entity Too Large"})


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("POST", "/local/token", {"sub": "husam"}),
        ("POST", "/local/token", {"sub": "husam", "tenant": "demo", "scope": 7}),
        ("POST", "/local/token", ["husam"]),
        ("POST", "/local/token", b"\xff"),
        ("POST", "/local/sms", {"from": "me", "to": LINE, "body": "Hi"}),
        ("POST", "/local/sms", {"from": "+15005550100", "to": LINE}),
        ("POST", "/local/clock", {"advance_seconds": -1}),
        ("POST", "/local/clock", {"advance_seconds": True}),
        ("POST", "/local/clock", b'{"advance_seconds": NaN}'),
        ("POST", "/local/clock", {}),
    ],
)
def test_malformed_call_of_the_developer_api_is_refused_with_a_reason(
    client: Client, method: str, path: str, body: object
) -> None:
    answer = client.call(method, path, body)
    assert answer.status == 400
    assert answer.json["code"] == "invalid"
    assert answer.json["detail"].endswith(".")


def test_a_web_page_cannot_use_the_developers_api(client: Client) -> None:
    page = {"origin": "https://example.com"}
    assert client.call("GET", "/local/config", headers=page).status == 403
    rebound = {"host": "attacker.example:8787"}
    assert client.call("GET", "/local/config", headers=rebound).status == 403


def test_key_of_a_server_makes_a_token_and_its_revocation_holds_at_once(client: Client) -> None:
    """Though the gateway keeps the authorizer's result, as it does in a deployment."""
    admin = client.token("ops", "admin")
    body = {"name": "server", "roles": ["support", "tokens"]}
    key = client.ok("POST", "/v1/keys", body, token=admin)
    person = client.ok("POST", "/v1/users", {"name": "Mira"}, token=key["key"])["id"]
    made = client.ok("POST", f"/v1/users/{person}/tokens", {}, token=key["key"])["token"]
    assert client.ok("GET", "/v1/me", token=made)["name"] == "Mira"
    assert client.ok("GET", "/v1/me/access", token=made)["items"][0]["who"] == key["id"]
    assert client.call("GET", "/v1/users", token=made).status == 403
    client.ok("DELETE", f"/v1/keys/{key['id']}", token=admin)
    for token, path in ((key["key"], "/v1/users"), (made, "/v1/me")):
        assert client.call("GET", path, token=token).status == 401
