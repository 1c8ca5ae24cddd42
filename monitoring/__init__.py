"""Programs that watch a cluster, on the hosts of the group monitoring."""
