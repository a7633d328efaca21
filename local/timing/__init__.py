"""Keep the local clock, fire schedules, and list what is due."""
