"""Routes of outreach, for operators."""
