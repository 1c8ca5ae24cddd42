"""The secrets of a cluster on the control node: authorities, certificates, passwords."""
