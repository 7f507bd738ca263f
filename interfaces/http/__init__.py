"""The doors over HTTP: one application, a router for each kind of client."""
