"""The model of a cluster: typed, pure functions of its inventory, worked out on the controller."""
