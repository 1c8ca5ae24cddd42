"""HDFS."""
