"""The key that signs the tokens of the local stacks of the tests.

A stack makes a key for new data, which takes 0.1 CPU seconds. These stacks find one there.
"""

from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from local.files import write_whole
from local.log_file import PRIVATE
from local.stack import KEY_FILE
from local.web.token_signer import TokenSigner


def put_signing_key(data_dir: Path) -> None:
    """Put the key into a data folder that has none, as the stack would store it."""
    data_dir.mkdir(mode=PRIVATE, parents=True, exist_ok=True)
    file = data_dir / KEY_FILE
    if not file.exists():
        write_whole(file, _key())


@cache
def _key() -> bytes:
    with TemporaryDirectory() as folder:
        file = Path(folder) / KEY_FILE
        TokenSigner(file, issuer="", audience="")
        return file.read_bytes()
