"""Check, build and deploy a stack, and measure its functions."""
