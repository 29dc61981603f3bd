#!/usr/bin/env bash
# Asks the Go vulnerability database about everything that is linked in. Where
# the database cannot be reached it says so and passes; whatever else goes wrong fails.
set -euo pipefail
cd "$(dirname "$0")/.."

run=(go run golang.org/x/vuln/cmd/govulncheck@v1.3.0 -tags nomsgpack ./...)
code=0
out=$("${run[@]}" 2>&1) || code=$?
printf '%s\n' "$out"
if ((code != 0)) && grep -q '^govulncheck: fetching vulnerabilities: ' <<<"$out"; then
  echo "vuln: NOT CHECKED, the vulnerability database cannot be reached from here"
  exit 0
fi
exit "$code"
