package protocol

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"golang.org/x/net/idna"

	"github.com/agora-arena/arena/arena"
)

const (
	// MaxEndpoint is the longest endpoint URL, in bytes.
	MaxEndpoint = 2048
	// resolveLimit bounds the look-up of an endpoint's name.
	resolveLimit = 2 * time.Second
)

// refusal is a rule that an endpoint breaks.
type refusal struct {
	code arena.Code
	rule string // a sentence for the owner
}

func invalid(format string, args ...any) *refusal {
	return &refusal{arena.CodeEndpointInvalid, fmt.Sprintf(format, args...)}
}

func (r *refusal) at(field string) error {
	return &arena.Error{
		Code: r.code, Message: "the endpoint cannot be used",
		Fields: []arena.FieldError{{Field: field, Message: r.rule}},
	}
}

// CheckEndpoint is Endpoint without the key.
func (g *Guard) CheckEndpoint(ctx context.Context, field, raw string) (string, error) {
	canonical, _, err := g.Endpoint(ctx, field, raw)
	return canonical, err
}

// Endpoint judges the endpoint that an owner gave and returns its one canonical
// spelling (threats S1, S2, S5, S7), and the key that endpoints on the same
// server share (threat G1). A name is resolved, for at most 2 s, and refused when
// any of its addresses is blocked; one that does not resolve is accepted, since
// the endpoint's first check reports that. Plain http is for addresses that the
// operator opened, unless the Guard allows it (threat O8). The error is an
// *arena.Error about field with the code endpoint_invalid, endpoint_blocked or
// endpoint_own, or the context's own.
func (g *Guard) Endpoint(ctx context.Context, field, raw string) (canonical, key string, err error) {
	u, h, port, refused := parseEndpoint(raw)
	if refused != nil {
		return "", "", refused.at(field)
	}
	addrs, err := g.resolve(ctx, h)
	if err != nil {
		return "", "", err
	}
	if g.isOwn(h, addrs, port) {
		return "", "", (&refusal{arena.CodeEndpointOwn, "this is the arena's own address"}).at(field)
	}
	for _, a := range addrs {
		if rule := g.blocked(a, port); rule != "" {
			return "", "", (&refusal{arena.CodeEndpointBlocked, rule}).at(field)
		}
	}
	if len(addrs) == 0 { // nothing is known of it but the port
		if rule := g.blocked(netip.AddrFrom4([4]byte{1, 1, 1, 1}), port); rule != "" {
			return "", "", (&refusal{arena.CodeEndpointBlocked, rule}).at(field)
		}
	}
	if u.Scheme == "http" && !g.http && (len(addrs) == 0 || slices.ContainsFunc(addrs, func(a netip.Addr) bool { return !g.local(a) })) {
		return "", "", invalid("an endpoint on the internet must begin with https://: over http://, others on the network can read and change tasks and answers").at(field)
	}
	return u.String(), g.keyOf(u, addrs, port), nil
}

// local reports whether an address is on this machine or one that only the
// operator opened.
func (g *Guard) local(a netip.Addr) bool { return a.IsLoopback() || g.opened(a) }

// keyOf returns what endpoints on the same server have in common: host and
// port. Loopback addresses and those that only the operator opened are shared by
// agents that have nothing to do with each other, so that the key of an endpoint
// there is the whole URL.
func (g *Guard) keyOf(u *url.URL, addrs []netip.Addr, port int) string {
	if slices.ContainsFunc(addrs, g.local) {
		return u.String()
	}
	return net.JoinHostPort(u.Hostname(), strconv.Itoa(port))
}

// resolve returns the addresses of h, none when it has none now.
func (g *Guard) resolve(ctx context.Context, h host) ([]netip.Addr, error) {
	if h.addr.IsValid() {
		return []netip.Addr{h.addr}, nil
	}
	lookup, cancel := context.WithTimeout(ctx, resolveLimit)
	defer cancel()
	addrs, _ := g.resolver.LookupNetIP(lookup, "ip", h.name) // with an error: none
	if ctx.Err() != nil {
		return nil, fmt.Errorf("resolve %s: %w", h.name, context.Cause(ctx))
	}
	for i := range addrs {
		addrs[i] = addrs[i].Unmap() // the resolver's own form of an A record
	}
	return addrs, nil
}

