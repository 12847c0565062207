#!/usr/bin/env bash
# Tries the tests: 300 small faults, drawn by a seed, are put one by one into copies of the code that makes the figures.
# At least 85 in 100 must be found by a test, and every named one. About an hour on two cores; `bash tests/mutate.sh --help` for parts of it.
# cosmic-ray and coverage are wanted here alone, so they go into a folder of their own and never into the .venv that the tests run in.
set -euo pipefail
cd "$(dirname "$0")/.."
tools=.venv/mutation-8.7.0
[ -d "$tools" ] || .venv/bin/python -m pip install --quiet --target "$tools" cosmic-ray==8.7.0 coverage==7.17.4
export OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 PYTHONPATH="$PWD"
exec .venv/bin/python -m tests.mutation --tools "$PWD/$tools" "$@"
