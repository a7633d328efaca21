"""Define the tools for documents, threads and skills."""
