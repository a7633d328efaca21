"""The local issuer signs people in with the code flow and PKCE, for its own console only."""

import json
import time
from pathlib import Path
from urllib.parse import parse_qs, parse_qsl, urlencode, urlsplit

import jwt
import pytest

from local.environment import AUDIENCE, CONSOLE_CLIENT
from local.events import Request, Response
from local.web.issuer import (
    AUTHORIZE,
    CODE_SECONDS,
    DISCOVERY,
    KEYS,
    OPERATOR,
    TOKEN,
    LocalIssuer,
    Person,
    challenge_of,
)
from local.web.token_signer import TokenSigner

URL = "http://127.0.0.1:8787"
HOME = f"{URL}/console/"
VERIFIER = "v" * 43
ASKED = {
    "client_id": CONSOLE_CLIENT,
    "redirect_uri": HOME,
    "response_type": "code",
    "state": "s1",
    "nonce": "n1",
    "code_challenge": challenge_of(VERIFIER),
    "code_challenge_method": "S256",
}
NORA = Person("usr_nora", "Nora", "clinic")
ANN = Person("ann", '<script>alert("Ann")</script>')


@pytest.fixture(scope="module")
def signer(tmp_path_factory: pytest.TempPathFactory) -> TokenSigner:
    key: Path = tmp_path_factory.mktemp("issuer") / "key.pem"
    return TokenSigner(key, issuer=f"{URL}/local", audience=AUDIENCE)


@pytest.fixture
def issuer(signer: TokenSigner) -> LocalIssuer:
    return LocalIssuer(signer, origins=[URL], people=lambda: [ANN, NORA])


def send(issuer: LocalIssuer, method: str, path: str, form: dict[str, str]) -> Response:
    encoded = urlencode(form)
    request = (
        Request(method, path, query=encoded)
        if method == "GET"
        else Request(method, path, body=encoded.encode())
    )
    answer = issuer.answer(request)
    assert answer is not None
    return answer


def code_for(issuer: LocalIssuer, **chosen: str) -> str:
    answer = send(issuer, "POST", AUTHORIZE, {**ASKED, **chosen})
    assert answer.status == 303
    [code] = parse_qs(urlsplit(dict(answer.headers)["location"]).query)["code"]
    return code


def exchange(issuer: LocalIssuer, code: str, **other: str) -> Response:
    form = {
        "grant_type": "authorization_code",
        "code": code,
        "redirect_uri": HOME,
        "client_id": CONSOLE_CLIENT,
        "code_verifier": VERIFIER,
        **other,
    }
    return send(issuer, "POST", TOKEN, form)


def test_discovery_names_the_endpoints_of_the_issuer(issuer: LocalIssuer) -> None:
    found = json.loads(send(issuer, "GET", DISCOVERY, {}).body)
    assert found["issuer"] == f"{URL}/local"
    assert found["authorization_endpoint"] == f"{URL}{AUTHORIZE}"
    assert found["token_endpoint"] == f"{URL}{TOKEN}"
    assert found["code_challenge_methods_supported"] == ["S256"]


def test_page_offers_the_operator_and_people_without_markup(issuer: LocalIssuer) -> None:
    answer = send(issuer, "GET", AUTHORIZE, ASKED)
    page = answer.body.decode()
    assert f'value="{OPERATOR}"' in page
    assert "&lt;script&gt;" in page
    assert "<script" not in page
    assert "default-src 'none'" in dict(answer.headers)["content-security-policy"]


def test_choice_of_a_person_leads_back_with_code_and_state(issuer: LocalIssuer) -> None:
    answer = send(issuer, "POST", AUTHORIZE, {**ASKED, "user": "ann"})
    location = dict(answer.headers)["location"]
    assert location.startswith(f"{HOME}?")
    assert dict(parse_qsl(urlsplit(location).query))["state"] == "s1"


