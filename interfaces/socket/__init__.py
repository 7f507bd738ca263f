"""One memory for several programs of a machine: the one that has it open serves the others over a Unix socket."""
