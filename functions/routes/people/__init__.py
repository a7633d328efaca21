"""Routes of people: their records and profiles."""
