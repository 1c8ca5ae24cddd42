#!/bin/sh
# Topics of the team: `./topics.sh --check --diff` shows the plan, `./topics.sh` applies it. The login is in
# client.properties. Needs Ansible and the collection.
set -eu
cd "$(dirname "$0")"
exec ansible-playbook millrace.streaming.topics -e team=orders -e kafka_resources_dir=kafka \
  -e client_config=client.properties -e "resources_json=$PWD/plan.json" "$@"
