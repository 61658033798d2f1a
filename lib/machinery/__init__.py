"""Machinery, not yours: the gate, the runner, the server, the pages. Imports contract, settings.

A template update replaces this folder and the contract, and no line of `lib/tools`, `lib/backend`.
"""
