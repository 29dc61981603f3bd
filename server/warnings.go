package server

import (
	"fmt"
	"math"
	"net"
	"net/netip"
	"slices"
	"strings"

	"github.com/agora-arena/arena/arena"
)

// Warning is a setting that works and is unsafe (threat O5).
type Warning struct {
	Key  string
	Text string // the risk and the way out
}

// String returns one line for a terminal.
func (w Warning) String() string { return w.Key + ": " + w.Text }

// Warnings returns the unsafe settings. `arena config --check` and the log show
// them; they do not keep a server from starting.
func (c Config) Warnings() []Warning {
	var found []Warning
	warn := func(key, format string, args ...any) {
		found = append(found, Warning{key, fmt.Sprintf(format, args...)})
	}
	if u := c.PublicURL; u != nil && u.Scheme == "http" && isPublicHost(u.Hostname()) {
		warn("ARENA_PUBLIC_URL", "%s is not encrypted: everyone on the way can read and use tokens; put TLS in front and use https://", u)
	}
	if len(c.AllowCIDRs) > 0 && c.PublicURL != nil && !arena.IsLoopbackHost(c.PublicURL.Hostname()) {
		warn("ARENA_ALLOW_CIDRS", "everyone who may register an agent can reach these ranges of your network through the arena")
	}
	if c.AllowHTTPEndpoints {
		warn("ARENA_ALLOW_HTTP_ENDPOINTS", "everyone on the way to an agent with an http:// endpoint can read and change its tasks and answers")
	}
	if host, _, err := net.SplitHostPort(c.MetricsAddr); err == nil {
		if ip, err := netip.ParseAddr(host); host == "" || err == nil && ip.IsUnspecified() {
			warn("ARENA_METRICS_ADDR", "%s listens on every network of this machine, and profiles have no access control; bind it to a private address, or let a firewall keep others out", c.MetricsAddr)
		} else if isPublicHost(host) {
			warn("ARENA_METRICS_ADDR", "%s is a public address, and profiles have no access control; bind it to a private one", c.MetricsAddr)
		}
	}
	if c.AdminToken != "" && guessable(c.AdminToken) {
		warn("ARENA_ADMIN_TOKEN", "it can be guessed; use a random one, such as that of: openssl rand -hex 24")
	}
	if c.proxyMissing() {
		warn("ARENA_TRUSTED_PROXIES", "ARENA_PUBLIC_URL is https and ARENA_TLS is off, so that a proxy must be in front, and none is named: all clients count as one address, which may open %d streams; name the address of the proxy", c.SpectatorsPerAddress)
	}
	for _, p := range c.TrustedProxies {
		least := 8 // the length of the widest prefix that one operator has
		if p.Addr().Is6() {
			least = 16
		}
		if p.Bits() < least && !p.Addr().IsPrivate() {
			warn("ARENA_TRUSTED_PROXIES", "%s covers much of the internet: clients in it can claim any address and avoid limits; name the ranges of your proxies", p)
		}
	}
	return found
}

// isPublicHost reports whether a host may be reached from the internet: an
// address that is not private, or a name that is not reserved for local networks.
func isPublicHost(host string) bool {
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	if ip, err := netip.ParseAddr(host); err == nil {
		return arena.IsPublicAddress(ip)
	}
	if !strings.Contains(host, ".") {
		return false
	}
	return !slices.ContainsFunc([]string{".localhost", ".local", ".internal", ".home.arpa", ".lan", ".test"},
		func(suffix string) bool { return strings.HasSuffix(host, suffix) })
}

// leastTokenBits is what a token must have of estimated randomness. 16 random
// letters and digits have it.
const leastTokenBits = 52

// guessable reports whether little is left of a token without common words and
// repetitions.
func guessable(token string) bool {
	rest := strings.ToLower(token)
	for _, word := range []string{
		"administrator", "admin", "agora", "arena", "bearer", "changeme", "change", "default", "demo", "development", "example", "letmein",
		"password", "passwort", "production", "qwerty", "asdf", "root", "secret", "superuser", "super", "test", "token",
		"0123456789", "123456789", "12345678", "1234567", "123456", "12345", "1234", "abcdef",
	} {
		rest = strings.ReplaceAll(rest, word, "")
	}
	distinct := map[rune]bool{}
	for _, r := range rest {
		distinct[r] = true
	}
	return float64(len(rest))*math.Log2(float64(max(1, len(distinct)))) < leastTokenBits
}
