"""The routes of the two HTTP APIs, in folders by subject, and their OpenAPI document."""
