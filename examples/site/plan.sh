#!/bin/sh
# Write into plan.md what apply.sh would do: to the hosts, and to topics, users and grants. Changes nothing.
set -eu
cd "$(dirname "$0")"
rc=0
show() {
  playbook=$1
  shift
  printf '\n### %s\n\n~~~~~~text\n' "$playbook"
  ansible-playbook -i prod "millrace.streaming.$playbook" --check --diff "$@" 2>&1 || rc=$?
  echo '~~~~~~'
}
{
  echo '## Plan'
  show site
  show resources -e "resources_json=$PWD/plan.json"
} > plan.md
# A comment on GitHub has space for 65,536 characters; the recaps are at the end.
if [ "$(wc -c < plan.md)" -gt 60000 ]; then
  printf '## Plan\n\nThe last 60,000 characters:\n\n~~~~~~text\n' > plan.end
  tail -c 60000 plan.md | grep -v '^~~~~~~' >> plan.end
  echo '~~~~~~' >> plan.end
  mv plan.end plan.md
fi
exit $rc
