"""What happens: each service is one capability, built from ports."""
