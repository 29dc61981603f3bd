package server

import (
	"net/http"
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/agora-arena/arena/arena"
)

const (
	// proxyRecent is how long a proxy that was seen counts as in use.
	proxyRecent = time.Hour
	// maxProxies is the most addresses that are logged: any client can send the header.
	maxProxies = 16
)

// proxyWatch finds proxies that ARENA_TRUSTED_PROXIES does not name. All clients behind
// one share its address, and with it the limits of one client (threat V2).
type proxyWatch struct {
	mu     sync.Mutex
	logged map[netip.Addr]bool
	last   netip.Addr // that sent X-Forwarded-For
	at     time.Time
}

// see notes a proxy, and reports whether it is to be logged.
func (w *proxyWatch) see(address netip.Addr, now time.Time) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.last, w.at = address, now
	if w.logged[address] || len(w.logged) >= maxProxies {
		return false
	}
	if w.logged == nil {
		w.logged = map[netip.Addr]bool{}
	}
	w.logged[address] = true
	return true
}

// watchProxies looks for the header of proxies in requests of undeclared addresses.
func (s *Server) watchProxies(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("X-Forwarded-For") != "" {
			address, err := netip.ParseAddr(arena.AddressOf(r.RemoteAddr))
			declared := slices.ContainsFunc(s.cfg.TrustedProxies, func(p netip.Prefix) bool { return p.Contains(address.Unmap()) })
			if err == nil && !declared && s.proxies.see(address, s.now()) {
				s.log.Warn("X-Forwarded-For of an undeclared address is ignored: if it is your proxy, name it in ARENA_TRUSTED_PROXIES; until then its clients share one address and its limits",
					"address", address.String(), "streams", s.cfg.SpectatorsPerAddress)
			}
		}
		h.ServeHTTP(w, r)
	})
}

// undeclaredProxy returns the address of a proxy that the settings should name and when
// it sent its last request, and reports whether there is one. The address is empty if
// only the settings show that there must be one.
func (s *Server) undeclaredProxy() (address string, at time.Time, found bool) {
	s.proxies.mu.Lock()
	defer s.proxies.mu.Unlock()
	if s.proxies.last.IsValid() && s.now().Sub(s.proxies.at) < proxyRecent {
		return s.proxies.last.String(), s.proxies.at, true
	}
	return "", time.Time{}, s.cfg.proxyMissing()
}

// proxyMissing reports whether TLS must end at a proxy that no setting names.
func (c Config) proxyMissing() bool {
	return c.PublicURL != nil && c.PublicURL.Scheme == "https" && c.TLS == TLSOff && len(c.TrustedProxies) == 0
}
