#!/bin/sh
# Install what runs Millrace into .venv and collections: the collection of requirements.yml, then the Python packages that
# it pins. The first ansible-core only fetches the collection.
set -eu
cd "$(dirname "$0")"
python3 -m venv .venv
.venv/bin/pip install --quiet 'ansible-core>=2.19,<2.23'
.venv/bin/ansible-galaxy collection install --force -r requirements.yml
.venv/bin/pip install --quiet --require-hashes -r collections/ansible_collections/millrace/streaming/requirements/control-node.txt
