"""Machinery: how a command settles (PROTOCOL). Knows records, leases, evidence; imports contract.

It knows neither MCP nor HTTP nor Vercel: time, arguments and the store's address come as values.
"""
