"""Models of Amazon Bedrock through its Converse API; their names begin with `converse/`."""
