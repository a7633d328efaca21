"""The outside: the only package that imports the libraries of AWS, OpenAI and Twilio."""
