"""ZooKeeper, and its TLS."""
