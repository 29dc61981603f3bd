#!/bin/sh
# Runs after the package was installed or upgraded (deb: configure; rpm: 1 or 2).
set -e
case "$1" in
configure | 1 | 2) ;;
*) exit 0 ;;
esac

if ! getent group arena >/dev/null; then
  groupadd --system arena
fi
if ! getent passwd arena >/dev/null; then
  useradd --system --gid arena --home-dir /var/lib/arena --no-create-home --shell /usr/sbin/nologin --comment "Agora Arena" arena
fi
install -d -m 0750 -o arena -g arena /var/lib/arena /var/backups/arena
chown root:arena /etc/arena/arena.env # it may hold secrets
chmod 0640 /etc/arena/arena.env

if [ -d /run/systemd/system ]; then
  systemctl daemon-reload
  # A service that was running runs the new version now.
  systemctl try-restart arena.service
fi
case "$1 $2" in
"configure " | "1 ")
  echo "Agora Arena is installed. Set ARENA_PUBLIC_URL in /etc/arena/arena.env, then:"
  echo "  systemctl enable --now arena"
  echo "  journalctl --unit arena    # shows the admin token once"
  ;;
esac
