"""Rehearsal of a deployment: the real commands, an AWS emulator, and the built functions."""
