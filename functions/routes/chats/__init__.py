"""The routes of chats, their messages and the live channel."""
