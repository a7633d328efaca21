"""The local signer of tokens: its key is kept, and its times follow the local clock."""

import time
from pathlib import Path

from local.web.token_signer import TOKEN_SECONDS, TokenSigner


def test_times_of_a_token_are_those_of_the_local_clock_and_expiry_is_by_real_time(
    tmp_path: Path,
) -> None:
    """Else a new token would be refused after a sign-out, or expire by an advance of the clock."""
    ahead = [time.time() + 3600]
    signer = TokenSigner(
        tmp_path / "key.pem", issuer="https://issuer", audience="us", now=lambda: ahead[0]
    )
    token = signer.token(sub="u", tenant="t", scope="")
    issued = ahead[0]
    ahead[0] += 10 * TOKEN_SECONDS
    claims = signer.claims(token)
    assert claims["iat"] == int(issued)
    assert abs(claims["exp"] - ahead[0] - TOKEN_SECONDS) < 60


def test_key_is_kept(tmp_path: Path) -> None:
    def made() -> TokenSigner:
        return TokenSigner(tmp_path / "key.pem", issuer="https://issuer", audience="us")

    token = made().token(sub="u", tenant="t", scope="")
    assert made().claims(token)["sub"] == "u"
    assert (tmp_path / "key.pem").stat().st_mode & 0o077 == 0
