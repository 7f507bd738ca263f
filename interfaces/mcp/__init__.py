"""The door for models that call tools."""
