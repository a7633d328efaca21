"""One turn of an agent: what it is shown, what it says, what it does."""
