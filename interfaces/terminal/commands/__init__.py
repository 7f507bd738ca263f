"""What each command does, by subject: a leaf calls the conversation or the memory and shows what came."""
