#!/bin/sh
# Bring hosts, topics, users and grants to what this repository describes, then check the cluster.
set -eu
cd "$(dirname "$0")"
ansible-playbook -i prod millrace.streaming.site --diff
ansible-playbook -i prod millrace.streaming.resources --diff
ansible-playbook -i prod millrace.streaming.health
