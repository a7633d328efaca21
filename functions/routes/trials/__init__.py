"""Routes of cases and trials."""
