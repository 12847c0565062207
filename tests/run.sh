#!/usr/bin/env bash
# Installs what the tests need into .venv, then checks style and types and runs the tests.
# With arguments it is a developer's loop: pytest alone, of these paths, in the .venv that is there (bash tests/run.sh tests/harness/ranking).
# What Python packages do not bring: pages are tested in a real browser, links over real TLS, the two seats over a loop of real
# sound, and telephones against a real one (baresip), a real proxy (kamailio) and one that refuses (sipp).
set -euo pipefail
cd "$(dirname "$0")/.."

if [ $# -eq 0 ] || [ ! -x .venv/bin/pytest ]; then
  programs=(chromium openssl pactl baresip /usr/sbin/kamailio sipp)
  if [ "$(command -v "${programs[@]}" | wc -l)" -lt "${#programs[@]}" ]; then
    as_root=""
    [ "$(id -u)" -eq 0 ] || as_root="sudo"
    $as_root apt-get update -qq
    $as_root apt-get install -y -qq --no-install-recommends chromium openssl \
      pulseaudio pulseaudio-utils baresip-core kamailio sip-tester >/dev/null
  fi

  [ -x .venv/bin/python ] || python3 -m venv .venv
  .venv/bin/python -m pip install --quiet --constraint constraints.txt --editable '.[local,test]'
  .venv/bin/ruff check .
  .venv/bin/ruff format --check .
  .venv/bin/mypy & types=$!
  .venv/bin/lint-imports --no-cache >.venv/imports.txt || { cat .venv/imports.txt; exit 1; }
  wait "$types"
fi

# Three at a time first (two of them compute, the third mostly waits), then those that need the machine to themselves.
# Files are taken in their own order: by the number of their tests, those with few long ones would come last and be waited for.
# Few paths are soon done by one. 5 is pytest's code for no test among those asked for.
which=${HARNESS_TESTS:-not long}
side_by_side=(-n 3 --dist loadfile --no-loadscope-reorder)
[ $# -eq 0 ] || side_by_side=()
together=0 alone=0
.venv/bin/python -m pytest "${side_by_side[@]}" -m "($which) and not alone" "$@" || together=$?
.venv/bin/python -m pytest -m "($which) and alone" "$@" || alone=$?
for code in "$together" "$alone"; do
  [ "$code" -eq 0 ] || [ "$code" -eq 5 ] || exit "$code"
done
[ "$together" -eq 0 ] || [ "$alone" -eq 0 ]
[ $# -gt 0 ] || [ "$which" != "not long" ] || .venv/bin/python -m tests.sizes --suite-s "$SECONDS"
