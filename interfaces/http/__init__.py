"""The APIs over HTTP: one application, a router for each kind of client."""
