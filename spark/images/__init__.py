"""Frames of a camera, judged by a model: good, or with a defect (docs/images.md)."""
