"""Take messages of queues and changes of the table, and call functions with them."""
