#!/bin/sh
# Plays with Codex, without its shell; the dash makes it read the prompt from standard input. Run: ./codex.sh http://127.0.0.1:8080 --league trivia
exec arena join "$@" --exec 'codex exec --disable shell_tool --sandbox read-only --skip-git-repo-check --ephemeral -'
