"""Tests: unit, contract, handlers, end to end, faults, architecture."""
