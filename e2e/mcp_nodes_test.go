//go:build unix

package e2e

import (
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/agora-arena/arena/store/storetest"
)

// Two language models play a match, and each of their requests goes to another node
// than the one before: nothing of a connection is kept at a node. Threat G8.
func languageModels(t *testing.T, server *storetest.Server) {
	t.Helper()
	c := newCluster(t, server, 2)
	connection := func(key string) mcp.Transport { return remote(key, c.node(0), c.node(1)) }
	if _, types := duel(t, c.node(0), connection, connection); types["thinking"] == 0 {
		t.Errorf("events: %v", types)
	}
}
