"""The memory for models that call tools."""
