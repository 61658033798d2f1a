"""The operator's room: what a person asks and decides about a deployment, from a terminal.

What it is: `uv run -m lib.ops` with doctor, list, show, resolve and key new. It acts on the
deployment whose environment it is run in: the same names, read the same way, `.env` included.
Knows: the record and its moves, the settings, both wires; `probes.py` is yours.
Imports: every room, and `rich` of the dependency group `dev`. No other room imports it.
Never deployed: `.vercelignore` names it.
"""
