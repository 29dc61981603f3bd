package server

import (
	"fmt"
	"net/netip"

	"github.com/agora-arena/arena/internal/token"
	"github.com/agora-arena/arena/match/engine"
	"github.com/agora-arena/arena/protocol"
	"github.com/agora-arena/arena/store"
	"github.com/agora-arena/arena/stream"
	"github.com/agora-arena/arena/stream/ingest"
)

// URL returns the public URL.
func (s *Server) URL() string { return s.url }

// LocalURL returns a URL that reaches this node from this machine, whatever
// its public URL is.
func (s *Server) LocalURL() string {
	scheme := "http"
	if s.certs != nil {
		scheme = "https"
	}
	addr, err := netip.ParseAddrPort(s.listener.Addr().String())
	if err != nil || !addr.Addr().IsUnspecified() {
		return scheme + "://" + s.listener.Addr().String()
	}
	return fmt.Sprintf("%s://127.0.0.1:%d", scheme, addr.Port())
}

// MetricsURL returns where the metrics are, "" when they are off.
func (s *Server) MetricsURL() string {
	if s.privateListener == nil {
		return ""
	}
	return "http://" + s.privateListener.Addr().String() + "/metrics"
}

// AdminToken returns an admin token when New knows one in clear text: it is a
// setting, or New made it because the arena had none.
func (s *Server) AdminToken() (secret string, made bool) { return s.adminToken, s.newAdminToken != "" }

// Parts are the parts of a node that benchmarks measure one by one.
type Parts struct {
	Node   string // id
	Config Config
	Store  *store.Store
	Hub    *stream.Hub
	Seats  *ingest.Seats
	Runner *engine.Engine
	Keys   *token.Keys
	Client *protocol.Client
}

// Parts returns parts of this node. They are valid until Close.
func (s *Server) Parts() Parts {
	return Parts{Node: s.node, Config: s.cfg, Store: s.store, Hub: s.hub, Seats: s.seats, Runner: s.runner, Keys: s.keys, Client: s.client}
}
