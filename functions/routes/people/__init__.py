"""The routes of people: their records, their profiles and their privacy."""
