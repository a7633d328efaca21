"""Implement the ports in memory, for the tests and the bench. Nothing deployed imports them."""
