"""Tools that build, deploy and check Skein. They are not part of a deployment."""
