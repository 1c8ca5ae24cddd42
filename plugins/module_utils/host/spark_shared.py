"""The directory that all Spark hosts share, as hosts see it: this module needs no library."""

MARK = ".millrace-id"
"""The file in it with its id, which site.yml writes once."""
