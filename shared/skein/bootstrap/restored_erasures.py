"""Composition of the service that applies the erasure register to a restored table."""

from skein.bootstrap.ports import Ports
from skein.services.privacy.erasure_register import ErasureRegister
from skein.services.privacy.erasure_restore import RestoredErasures


def build_erasure_register(ports: Ports) -> ErasureRegister:
    """Build the register of erasures."""
    return ErasureRegister(table=ports.erasure_register)


def build_restored_erasures(ports: Ports) -> RestoredErasures:
    """Build the service that begins the erasures of the register again."""
    return RestoredErasures(table=ports.table, clock=ports.clock)
