"""What lives in a cluster, as its files have it: comparing, a plan, and its application."""
