"""The dev server's room: the production wire on one machine, with nothing to sign up for.

What it is: an embedded Valkey engine behind a front that speaks Upstash's REST, a sample items
service on SQLite, the server that joins them with the app, and the demo.
Knows: the engine's protocol, both wires, and the faults to inject into them.
Imports: every room, and the packages of the dependency group `dev`. No other room imports it.
Never deployed: `.vercelignore` names it.
"""
