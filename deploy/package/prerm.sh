#!/bin/sh
# Runs before the package is removed (deb: remove; rpm: 0), not before an upgrade.
set -e
case "$1" in
remove | 0)
  if [ -d /run/systemd/system ]; then
    systemctl disable --now arena.service
  fi
  ;;
esac
