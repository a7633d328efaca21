"""The access patterns of `docs/access-patterns.md`, each carried out in a world and measured."""
