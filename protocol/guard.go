package protocol

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"
	"syscall"

	"code.dny.dev/ssrf"
)

// ErrBlocked is in the chain of every error of a connection that the guard
// refused.
var ErrBlocked = errors.New("address blocked")

// GuardOptions are the settings of a Guard. The zero value is the strictest.
type GuardOptions struct {
	// Allow opens addresses that are otherwise blocked, such as 127.0.0.0/8 on a
	// developer's machine, with every port. It never opens the address of a cloud
	// metadata service.
	Allow []netip.Prefix
	// AllowHTTP accepts endpoints on public addresses that begin with http://.
	AllowHTTP bool
	// Ports that may be dialled on public addresses; default 80, 443, 8080, 8443.
	Ports []int
	// OwnHosts are the arena's own addresses, as "host" for every port or
	// "host:port"; an agent there would be the arena playing against itself.
	OwnHosts []string
	// Resolver resolves names, in checks and when dialling; default is Go's own
	// resolver, which treats 127.1 as a name, unlike some C libraries.
	Resolver *net.Resolver
}

// Guard decides which addresses the arena dials: public ones, on a few ports,
// and what the operator opened (threats S1 to S5). It is safe for concurrent
// use.
type Guard struct {
	allow    []netip.Prefix
	http     bool
	ports    []int
	own      []ownHost
	resolver *net.Resolver
	public   *ssrf.Guardian
}

type ownHost struct {
	host host
	port int // 0: every port
}

// NewGuard makes a Guard. It refuses prefixes, ports and hosts that cannot be
// meant.
func NewGuard(o GuardOptions) (*Guard, error) {
	g := &Guard{
		http:     o.AllowHTTP,
		ports:    slices.Clone(o.Ports),
		resolver: o.Resolver,
		public:   ssrf.New(ssrf.WithAnyPort()),
	}
	if len(g.ports) == 0 {
		g.ports = []int{80, 443, 8080, 8443}
	}
	if g.resolver == nil {
		g.resolver = &net.Resolver{PreferGo: true}
	}
	for _, p := range g.ports {
		if p < 1 || p > 65535 {
			return nil, fmt.Errorf("guard: port %d is not in 1..65535", p)
		}
	}
	for _, p := range o.Allow {
		if !p.IsValid() || p.Addr().Is4In6() {
			return nil, fmt.Errorf("guard: %q is not an address prefix to allow", p)
		}
		g.allow = append(g.allow, p.Masked())
	}
	for _, s := range o.OwnHosts {
		own, err := parseOwnHost(s)
		if err != nil {
			return nil, err
		}
		g.own = append(g.own, own)
	}
	return g, nil
}

func parseOwnHost(s string) (ownHost, error) {
	name, port := s, 0
	if h, p, err := net.SplitHostPort(s); err == nil {
		name = h
		if port, err = parsePort(p); err != nil {
			return ownHost{}, fmt.Errorf("guard: own host %q: %w", s, err)
		}
	}
	name = strings.TrimSuffix(strings.TrimPrefix(name, "["), "]")
	h, refused := parseHost(name, strings.Contains(name, ":"))
	if refused != nil {
		return ownHost{}, fmt.Errorf("guard: own host %q: %s", s, refused.rule)
	}
	return ownHost{host: h, port: port}, nil
}

// metadata lists the services by which clouds hand credentials to their
// machines. Nothing opens them.
func metadata() []netip.Addr {
	return []netip.Addr{
		netip.AddrFrom4([4]byte{169, 254, 169, 254}), // most clouds
		netip.AddrFrom4([4]byte{169, 254, 170, 2}),   // AWS, containers
		netip.AddrFrom4([4]byte{169, 254, 170, 23}),  // AWS, pods
		netip.AddrFrom4([4]byte{168, 63, 129, 16}),   // Azure; a public address
		netip.AddrFrom4([4]byte{100, 100, 100, 200}), // Alibaba
		netip.AddrFrom4([4]byte{192, 0, 0, 192}),     // Oracle
		netip.MustParseAddr("fd00:ec2::254"),         // AWS
		netip.MustParseAddr("fd00:ec2::23"),          // AWS, pods
		netip.MustParseAddr("fd20:ce::254"),          // Google
	}
}

