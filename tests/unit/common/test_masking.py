"""What is left to see of numbers and of errors' words."""

import logging
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skein import masking
from skein.correlation import correlated, current, follow
from skein.errors import Correctable, Unavailable
from skein.logs import LogFormatter
from skein.masking import in_our_words, masked, traceback_without_words

SECRET = "my sister's diagnosis"

# Two errors: one raised by code outside the package, one raised inside it.
TWO_ERRORS = """
from skein.masking import in_our_words, masked
for attempt in (lambda: int("x"), lambda: masked(None)):
    try:
        attempt()
    except Exception as error:
        print(in_our_words(error))
"""


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("+15550000006", "+1555***0006"),
        ("to +15550000006, from +4915112345678.", "to +1555***0006, from +4915***5678."),
        ("?To=%2B15550000006&x=1", "?To=%2B1555***0006&x=1"),
        ("+4912345", "+4***45"),
        ("{'+15550000006'}", "{'+1555***0006'}"),
        ("2026-02-18 12:00:00,000+0000", "2026-02-18 12:00:00,000+0000"),
        ("run_01KX_chat_9, 15550000006 tokens", "run_01KX_chat_9, 15550000006 tokens"),
        ("1+2", "1+2"),
    ],
)
def test_masked_number_shows_only_its_ends(text: str, shown: str) -> None:
    assert masked(text) == shown


@given(
    st.from_regex(r"\+[1-9][0-9]{6,14}", fullmatch=True),
    st.text(alphabet=st.characters(categories=["L", "P", "Z"]), max_size=5),
)
def test_phone_number_in_any_context_is_masked(number: str, around: str) -> None:
    shown = masked(f"{around}{number}{around}")
    assert number[1:] not in shown
    assert "***" in shown
    assert masked(shown) == shown


def stumble() -> None:
    raise ValueError(SECRET)


def stumbled(error: Exception | None = None) -> BaseException:
    """An error with a traceback; a given one comes from the words of another."""
    try:
        try:
            stumble()
        except ValueError as cause:
            if error is None:
                raise
            raise error from cause
    except Exception as raised:
        return raised
    raise AssertionError("it did not stumble")


def test_masked_error_of_a_library_has_its_type_and_place() -> None:
    assert in_our_words(stumbled()) == "ValueError"
    with pytest.raises(TypeError) as raised:
        masked(None)  # type: ignore[arg-type]
    assert re.fullmatch(r"TypeError in masking.py, line \d+", in_our_words(raised.value))


def test_masking_in_a_checkout_named_skein_shows_places_of_the_package_only(
    tmp_path: Path,
) -> None:
    checkout = tmp_path / "skein"
    package = checkout / "shared" / "skein"
    package.mkdir(parents=True)
    source = Path(masking.__file__).parent
    for name in ("__init__", "errors", "masking"):
        shutil.copy(source / f"{name}.py", package)
    script = checkout / "stranger.py"
    script.write_text(f"import sys; sys.path.insert(0, {str(package.parent)!r})\n{TWO_ERRORS}")
    ran = subprocess.run(
        [sys.executable, "-I", str(script)], capture_output=True, text=True, check=True
    )
    outside, inside = ran.stdout.splitlines()
    assert outside == "ValueError"
    assert re.fullmatch(r"TypeError in masking\.py, line \d+", inside)


def test_our_own_errors_keep_their_words() -> None:
    assert in_our_words(Unavailable("the table is gone")) == "Unavailable: the table is gone"


def test_tool_errors_are_logged_without_their_text() -> None:
    assert in_our_words(Correctable(f"you have no tool {SECRET!r}")) == "Correctable"


def test_masked_traceback_has_the_places_and_no_texts_of_errors() -> None:
    told = traceback_without_words(stumbled(Unavailable("the table is gone")))
    assert SECRET not in told
    assert "in stumble" in told
    assert told.index("ValueError") < told.index("which led to")
    assert told.endswith("Unavailable: the table is gone\n")


def test_masked_traceback_of_cyclic_error_contexts_terminates() -> None:
    one, other = ValueError("1"), ValueError("2")
    one.__context__, other.__context__ = other, one
    assert traceback_without_words(one).count("ValueError") == 2


def line(**fields: object) -> str:
    """A line of the log, as Lambda would get it."""
    record = logging.LogRecord("skein", logging.ERROR, "f.py", 1, "it failed", None, None)
    vars(record).update(fields)
    return LogFormatter(serialize_stacktrace=False).format(record)


def test_a_line_holds_neither_words_nor_notes_of_an_error_nor_numbers() -> None:
    error = stumbled()
    error.add_note(SECRET)
    told = line(exc_info=(type(error), error, error.__traceback__), key="PHONE#+15550000006")
    assert SECRET not in told
    assert "in stumble" in told
    assert "PHONE#+1555***0006" in told


def test_log_line_contains_the_correlation_id() -> None:
    assert "correlation_id" not in line()
    with correlated("req-1"):
        assert '"correlation_id":"req-1"' in line()


def test_followed_id_ends_with_its_scope() -> None:
    with correlated("req-1"):
        with correlated():
            assert current() is None
            follow("run-1")
            assert current() == "run-1"
        assert current() == "req-1"
    assert current() is None


def test_follow_outside_of_a_scope_does_nothing() -> None:
    follow("run-1")
    assert current() is None


def test_a_function_that_is_one_piece_of_work_starts_with_nothing_each_time() -> None:
    seen = []

    @correlated()
    def work(name: str) -> None:
        seen.append(current())
        follow(name)

    work("a")
    work("b")
    assert seen == [None, None]
    assert current() is None
