#!/usr/bin/env bash
# All that needs longer than CI has: the tests marked `long`, after the same checks as always, and then faults put into the code.
set -euo pipefail
HARNESS_TESTS=long bash "$(dirname "$0")/run.sh" "$@"
[ $# -gt 0 ] || bash "$(dirname "$0")/mutate.sh"
