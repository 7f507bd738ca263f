"""``/setup``: connects a real model and writes ``.env``, or leaves everything as it was."""
