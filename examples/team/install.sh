#!/bin/sh
# Install what runs topics.sh into .venv and collections. MILLRACE_URL is the address of the collection's tar file.
set -eu
cd "$(dirname "$0")"
curl --fail --silent --show-error --location --output millrace-streaming.tar.gz "$MILLRACE_URL"
tar -xzf millrace-streaming.tar.gz requirements/control-node.txt
python3 -m venv .venv
.venv/bin/pip install --require-hashes -r requirements/control-node.txt
.venv/bin/ansible-galaxy collection install -p collections ./millrace-streaming.tar.gz
