"""Where data and installed files are: in the clone, or in the user's folders if installed.

The module needs only the standard library, because the installers import it.
"""

import os
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
IN_CLONE = (ROOT / "pyproject.toml").exists()  # the wheel leaves this file out
URL_FILE = "url"  # the address of the stack that uses the data folder, or used it last
DEFAULT_URL = "http://127.0.0.1:8787"


def cache_folder() -> Path:
    """Return the folder with the model, the token ranks and the embeddings (`SKEIN_CACHE_DIR`)."""
    return _folder("SKEIN_CACHE_DIR", ".cache", "XDG_CACHE_HOME", Path(".cache"))


def data_folder(environment: Mapping[str, str] = os.environ) -> Path:
    """Return the folder with all data that stays between starts (`SKEIN_DATA_DIR`)."""
    in_home = Path(".local", "share")
    return _folder("SKEIN_DATA_DIR", ".data", "XDG_DATA_HOME", in_home, environment)


def default_url() -> str:
    """Return the URL in `SKEIN_URL`; if unset, that of the stack on the user's data folder."""
    return os.environ.get("SKEIN_URL") or running_url()


def running_url(folder: Path | None = None) -> str:
    """Return the URL of the stack that uses a data folder; by default, the user's data folder."""
    try:
        return ((folder or data_folder()) / URL_FILE).read_text(encoding="utf-8")
    except OSError:
        return DEFAULT_URL


def _folder(
    variable: str,
    in_clone: str,
    of_user: str,
    in_home: Path,
    environment: Mapping[str, str] = os.environ,
) -> Path:
    named = environment.get(variable)
    if named:
        return Path(named).expanduser().resolve()
    if IN_CLONE:
        return ROOT / in_clone
    return Path(environment.get(of_user) or Path.home() / in_home) / "skein"
