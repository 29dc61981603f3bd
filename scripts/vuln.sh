#!/usr/bin/env bash
# Usage: vuln.sh MODULE_DIR…
# Looks up everything that the Go modules link in the Go vulnerability database. Fails when it
# finds something, in any module, and for every error but one: if the database cannot be reached,
# it prints that in a box and passes.
set -euo pipefail
cd "$(dirname "$0")/.."

result=0 unchecked=()
for module in "$@"; do
  code=0
  out=$(go run golang.org/x/vuln/cmd/govulncheck@v1.3.0 -C "$module" -tags nomsgpack ./... 2>&1) || code=$?
  printf '%s: %s\n' "$module" "$out"
  if ((code != 0)) && grep -q '^govulncheck: fetching vulnerabilities: ' <<<"$out"; then
    unchecked+=("$module")
  elif ((code != 0)); then
    result=$code
  fi
done
if ((${#unchecked[@]})); then
  line='****************************************************************************'
  printf '%s\n' "$line" "* vuln: NOT CHECKED: ${unchecked[*]}" \
    '* The vulnerability database cannot be reached from here. Run make vuln where it' \
    '* can before a release.' "$line" >&2
fi
exit "$result"
