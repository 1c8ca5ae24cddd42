"""Flights joined with tables of a database that change: what is known follows every change."""
