"""Clicks on pages, counted by page and hour: a job to copy and change."""
