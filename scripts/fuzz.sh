#!/usr/bin/env bash
# Runs every fuzz target for an equal part of FUZZTIME (whole seconds or minutes: 60s, 30m), each for
# a second at least. What fails is kept under testdata/fuzz of its room and is a test from then on.
set -euo pipefail
cd "$(dirname "$0")/.."

total=${FUZZTIME:-60s}
case $total in
  *m) total=$((${total%m} * 60)) ;;
  *) total=${total%s} ;;
esac
mapfile -t targets < <(grep -rHoE --include='*_test.go' '^func Fuzz[A-Za-z0-9_]+' --exclude-dir=node_modules . | sed -E 's|^\./(.*)/[^/]*:func (.*)$|\1 \2|' | sort)
each=$((total / ${#targets[@]}))
((each > 0)) || each=1
echo "fuzz: ${#targets[@]} targets, $each s each"
for target in "${targets[@]}"; do
  read -r room name <<<"$target"
  echo "== $room $name"
  go test -tags nomsgpack -run '^$' -fuzz "^$name\$" -fuzztime "${each}s" -parallel "${FUZZPARALLEL:-2}" "./$room"
done
