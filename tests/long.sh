#!/usr/bin/env bash
# All that needs longer than CI has: the tests marked `long`, after the same checks as always, and then faults put into the code.
# `long.sh tutorial` runs docs/tutorial.md to the letter in an empty folder, `long.sh gate-record` checks one unchanged agent a hundred
# times (FOLDER has the results, and is gone on with), `long.sh ci-jobs` executes both CI jobs; the first two write what they saw into their pages.
# `long.sh fuzz [TARGET …]` fuzzes what takes text, bytes and packets of others, FUZZ_S seconds a target (600);
# `long.sh kills [COMMAND…] [--kills N]` ends commands at random moments.
# `long.sh conformance [PEER …]` holds tools of others against agents of known behaviour; FOLDER keeps what it installs and measures.
# HEART_ESCONV names the folder of ESConv itself, which may not be copied into the project; without it its tests are skipped.
set -euo pipefail
cd "$(dirname "$0")/.."
case "${1:-}" in
  tutorial) exec .venv/bin/python -m tests.tutorial --write ;;
  gate-record) exec .venv/bin/python -m tests.gate_record "${FOLDER:-gate-record}" --write ;;
  ci-jobs) exec bash tests/ci_jobs.sh ;;
  fuzz) shift; exec .venv/bin/python -m tests.fuzz "$@" ;;
  conformance) shift; exec .venv/bin/python -m tests.conformance "$@" ${FOLDER:+--folder "$FOLDER"} ;;
  kills) shift && exec .venv/bin/python -m tests.kills "$@" ;;
esac
HARNESS_TESTS=long bash tests/run.sh "$@"
[ $# -gt 0 ] || bash tests/mutate.sh
