#!/bin/sh
# remove.sh UNITS PATH…: kills the units (separated by commas) and removes the paths; says what it removed.
set -eu
units=$(echo "$1" | tr , ' ')
shift
for unit in $units; do
  if [ -e "/etc/systemd/system/$unit" ]; then
    systemctl kill --signal=KILL "$unit" 2> /dev/null || true
    systemctl disable --quiet --now "$unit"
    rm "/etc/systemd/system/$unit"
    echo "removed $unit"
  fi
done
systemctl daemon-reload
for path in "$@"; do
  if [ -e "$path" ] || [ -L "$path" ]; then
    rm -rf "$path"
    echo "removed $path"
  fi
done
