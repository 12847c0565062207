#!/usr/bin/env bash
# Installs what the tests need into .venv, then checks style and types and runs the tests.
# A browser and openssl are what Python packages do not bring: the report is tested in a real browser, links over real TLS.
set -euo pipefail
cd "$(dirname "$0")/.."

if ! command -v chromium >/dev/null || ! command -v openssl >/dev/null; then
  as_root=""
  [ "$(id -u)" -eq 0 ] || as_root="sudo"
  $as_root apt-get update -qq
  $as_root apt-get install -y -qq --no-install-recommends chromium fonts-dejavu-core openssl >/dev/null
fi

[ -x .venv/bin/python ] || python3 -m venv .venv
.venv/bin/python -m pip install --quiet --constraint constraints.txt --editable '.[local,test]'
.venv/bin/ruff check .
.venv/bin/ruff format --check .
.venv/bin/lint-imports --no-cache >.venv/imports.txt || { cat .venv/imports.txt; exit 1; }
.venv/bin/mypy
exec .venv/bin/python -m pytest -m "not long" "$@"
