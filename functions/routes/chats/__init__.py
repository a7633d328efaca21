"""Routes of chats, their messages and their transcripts."""
