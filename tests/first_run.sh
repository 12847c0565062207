#!/usr/bin/env bash
# README's first command, as a new user runs it: the package is installed from a clone and not editable, into an environment that
# was empty; the run is made outside the clone, with an empty home and cache. Only pip's own cache is shared.
# `bash tests/first_run.sh [--keep]`: --keep leaves the environment in .venv, for the tests to build on, and the weights in the home
# of whoever runs it where there are none. PYTHON names another Python.
set -euo pipefail
top=$(cd "$(dirname "$0")/.." && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
pip_cache=${PIP_CACHE_DIR:-${XDG_CACHE_HOME:-$HOME/.cache}/pip}

clone=$top
if [ "${1:-}" != --keep ] || [ -e "$top/.venv" ]; then
  git clone --quiet "$top" "$scratch/clone"
  clone=$scratch/clone
fi

line=$(grep -m1 '^python3 -m venv' "$clone/README.md")
install=${line%% && .venv/bin/harness *}
[ "$install" != "$line" ] || { echo "README.md's first command is not the one that this test knows: $line"; exit 1; }
run=${line##*/harness }
begun=$(date +%s)
(cd "$clone" && PIP_CACHE_DIR=$pip_cache PIP_DISABLE_PIP_VERSION_CHECK=1 bash -c "${install/#python3/${PYTHON:-python3}}" >"$scratch/install.txt" 2>&1) \
  || { tail -20 "$scratch/install.txt"; exit 1; }
echo "installed in $(($(date +%s) - begun)) s, $(du -sm "$clone/.venv" | cut -f1) MB"

# Progress, as it comes, into err.txt; the second of the first figure into `first`.
stamped() {
  while IFS= read -r line; do
    printf '%s\n' "$line"
    if [ ! -e "$scratch/first" ] && [[ $line =~ TTFA\ [0-9] ]]; then date +%s >"$scratch/first"; fi
  done >"$scratch/err.txt"
}

mkdir "$scratch/home" "$scratch/work"
code=0
(cd "$scratch/work" && unset PYTHONPATH XDG_CACHE_HOME XDG_CONFIG_HOME && HOME=$scratch/home PIP_CACHE_DIR=$pip_cache \
  "$clone/.venv/bin/harness" $run 2>&1 >"$scratch/out.txt") | stamped || code=$?
echo "first figure after $(($(cat "$scratch/first" 2>/dev/null || date +%s) - begun)) s, first page after $(($(date +%s) - begun)) s"
"$clone/.venv/bin/python" "$top/tests/first_run.py" "$scratch" "$code"
weights=.cache/heart-voice-harness/models
if [ "${1:-}" = --keep ] && [ ! -e "$HOME/$weights" ]; then
  mkdir -p "$(dirname "$HOME/$weights")"
  mv "$scratch/home/$weights" "$HOME/$weights"
fi
