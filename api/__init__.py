"""The room of the one function; only `index.py` stands here."""
