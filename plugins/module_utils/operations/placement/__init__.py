"""Operations on a running cluster: its health, the gate, restarts, changes, upgrades."""
