"""What the search in a tenant's knowledge finds, in public data sets that others have written."""
