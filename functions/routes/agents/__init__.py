"""Routes of agents, their directory and their lines."""
