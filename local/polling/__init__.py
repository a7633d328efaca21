"""Call functions with the messages of queues and the changes of the table."""
