"""Machinery: what a person sees in a browser. Knows tool names and setting faults, no value.

Plain HTML by hand: no template engine, so that `/` stays cheap. Imports contract, settings and,
of the machinery, the deployment and the addresses it answers at.
"""
