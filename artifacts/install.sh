#!/bin/sh
# install.sh [DIRECTORY]: installs Millrace from the bundle in which it lies, without any network. The Python packages go
# into .venv and the collection into collections of DIRECTORY, by default the current one; what hosts get goes into the
# cache (MILLRACE_CACHE, by default .cache/millrace in the home directory). Everything is checked first. It can be run again.
set -eu
umask 022
export LC_ALL=C.UTF-8
bundle=$(cd "$(dirname "$0")" && pwd)
python=${PYTHON:-python3}
cache=${MILLRACE_CACHE:-$HOME/.cache/millrace}/artifacts

refuse() {
  echo "install.sh: $1. Nothing was changed." >&2
  exit 1
}
fact() { sed -n "s/^  \"$1\": \"\(.*\)\",\{0,1\}\$/\1/p" "$bundle/MANIFEST.json"; }
version_of() { "$1" -c 'import sys; print("%d.%d" % sys.version_info[:2])' 2> /dev/null || echo none; }

target=$(cd "${1:-.}" 2> /dev/null && pwd) || refuse "there is no directory $1: create it, or name another one"
[ -w "$target" ] || refuse "$target cannot be written: name a directory of your own"

[ -s "$bundle/SHA256SUMS" ] || refuse "the bundle has no SHA256SUMS: unpack it again, or copy it again"
if ! failed=$(cd "$bundle" && sha256sum --check --quiet --strict SHA256SUMS 2> /dev/null); then
  names=$(printf '%s\n' "$failed" | sed 's/: FAILED.*//' | head -n 3 | paste -s -d ' ')
  refuse "SHA256SUMS has another sum for ${names:-a part}: compare the sum of the bundle, and copy it again"
fi
[ "$(uname -m)" = "$(fact architecture)" ] ||
  refuse "the bundle is for $(fact architecture), and this machine is $(uname -m): make a bundle on a machine that is $(uname -m)"
[ "$(version_of "$python")" = "$(fact python)" ] ||
  refuse "the bundle is for Python $(fact python), and the version of $python is $(version_of "$python"): name a Python $(fact python) with PYTHON=, or make a bundle with this version"
"$python" -c 'import ensurepip, venv' 2> /dev/null ||
  refuse "$python cannot create environments: install its package for that, on Debian python3-venv"
if [ -e "$target/.venv/bin/python" ] && [ "$(version_of "$target/.venv/bin/python")" != "$(fact python)" ]; then
  refuse "$target/.venv is for another Python than $(fact python): remove it, or name another directory"
fi

new=
[ -e "$target/.venv" ] || new=$target/.venv
"$python" -m venv "$target/.venv"
if ! PIP_CONFIG_FILE=/dev/null "$target/.venv/bin/python" -m pip --isolated install --quiet --disable-pip-version-check \
  --no-cache-dir --no-index --find-links "$bundle/wheels" --require-hashes --requirement "$bundle/wheels.txt"; then
  rm -rf ${new:+"$new"}
  echo "install.sh: pip cannot install the wheels, as it says above: make the bundle on a machine with the same release of the system." >&2
  exit 1
fi
ANSIBLE_COLLECTIONS_PATH=$target/collections "$target/.venv/bin/ansible-galaxy" collection install --offline --no-deps --force \
  --collections-path "$target/collections" "$bundle/millrace-streaming-$(fact millrace).tar.gz"

mkdir -p "$cache"
sed -n 's/^[0-9a-f]*  artifacts\///p' "$bundle/SHA256SUMS" | while read -r name; do
  if ! cmp -s "$bundle/artifacts/$name" "$cache/$name"; then
    cp "$bundle/artifacts/$name" "$cache/.$name.part"
    mv "$cache/.$name.part" "$cache/$name"
  fi
done
echo "Millrace $(fact millrace) is in $target, and what its hosts get in $cache."
