"""What the knowledge of a tenant finds, on data sets that people outside of Skein have written."""
