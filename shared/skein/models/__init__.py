"""Models of chats, agents, runs and jobs, with the keys under which they are stored."""
