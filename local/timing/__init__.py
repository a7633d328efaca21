"""Keep the local clock, fire schedules, and tell what is due."""
