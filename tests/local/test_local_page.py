"""The page of the local stack's own calls lists the calls of the code."""

from local.web.developer_api import CALLS
from tests.support.local_page import documented_calls, page


def test_page_lists_each_call_with_its_fields_and_parameters() -> None:
    documented = {call: set(described.names) for call, described in documented_calls().items()}
    assert documented == {call: set(local.names) for call, local in CALLS.items()}


def test_page_has_one_example_for_each_call() -> None:
    for (method, name), described in documented_calls().items():
        assert f"$URL/local/{name}" in described.example
        assert ("-d " in described.example or "-X POST" in described.example) == (method == "POST")


def test_page_names_each_error_status_of_the_calls() -> None:
    assert all(f"| {status} |" in page() for status in (400, 403, 404, 413, 503))
