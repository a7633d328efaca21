"""The local gateway accepts tokens of an identity provider, as API Gateway does."""

from collections.abc import Iterator
from pathlib import Path

import jwt
import pytest

from local.web.authorizer import Authorizer, RefusedError
from local.web.identity_provider import IdentityProvider
from tests.support.identity_provider import AUDIENCE, Provider, new_keys, running_provider


@pytest.fixture(scope="module")
def provider() -> Iterator[Provider]:
    with running_provider() as running:
        yield running


@pytest.fixture(scope="module")
def authorizer(provider: Provider, tmp_path_factory: pytest.TempPathFactory) -> Authorizer:
    key: Path = tmp_path_factory.mktemp("gateway") / "key.pem"
    issuer = "http://127.0.0.1/local"
    accepted = IdentityProvider(provider.url, AUDIENCE)
    return Authorizer(key, issuer=issuer, audience="skein-local", provider=accepted)


def claims(authorizer: Authorizer, token: str) -> dict[str, str]:
    found: dict[str, str] = authorizer.authorize(f"Bearer {token}", ("chat",))["jwt"]["claims"]
    return found


def test_token_of_the_provider_and_of_the_gateway_are_accepted(
    authorizer: Authorizer, provider: Provider
) -> None:
    assert claims(authorizer, provider.token())["iss"] == provider.url
    own = authorizer.token(sub="ann", tenant="demo", scope="chat")
    assert claims(authorizer, own)["sub"] == "ann"


@pytest.mark.parametrize(
    "audience", [{"aud": ["other", AUDIENCE]}, {"aud": None, "client_id": AUDIENCE}]
)
def test_audience_is_one_of_several_or_the_client_of_a_token_without_any(
    authorizer: Authorizer, provider: Provider, audience: dict[str, object]
) -> None:
    assert claims(authorizer, provider.token(**audience))["sub"] == "maria"


@pytest.mark.parametrize(
    "wrong",
    [
        {"exp": 1},
        {"exp": None},
        {"nbf": 4_000_000_000},
        {"iss": "https://other.example"},
        {"aud": "them"},
        {"aud": None},
        {"aud": "them", "client_id": AUDIENCE},
    ],
    ids=str,
)
def test_token_of_the_provider_with_a_wrong_claim_is_refused(
    authorizer: Authorizer, provider: Provider, wrong: dict[str, object]
) -> None:
    with pytest.raises(RefusedError) as refused:
        claims(authorizer, provider.token(**wrong))
    assert refused.value.response.status == 401


def test_token_without_a_scope_of_the_route_is_forbidden(
    authorizer: Authorizer, provider: Provider
) -> None:
    with pytest.raises(RefusedError) as refused:
        claims(authorizer, provider.token(scope="openid"))
    assert refused.value.response.status == 403


def test_token_that_is_signed_with_the_public_key_as_a_secret_is_refused(
    authorizer: Authorizer, provider: Provider
) -> None:
    key = provider.keys.keys[0]
    forged = jwt.encode(
        {"iss": provider.url, "aud": AUDIENCE, "exp": 4_000_000_000, "scope": "chat"},
        str(key.as_dict(private=False)),
        "HS256",
        headers={"kid": key.kid},
    )
    with pytest.raises(RefusedError) as refused:
        claims(authorizer, forged)
    assert refused.value.response.status == 401


def test_new_key_of_the_provider_is_read_and_an_unknown_one_is_refused(
    authorizer: Authorizer, provider: Provider
) -> None:
    assert claims(authorizer, provider.token())
    published = provider.keys
    provider.keys = new_keys()
    assert claims(authorizer, provider.token())
    unpublished = provider.token()
    provider.keys = published
    other = IdentityProvider(provider.url, AUDIENCE)
    with pytest.raises(jwt.PyJWKClientError):
        other.claims(unpublished)


def test_token_of_a_provider_that_cannot_be_reached_is_refused(tmp_path: Path) -> None:
    down = Provider(url="http://127.0.0.1:9")
    authorizer = Authorizer(
        tmp_path / "key.pem",
        issuer="http://127.0.0.1/local",
        audience="skein-local",
        provider=IdentityProvider(down.url, AUDIENCE),
    )
    with pytest.raises(RefusedError) as refused:
        claims(authorizer, down.token())
    assert refused.value.response.status == 401
