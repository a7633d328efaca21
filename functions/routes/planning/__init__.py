"""Routes of goals and plans."""