// parseEndpoint reads an endpoint by its spelling alone and returns the canonical
// URL, its host and its port.
func parseEndpoint(raw string) (u *url.URL, h host, port int, refused *refusal) {
	if len(raw) > MaxEndpoint {
		return nil, h, 0, invalid("an endpoint has at most %d bytes, this one has %d", MaxEndpoint, len(raw))
	}
	if !utf8.ValidString(raw) || strings.ContainsFunc(raw, func(r rune) bool { return r <= ' ' || r == 0x7f || r == '\\' }) {
		return nil, h, 0, invalid("an endpoint is a URL without spaces, control characters and backslashes")
	}
	in, err := url.Parse(raw)
	switch {
	case err != nil:
		return nil, h, 0, invalid("this is not a URL")
	case in.Scheme != "http" && in.Scheme != "https":
		return nil, h, 0, invalid("an endpoint begins with http:// or https://")
	case in.Opaque != "" || in.Hostname() == "":
		return nil, h, 0, invalid("an endpoint needs a host")
	case in.User != nil:
		return nil, h, 0, invalid("an endpoint has no user name or password")
	case strings.Contains(raw, "#"):
		return nil, h, 0, invalid("an endpoint has no fragment (#…)")
	}
	if h, refused = parseHost(in.Hostname(), strings.HasPrefix(in.Host, "[")); refused != nil {
		return nil, h, 0, refused
	}
	port = map[string]int{"http": 80, "https": 443}[in.Scheme]
	standard := port
	if p := in.Port(); p != "" {
		if port, err = parsePort(p); err != nil {
			return nil, h, 0, invalid("%v", err)
		}
	}
	u = &url.URL{Scheme: in.Scheme, Host: h.String(), Path: in.Path, RawPath: in.RawPath, RawQuery: in.RawQuery}
	if port != standard {
		u.Host += ":" + strconv.Itoa(port)
	}
	if u.Path == "" {
		u.Path = "/"
	}
	return u, h, port, nil
}

func parsePort(s string) (int, error) {
	p, err := strconv.ParseUint(s, 10, 16)
	if err != nil || p == 0 {
		return 0, errors.New("a port is a number in 1..65535")
	}
	return int(p), nil
}

// host is the canonical host of a URL: a name or an address.
type host struct {
	name string // lower case, ASCII, without a trailing dot; "" when addr is valid
	addr netip.Addr
}

// String returns the host in the form of a URL.
func (h host) String() string {
	switch {
	case !h.addr.IsValid():
		return h.name
	case h.addr.Is6():
		return "[" + strings.ReplaceAll(h.addr.String(), "%", "%25") + "]"
	default:
		return h.addr.String()
	}
}

// parseHost folds the spellings of one host into one (threat S2).
func parseHost(s string, bracketed bool) (host, *refusal) {
	if bracketed {
		addr, err := netip.ParseAddr(s)
		if err != nil || !addr.Is6() {
			return host{}, invalid("[%s] is not an IPv6 address", s)
		}
		return host{addr: addr}, nil
	}
	name := s
	if strings.ContainsFunc(s, func(r rune) bool { return r >= utf8.RuneSelf }) {
		// Full-width digits and ideographic dots become ASCII here, as they would
		// in the HTTP client.
		ascii, err := idna.Lookup.ToASCII(s)
		if err != nil {
			return host{}, invalid("%q is not a host name", s)
		}
		name = ascii
	}
	name = strings.TrimSuffix(strings.ToLower(name), ".")
	if addr, err := netip.ParseAddr(name); err == nil && addr.Is4() {
		return host{addr: addr}, nil
	}
	if numeric(name) {
		return host{}, &refusal{
			arena.CodeEndpointBlocked,
			fmt.Sprintf("%q is a number that some programs take for an address: write four decimal numbers, as in 192.0.2.1", s),
		}
	}
	if !isName(name) {
		return host{}, invalid("%q is not a host name", s)
	}
	return host{name: name}, nil
}

// numeric reports whether the last label is a number, decimal, octal or
// hexadecimal: no top-level domain is, but inet_aton reads such names as
// addresses.
func numeric(name string) bool {
	last := name[strings.LastIndexByte(name, '.')+1:]
	digits, isHex := strings.CutPrefix(last, "0x")
	if last == "" {
		return false
	}
	return strings.Trim(digits, "0123456789") == "" || isHex && strings.Trim(digits, "0123456789abcdef") == ""
}

// isName reports whether name is a DNS name: labels of 1 to 63 letters, digits,
// hyphens (not at the ends) and underscores, 253 characters in all.
func isName(name string) bool {
	if len(name) > 253 {
		return false
	}
	for label := range strings.SplitSeq(name, ".") {
		if label == "" || len(label) > 63 || label[0] == '-' || label[len(label)-1] == '-' ||
			strings.Trim(label, "abcdefghijklmnopqrstuvwxyz0123456789-_") != "" {
			return false
		}
	}
	return true
}
