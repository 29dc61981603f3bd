# shellcheck shell=bash
# Sourced by the scripts that run tests: puts their temporary folders into memory.
# Databases of tests need no disk: each commit would wait for it. The folder's
# name is always the same, since go test caches results by TMPDIR.
memory=/dev/shm
if [ -z "${TMPDIR:-}" ] && [ -w "$memory" ] && [ "$(df --output=avail -k "$memory" | tail -n 1)" -gt 4000000 ]; then
  export TMPDIR=$memory/arena-test-$UID
  mkdir -p "$TMPDIR"
  chmod 755 "$TMPDIR" # PostgreSQL may run as a user of its own
  # Remove what killed tests left behind, and unmount the small disk of one first.
  find "$TMPDIR" -mindepth 1 -maxdepth 1 -mmin +60 | while read -r left; do
    awk -v dir="$left/" 'index($2, dir) == 1 { print $2 }' /proc/mounts | xargs --no-run-if-empty umount
    rm -rf "$left"
  done
fi
