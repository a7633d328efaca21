"""Stories of several people who tell an agent things alone: who needs what, who must not have it."""
