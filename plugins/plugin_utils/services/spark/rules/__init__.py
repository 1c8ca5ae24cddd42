"""The rules about Spark, by subject."""
