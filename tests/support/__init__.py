"""Builders, fakes and clients that tests share."""
