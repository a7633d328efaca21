"""What recall finds, and what its index costs."""
