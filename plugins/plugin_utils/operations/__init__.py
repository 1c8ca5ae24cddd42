"""Operations of the control node: plans, phases, reports."""
