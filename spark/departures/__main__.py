"""Run the pipeline: `python3 -m departures run`, or `dry-run`."""

from pathlib import Path

from millrace_pipelines import main

main(Path(__file__).with_name("spark-pipeline.yml"))
