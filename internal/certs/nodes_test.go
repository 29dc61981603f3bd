//go:build unix

package certs

import (
	"context"
	"crypto/x509"
	"testing"

	"github.com/agora-arena/arena/internal/certs/certstest"
	"github.com/agora-arena/arena/internal/testwait"
	"github.com/agora-arena/arena/store/storetest"
)

// Nodes that start at once order one certificate, whichever of them the ACME
// server reaches.
func TestACME_nodes(t *testing.T) {
	t.Parallel()
	server, err := storetest.StartServer(context.WithoutCancel(t.Context()))
	if storetest.Missing(err) {
		t.Skip(err)
	}
	must(t, err)
	t.Cleanup(func() { must(t, server.Stop()) })
	database := server.Database(t)
	nodes := []*node{listen(t), listen(t), listen(t)}
	pebble := certstest.Start(t, certstest.FreeAddr(t), nodes[0].tls.Addr().String(), nodes[0].plain.Addr().String())
	for _, n := range nodes {
		n.start(t, ACME{Store: openStoreAt(t, database).Certificates, Directory: pebble.URL, CAFile: pebble.CAFile}, false)
	}
	var first *x509.Certificate
	for i, n := range nodes {
		testwait.Until(t, "each node has the certificate", func() bool { return !n.certs.Expires().IsZero() })
		got, err := n.presented(t, pebble.Roots(t))
		must(t, err)
		if i == 0 {
			first = got
		}
		if !got.Equal(first) {
			t.Errorf("node %d presents another certificate", i)
		}
	}
	if got := pebble.Orders(); got != 1 {
		t.Errorf("%d orders for %d nodes", got, len(nodes))
	}
}
