"""A door for programs of this machine: whoever holds a memory serves it to the others over a socket beside it."""
