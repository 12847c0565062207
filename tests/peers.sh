#!/usr/bin/env bash
# Agents that others wrote, as they come from the package index: pinned, installed at run time into environments of their own,
# never copied into the tree, and played for twenty turns each. Needs .venv, which tests/run.sh makes. Arguments: words of the
# names of the peers to play (default: all), --folder DIR to keep what was installed, --write for the table in docs/evidence/peers.md.
set -euo pipefail
cd "$(dirname "$0")/.."
[ -x .venv/bin/harness ] || { echo "peers: run tests/run.sh first, it makes .venv" >&2; exit 2; }
exec .venv/bin/python -m tests.play_peers "$@"
