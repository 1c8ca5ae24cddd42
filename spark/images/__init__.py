"""Frames of a camera, judged by a model: good, or with a defect (docs/develop/images.md)."""