// opened reports whether the operator opened an address that is otherwise
// blocked.
func (g *Guard) opened(a netip.Addr) bool {
	return slices.ContainsFunc(g.allow, func(p netip.Prefix) bool { return p.Contains(a) })
}

// blocked returns the rule that forbids to dial a at port, "" when none does.
func (g *Guard) blocked(a netip.Addr, port int) string {
	inner, wraps := embedded(a)
	switch {
	case !a.IsValid():
		return "the address cannot be read"
	case a.Zone() != "":
		return "an address with a zone means something only on one machine"
	case slices.Contains(metadata(), a) || wraps && slices.Contains(metadata(), inner):
		return "cloud metadata services are never dialled"
	case a.Is4In6():
		return fmt.Sprintf("%s wraps an IPv4 address in an IPv6 one", a)
	case g.opened(a):
		return ""
	case wraps:
		return fmt.Sprintf("%s wraps an IPv4 address in an IPv6 one", a)
	case g.public.SafeAddr(a) != nil:
		return fmt.Sprintf("%s is not a public address", a)
	case !slices.Contains(g.ports, port):
		return fmt.Sprintf("port %d is not one of %s", port, list(g.ports))
	}
	return ""
}

// embedded returns the IPv4 address that some gateway or stack would reach under
// the IPv6 address a: IPv4-mapped and -compatible, NAT64, 6to4, Teredo, ISATAP.
func embedded(a netip.Addr) (netip.Addr, bool) {
	if !a.Is6() {
		return netip.Addr{}, false
	}
	b := a.As16()
	v4 := func(i int) (netip.Addr, bool) { return netip.AddrFrom4([4]byte(b[i : i+4])), true }
	prefix := func(s string) bool { return netip.MustParsePrefix(s).Contains(a.WithZone("")) }
	switch {
	case a.Is4In6(), prefix("64:ff9b::/96"), prefix("64:ff9b:1::/48"):
		return v4(12)
	case prefix("::/96") && a != netip.IPv6Unspecified() && a != netip.IPv6Loopback():
		return v4(12)
	case prefix("2002::/16"):
		return v4(2)
	case prefix("2001::/32"): // Teredo holds the client's address inverted
		for i := 12; i < 16; i++ {
			b[i] = ^b[i]
		}
		return v4(12)
	case b[8]&^2 == 0 && b[9] == 0 && b[10] == 0x5e && b[11] == 0xfe: // ISATAP
		return v4(12)
	}
	return netip.Addr{}, false
}

// control is the dialer's hook: it sees the address that is about to be
// connected to, whatever name led there (threat S3).
func (g *Guard) control(network, address string, _ syscall.RawConn) error {
	if network != "tcp4" && network != "tcp6" {
		return fmt.Errorf("%w: network %s", ErrBlocked, network)
	}
	ap, err := netip.ParseAddrPort(address)
	if err != nil {
		return fmt.Errorf("%w: %s", ErrBlocked, address)
	}
	if rule := g.blocked(ap.Addr(), int(ap.Port())); rule != "" {
		return fmt.Errorf("%w: %s", ErrBlocked, rule)
	}
	return nil
}

// isOwn reports whether h, or one of the addresses that it stands for, is the
// arena itself.
func (g *Guard) isOwn(h host, addrs []netip.Addr, port int) bool {
	return slices.ContainsFunc(g.own, func(own ownHost) bool {
		if own.port != 0 && own.port != port {
			return false
		}
		return own.host == h || own.host.addr.IsValid() && slices.Contains(addrs, own.host.addr)
	})
}

func list(ports []int) string {
	return strings.ReplaceAll(strings.Trim(fmt.Sprint(ports), "[]"), " ", ", ")
}
