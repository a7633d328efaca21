"""Stories of people who tell an agent things alone: what others may know, and must not."""
