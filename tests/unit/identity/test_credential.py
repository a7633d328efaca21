"""The text of keys and tokens: it says where the record is, and nothing else fits."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skein.identity.models.credential import Credential

PART = st.text(min_size=1, max_size=64)


@given(tenant=PART, user=PART)
def test_text_is_read_as_it_was_written(tenant: str, user: str) -> None:
    for made in (
        Credential.new("key", tenant, "key_1"),
        Credential.new("token", tenant, user, "tok_1"),
    ):
        assert Credential.parse(made.text) == made
        assert made.matches(made.hash)
        assert not made.matches(Credential.new("key", tenant, "key_1").hash)


@pytest.mark.parametrize(
    ("tenant", "ids"),
    [
        ("", ("k",)),
        ("t" * 65, ("k",)),
        ("t", ()),
        ("t", ("a", "b")),
        ("t", ("k" * 129,)),
        ("t", ("",)),
    ],
)
def test_text_with_parts_that_no_record_has_is_refused(tenant: str, ids: tuple[str, ...]) -> None:
    assert Credential.parse(Credential.new("key", tenant, *ids).text) is None


@pytest.mark.parametrize("place", ["bm8", "W10", "eyJhIjoxfQ", "WyJ0IixudWxsXQ", "WyJ0IiwxXQ", "A"])
def test_text_without_a_list_of_texts_is_refused(place: str) -> None:
    assert Credential.parse(f"skein_key_{place}.{'A' * 43}") is None
