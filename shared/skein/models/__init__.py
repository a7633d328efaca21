"""What things are: chats, agents, runs, jobs, and how each is stored."""
