"""The console, and the page of a report."""
