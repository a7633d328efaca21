"""Issuers of people's tokens: a provider that is found by its address, and the local one beside it.

The checks are those of API Gateway's own JWT authorizer, which Skein's authorizer replaced.
"""

from collections.abc import Iterator
from pathlib import Path

import jwt
import pytest

from local.web.token_signer import TokenSigner
from skein.adapters.identity_provider import OpenIdProvider
from skein.errors import Unauthenticated, Unavailable
from skein.ports import IdentityProvider
from tests.support.identity_provider import AUDIENCE, Provider, new_keys, running_provider

LOCAL = "http://127.0.0.1/local"


@pytest.fixture(scope="module")
def provider() -> Iterator[Provider]:
    with running_provider() as running:
        yield running


@pytest.fixture(scope="module")
def signer(provider: Provider, tmp_path_factory: pytest.TempPathFactory) -> TokenSigner:
    key: Path = tmp_path_factory.mktemp("signer") / "key.pem"
    other = OpenIdProvider(provider.url, AUDIENCE)
    return TokenSigner(key, issuer=LOCAL, audience=AUDIENCE, other=other)


@pytest.fixture(params=["adapter", "local"])
def issuer(
    provider: Provider, signer: TokenSigner, request: pytest.FixtureRequest
) -> IdentityProvider:
    return signer if request.param == "local" else OpenIdProvider(provider.url, AUDIENCE)


def test_token_of_the_provider_is_verified(issuer: IdentityProvider, provider: Provider) -> None:
    claims = issuer.claims(provider.token())
    assert (claims["iss"], claims["sub"], claims["scope"]) == (provider.url, "maria", "chat")


@pytest.mark.parametrize(
    "audience", [{"aud": ["other", AUDIENCE]}, {"aud": None, "client_id": AUDIENCE}]
)
def test_audience_is_one_of_several_or_the_client_of_a_token_without_any(
    issuer: IdentityProvider, provider: Provider, audience: dict[str, object]
) -> None:
    assert issuer.claims(provider.token(**audience))["sub"] == "maria"


WRONG: list[dict[str, object]] = [
    {"exp": 1},
    {"exp": None},
    {"nbf": 4_000_000_000},
    {"iss": "https://other.example"},
    {"aud": "them"},
    {"aud": None},
]


@pytest.mark.parametrize("wrong", [*WRONG, {"aud": "them", "client_id": AUDIENCE}], ids=str)
def test_token_of_the_provider_with_a_wrong_claim_is_refused(
    issuer: IdentityProvider, provider: Provider, wrong: dict[str, object]
) -> None:
    with pytest.raises(Unauthenticated):
        issuer.claims(provider.token(**wrong))


@pytest.mark.parametrize("wrong", WRONG, ids=str)
def test_token_of_the_local_issuer_with_a_wrong_claim_is_refused(
    signer: TokenSigner, wrong: dict[str, object]
) -> None:
    good = signer.token(sub="u", tenant="t", scope="chat")
    claims = jwt.decode(good, options={"verify_signature": False}) | wrong
    kept = {name: value for name, value in claims.items() if value is not None}
    header = {"kid": jwt.get_unverified_header(good)["kid"]}
    with pytest.raises(Unauthenticated):
        signer.claims(jwt.encode(kept, signer._key, "RS256", headers=header))


def test_token_that_is_signed_with_the_public_key_or_not_at_all_is_refused(
    issuer: IdentityProvider, provider: Provider
) -> None:
    key = provider.keys.keys[0]
    claims = {"iss": provider.url, "aud": AUDIENCE, "exp": 4_000_000_000, "scope": "chat"}
    public = str(key.as_dict(private=False))
    for forged in (
        jwt.encode(claims, public, "HS256", headers={"kid": key.kid}),
        jwt.encode(claims, "", "none", headers={"kid": key.kid}),
        provider.token()[:-4] + "AAAA",
        "no.jwt",
        "",
    ):
        with pytest.raises(Unauthenticated):
            issuer.claims(forged)


def test_unknown_key_of_the_provider_is_refused(
    provider: Provider,
) -> None:
    published, provider.keys = provider.keys, new_keys()
    unpublished = provider.token()
    provider.keys = published
    issuer = OpenIdProvider(provider.url, AUDIENCE)
    with pytest.raises(Unauthenticated):
        issuer.claims(unpublished)


def test_provider_out_of_reach_is_no_refusal() -> None:
    """The gateway would keep a refusal for some minutes; after an error, the client tries again."""
    down = Provider(url="http://127.0.0.1:9")
    with pytest.raises(Unavailable):
        OpenIdProvider(down.url, AUDIENCE).claims(down.token())


def test_deployment_without_an_issuer_refuses_every_token() -> None:
    with pytest.raises(Unauthenticated):
        OpenIdProvider("", "").claims(Provider(url="").token(aud=""))
