"""The model of a cluster: typed, pure functions of its inventory, for the control node."""
