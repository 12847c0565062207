#!/usr/bin/env bash
# Agents that others wrote, as they come from the package index: pinned, installed at run time into environments of their own,
# never copied into the tree. Each gets the profile that `harness agents new` writes and one call by `harness agents try`.
# Needs .venv, which tests/run.sh makes. What cannot be had is said, and is no failure; an agent that does not work is one.
set -euo pipefail
cd "$(dirname "$0")/.."
harness="$PWD/.venv/bin/harness"
[ -x "$harness" ] || { echo "peers: run tests/run.sh first, it makes .venv" >&2; exit 2; }
work=$(mktemp -d "${TMPDIR:-/tmp}/peers.XXXXXX")
trap 'rm -rf "$work"' EXIT
failed=0 tried=0

# peer NAME KIND "PINNED PACKAGES" EDIT COMMAND...: EDIT (for sed) is what its user changes in the profile that was written;
# {env} in the command is the bin folder of the peer's own environment.
peer() {
  local name=$1 kind=$2 packages=$3 edit=$4 command="${*:5}"
  local bin="$work/$name/bin"
  echo "== $name ($packages)"
  # shellcheck disable=SC2086
  if ! { python3 -m venv "$work/$name" && "$bin/pip" install --quiet $packages; } >"$work/$name.log" 2>&1; then
    echo "   could not be had: $(grep -v 'is ignored' "$work/$name.log" | tail -n 1)"
    return 0
  fi
  "$harness" agents new "$kind" --command "${command//\{env\}/$bin}" --out "$work/$name.toml" >/dev/null
  sed -i "$edit" "$work/$name.toml"
  tried=$((tried + 1))
  if "$harness" agents try "$work/$name.toml"; then
    echo "   $name works"
  else
    echo "   $name does NOT work"
    failed=$((failed + 1))
  fi
}

# Its protocol is the harness's raw PCM, one rate both ways; a mock that answers by level and takes no history.
peer voicebench raw-pcm "voicebench==0.2.0" "s/^output_rate_hz = 24000/output_rate_hz = 16000/" \
  "{env}/voicebench mock-server --port {port} --sample-rate 16000"

echo "$tried tried, $failed failed"
[ "$failed" -eq 0 ] && [ "$tried" -gt 0 ]
