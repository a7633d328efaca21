"""Routes of memories, consolidations and reflections."""
