"""What each command does, by subject: each calls the conversation or the memory and shows the result."""