@pytest.mark.parametrize(
    ("chosen", "sub", "scope", "tenant"),
    [
        ({"user": OPERATOR}, OPERATOR, "chat admin", "demo"),
        ({"user": "ann"}, "ann", "chat", "demo"),
        ({"user": "", "name": "Zoë Lee"}, "zo-lee", "chat", "demo"),
        ({"user": OPERATOR, "tenant": "clinic"}, OPERATOR, "chat admin", "clinic"),
        ({"user": "usr_nora", "tenant": "clinic"}, "usr_nora", "chat", "clinic"),
    ],
)
def test_code_is_exchanged_for_a_token_of_the_chosen_person(
    issuer: LocalIssuer,
    signer: TokenSigner,
    chosen: dict[str, str],
    sub: str,
    scope: str,
    tenant: str,
) -> None:
    answer = exchange(issuer, code_for(issuer, **chosen))
    assert answer.status == 200
    token = json.loads(answer.body)["access_token"]
    claims = signer.claims(token)
    assert (claims["sub"], claims["scope"], claims["tenant"]) == (sub, scope, tenant)


def test_id_token_has_the_nonce_and_the_published_key_verifies_it(issuer: LocalIssuer) -> None:
    token = json.loads(exchange(issuer, code_for(issuer, user="ann")).body)["id_token"]
    [key] = json.loads(send(issuer, "GET", KEYS, {}).body)["keys"]
    assert key["kid"] == jwt.get_unverified_header(token)["kid"]
    public = jwt.PyJWK(key).key
    claims = jwt.decode(token, public, algorithms=["RS256"], audience=CONSOLE_CLIENT)
    assert (claims["nonce"], claims["sub"]) == ("n1", "ann")


def test_code_works_once(issuer: LocalIssuer) -> None:
    code = code_for(issuer, user="ann")
    assert exchange(issuer, code).status == 200
    assert exchange(issuer, code).status == 400


@pytest.mark.parametrize(
    "wrong",
    [
        {"code_verifier": "w" * 43},
        {"redirect_uri": f"{URL}/other/"},
        {"client_id": "other"},
        {"grant_type": "password"},
        {"code": "unknown"},
    ],
)
def test_exchange_with_a_wrong_value_is_refused(issuer: LocalIssuer, wrong: dict[str, str]) -> None:
    answer = exchange(issuer, **{"code": code_for(issuer, user="ann"), **wrong})
    assert answer.status == 400
    assert b"access_token" not in answer.body


def test_code_expires(issuer: LocalIssuer, monkeypatch: pytest.MonkeyPatch) -> None:
    code = code_for(issuer, user="ann")
    late = time.monotonic() + CODE_SECONDS + 1
    monkeypatch.setattr("local.web.issuer.time.monotonic", lambda: late)
    assert exchange(issuer, code).status == 400


@pytest.mark.parametrize(
    "wrong",
    [
        {"client_id": "other"},
        {"redirect_uri": "https://evil.example/console/"},
        {"redirect_uri": f"{URL}/console/../local/"},
        {"response_type": "token"},
        {"code_challenge": ""},
    ],
)
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_sign_in_for_another_client_is_refused(
    issuer: LocalIssuer, method: str, wrong: dict[str, str]
) -> None:
    answer = send(issuer, method, AUTHORIZE, {**ASKED, "user": "ann", **wrong})
    assert answer.status == 400
    assert "location" not in dict(answer.headers)


@pytest.mark.parametrize(
    "chosen",
    [
        {"user": "nobody"},
        {"user": ""},
        {"user": "", "name": "Operator"},
        {"user": "ann", "tenant": "clinic"},
        {"user": OPERATOR, "tenant": "other"},
    ],
)
def test_sign_in_as_unknown_person_or_operators_name_is_400(
    issuer: LocalIssuer, chosen: dict[str, str]
) -> None:
    assert send(issuer, "POST", AUTHORIZE, {**ASKED, **chosen}).status == 400


def test_hint_signs_the_operator_of_a_tenant_in_without_the_page(
    issuer: LocalIssuer, signer: TokenSigner
) -> None:
    answer = send(issuer, "GET", AUTHORIZE, {**ASKED, "login_hint": f"{OPERATOR}@clinic"})
    [code] = parse_qs(urlsplit(dict(answer.headers)["location"]).query)["code"]
    token = json.loads(exchange(issuer, code).body)["access_token"]
    claims = signer.claims(token)
    assert (claims["sub"], claims["tenant"]) == (OPERATOR, "clinic")
    unknown = send(issuer, "GET", AUTHORIZE, {**ASKED, "login_hint": f"{OPERATOR}@other"})
    assert (unknown.status, b"<form" in unknown.body) == (200, True)


def test_issuer_ignores_other_paths(issuer: LocalIssuer) -> None:
    assert issuer.answer(Request("GET", "/local/config")) is None
