"""The model: what follows from an inventory for each host, as plain values and pure functions."""
