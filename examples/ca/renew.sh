#!/bin/sh
# renew.sh INVENTORY SIGN: have all certificates signed that are due, and bring them to the hosts. SIGN is a script with
# the arguments REQUESTS SIGNED, two directories. It can be run again at any time: site.yml also brings what an earlier
# run has taken in.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
ansible-playbook -i "$1" millrace.streaming.certificate_requests -e "path=$work/requests"
if ls "$work"/requests/*.csr > /dev/null 2>&1; then
  "$2" "$work/requests" "$work/signed"
  ansible-playbook -i "$1" millrace.streaming.certificate_requests -e "signed=$work/signed"
fi
ansible-playbook -i "$1" millrace.streaming.site
