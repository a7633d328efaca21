"""Serve HTTP and WebSockets: the gateway, sign-in and the developer API."""
