"""The schema registry: its instances."""
