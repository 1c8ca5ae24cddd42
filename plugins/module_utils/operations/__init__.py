"""Operations on a running cluster: judging it, the gate, restarts, changes, upgrades."""
