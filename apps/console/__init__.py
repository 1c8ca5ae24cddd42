"""The console: a read-only page of the cluster, served live to users who sign in."""
