"""The real engine, for what only threads that really race can show."""

from tests.contract.conftest import engine_client

__all__ = ["engine_client"]
