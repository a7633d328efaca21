"""Routes of documents, threads and skills."""
