"""Routes of tools of your own."""
