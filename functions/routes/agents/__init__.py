"""The routes of agents, their lines, skills and webhook services."""
