#!/bin/sh
# remove.sh PATTERN PATH...: kills the units that match and removes them and the paths; prints what it removed. A path that
# ends with / is a directory that others may use too: it stays unless it is empty.
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
  case $path in
    */)
      if rmdir "$path" 2> /dev/null; then echo "removed $path"; fi
      continue
      ;;
  esac
  if [ -e "$path" ] || [ -L "$path" ]; then
    rm -rf "$path"
    echo "removed $path"
  fi
done
