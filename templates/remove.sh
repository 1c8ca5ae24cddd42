#!/bin/sh
# remove.sh PATTERN PATH...: kills the units that match and removes them and the paths; says what it removed.
set -eu
pattern=$1
shift
find /etc/systemd/system -maxdepth 1 -name "$pattern" -printf '%f\n' | while read -r unit; do
  systemctl kill --signal=KILL "$unit" 2> /dev/null || true
  systemctl disable --quiet --now "$unit"
  rm "/etc/systemd/system/$unit"
  echo "removed $unit"
done
systemctl daemon-reload
for path in "$@"; do
  if [ -e "$path" ] || [ -L "$path" ]; then
    rm -rf "$path"
    echo "removed $path"
  fi
done
