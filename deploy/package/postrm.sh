#!/bin/sh
# Runs after the package was removed. The database outlives the package, even a purge.
set -e
if [ -d /run/systemd/system ]; then
  systemctl daemon-reload
fi
if [ "$1" = purge ] && [ -d /var/lib/arena ]; then
  echo "The data of Agora Arena is kept in /var/lib/arena, its backups in /var/backups/arena."
fi
