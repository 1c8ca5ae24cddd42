"""The services of a cluster, a folder each: its model, its rules, its keys."""
