#!/usr/bin/env bash
# Builds the sdist and the wheel into dist/, checks what an index would refuse, and installs each again from its file.
# In an environment of its own; nothing of the checkout is imported. PYTHON names another Python.
set -euo pipefail
cd "$(dirname "$0")/.."
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

"${PYTHON:-python3}" -m venv "$scratch/tools"
"$scratch/tools/bin/pip" install --quiet --disable-pip-version-check build twine
git clone --quiet . "$scratch/clone"
"$scratch/tools/bin/python" -m build --outdir dist "$scratch/clone" >"$scratch/build.txt" 2>&1 || { tail -20 "$scratch/build.txt"; exit 1; }
version=$(sed -n 's/^version = "\(.*\)"/\1/p' pyproject.toml)
files=("dist/heart_voice_harness-$version.tar.gz" "dist/heart_voice_harness-$version-py3-none-any.whl")
"$scratch/tools/bin/twine" check --strict "${files[@]}"

listed() { (cd "$1" && find harness -type f ! -name '*.pyc' | sort); }
for file in "${files[@]}"; do
  environment=$scratch/$(basename "$file")-installed
  "${PYTHON:-python3}" -m venv "$environment"
  "$environment/bin/pip" install --quiet --disable-pip-version-check --constraint constraints.txt "$file"
  (cd "$scratch" && "$environment/bin/harness" --version)
  listed "$environment"/lib/python3*/site-packages >"$environment/files.txt"
done
diff "$scratch"/*/files.txt && echo "sdist and wheel install the same $(wc -l <"$environment/files.txt") files"
