"""Generators of the reference pages in `docs/` whose content is in the code."""
