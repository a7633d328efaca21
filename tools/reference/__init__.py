"""Generators of those pages in `docs/` whose content comes from the code."""
