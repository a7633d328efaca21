"""What a tenant's sources are, and how they are stored."""
