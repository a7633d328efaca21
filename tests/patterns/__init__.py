"""The access patterns of `docs/data.md`, each carried out in a world and measured."""
