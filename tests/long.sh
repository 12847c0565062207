#!/usr/bin/env bash
# What needs longer than CI has: the tests marked `long`, after the same checks as always.
set -euo pipefail
HARNESS_TESTS=long exec bash "$(dirname "$0")/run.sh" "$@"
