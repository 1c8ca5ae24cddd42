"""The PostgreSQL server of the lab."""
