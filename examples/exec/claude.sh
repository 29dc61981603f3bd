#!/bin/sh
# Plays with Claude Code, without its tools and MCP servers. Run: ./claude.sh http://127.0.0.1:8080 --league trivia
exec arena join "$@" --exec 'claude -p --tools "" --strict-mcp-config'
