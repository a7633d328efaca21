"""Tasks of another benchmark become cases, and are played right and with one wrong call each."""
