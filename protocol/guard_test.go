package protocol

import (
	"context"
	"errors"
	"net/netip"
	"net/url"
	"strings"
	"testing"

	"github.com/agora-arena/arena/arena"
)

func newGuard(t testing.TB, o GuardOptions) *Guard {
	t.Helper()
	g, err := NewGuard(o)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func prefixes(s ...string) []netip.Prefix {
	var p []netip.Prefix
	for _, one := range s {
		p = append(p, netip.MustParsePrefix(one))
	}
	return p
}

// blockedAddrs are addresses that lead into somebody's own network, or hide
// one that does. Threat S1.
func blockedAddrs() []string {
	return []string{
		"0.0.0.0", "0.1.2.3", "10.0.0.1", "10.255.255.255", "100.64.0.1", "100.127.255.254", "127.0.0.1", "127.255.255.254",
		"169.254.0.1", "169.254.169.254", "169.254.170.2", "172.16.0.1", "172.31.255.254", "192.0.0.1", "192.0.2.1", "192.168.1.1",
		"198.18.0.1", "198.51.100.1", "203.0.113.1", "224.0.0.1", "239.255.255.255", "240.0.0.1", "255.255.255.255", "168.63.129.16",
		"::", "::1", "::127.0.0.1", "::ffff:127.0.0.1", "::ffff:10.0.0.1", "::ffff:8.8.8.8", "64:ff9b::7f00:1", "64:ff9b::8.8.8.8", "64:ff9b:1::1",
		"100::1", "2001::1", "2001:0:7f00:1::80ff:fffe", "2001:db8::1", "2002:7f00:1::", "2002:a00:1::1", "3fff::1", "5f00::1",
		"fc00::1", "fd00:ec2::254", "fd12:3456::1", "fe80::1", "fe80::1%eth0", "2606:4700::1%eth0", "fec0::1", "ff02::1",
		"2606:4700::5efe:7f00:1", "2606:4700::200:5efe:a00:1",
	}
}

// Threat S1: at registration and at dial.
func TestGuard_blocks_addresses(t *testing.T) {
	t.Parallel()
	g := newGuard(t, GuardOptions{})
	for _, s := range blockedAddrs() {
		a := netip.MustParseAddr(s)
		if _, err := g.CheckEndpoint(t.Context(), "endpoint", "http://"+host{addr: a}.String()+"/"); arena.CodeOf(err) != arena.CodeEndpointBlocked {
			t.Errorf("%s at registration: %v", s, err)
		}
		network := "tcp4"
		if a.Is6() {
			network = "tcp6"
		}
		if err := g.control(network, netip.AddrPortFrom(a, 80).String(), nil); !errors.Is(err, ErrBlocked) {
			t.Errorf("%s at dial: %v", s, err)
		}
	}
	for _, s := range []string{"1.1.1.1", "93.184.216.34", "172.32.0.1", "100.128.0.1", "2606:4700:4700::1111", "2a00:1450:4001::1"} {
		a := netip.MustParseAddr(s)
		if rule := g.blocked(a, 443); rule != "" {
			t.Errorf("%s: %s", s, rule)
		}
	}
	for _, network := range []string{"udp4", "unix", "tcp"} {
		if err := g.control(network, "1.1.1.1:80", nil); !errors.Is(err, ErrBlocked) {
			t.Errorf("network %s: %v", network, err)
		}
	}
	if err := g.control("tcp4", "nonsense", nil); !errors.Is(err, ErrBlocked) {
		t.Errorf("nonsense: %v", err)
	}
}

// Threat S8: an allowed prefix opens exactly itself, and never a metadata
// service.
func TestGuard_allow(t *testing.T) {
	t.Parallel()
	g := newGuard(t, GuardOptions{Allow: prefixes("127.0.0.0/8", "::1/128")})
	for _, s := range []string{"http://127.0.0.1:9001/agora", "http://127.9.9.9:22/", "https://[::1]:5000/"} {
		if got, err := g.CheckEndpoint(t.Context(), "endpoint", s); got != s {
			t.Errorf("%s: %s, %v", s, got, err)
		}
	}
	for _, s := range blockedAddrs() {
		a := netip.MustParseAddr(s)
		if open := strings.HasPrefix(s, "127.") || s == "::1"; (g.blocked(a, 1234) == "") != open {
			t.Errorf("%s: %q", s, g.blocked(a, 1234))
		}
	}
	everything := newGuard(t, GuardOptions{Allow: prefixes("0.0.0.0/0", "::/0")})
	for _, s := range []string{
		"169.254.169.254", "fd00:ec2::254", "168.63.129.16", "::ffff:169.254.169.254", "64:ff9b::a9fe:a9fe", "2002:a9fe:a9fe::", "::169.254.169.254",
		"2001::5601:5601", "fd00:ec2::254%eth0", "::ffff:10.0.0.1",
	} {
		if everything.blocked(netip.MustParseAddr(s), 80) == "" {
			t.Errorf("%s is open", s)
		}
	}
}

// Threat O8: plain http is for addresses that the operator opened.
func TestGuard_CheckEndpoint_http(t *testing.T) {
	t.Parallel()
	names := map[string][]string{"public.example.": {"8.8.8.8"}, "lab.example.": {"10.1.2.3"}, "both.example.": {"10.1.2.3", "8.8.8.8"}}
	for _, c := range []struct {
		o      GuardOptions
		in     string
		refuse bool
	}{
		{GuardOptions{}, "http://public.example/", true},
		{GuardOptions{}, "http://8.8.8.8:8080/", true},
		{GuardOptions{}, "HTTP://[2606:4700::1111]/", true},
		{GuardOptions{}, "http://unknown.example/", true}, // it may be anywhere
		{GuardOptions{}, "https://public.example/", false},
		{GuardOptions{AllowHTTP: true}, "http://public.example/", false},
		{GuardOptions{AllowHTTP: true}, "http://unknown.example/", false},
		{GuardOptions{Allow: prefixes("127.0.0.0/8", "10.0.0.0/8")}, "http://127.0.0.1:9001/", false},
		{GuardOptions{Allow: prefixes("127.0.0.0/8", "10.0.0.0/8")}, "http://lab.example/", false},
		{GuardOptions{Allow: prefixes("127.0.0.0/8", "10.0.0.0/8")}, "http://public.example/", true},
		{GuardOptions{Allow: prefixes("127.0.0.0/8", "10.0.0.0/8")}, "http://both.example/", true},
	} {
		c.o.Resolver = fakeResolver(t, names)
		_, err := newGuard(t, c.o).CheckEndpoint(t.Context(), "endpoint", c.in)
		switch {
		case !c.refuse && err != nil:
			t.Errorf("%+v: %s: %v", c.o, c.in, err)
		case c.refuse && (arena.CodeOf(err) != arena.CodeEndpointInvalid || !strings.Contains(fieldText(err), "must begin with https://")):
			t.Errorf("%+v: %s: %v, want endpoint_invalid", c.o, c.in, err)
		}
	}
}

// fieldText returns the messages about the fields of an error.
func fieldText(err error) string {
	var b strings.Builder
	if e, ok := errors.AsType[*arena.Error](err); ok {
		for _, f := range e.Fields {
			b.WriteString(f.Message)
		}
	}
	return b.String()
}

// Threats S1, S2, S5.
func TestGuard_CheckEndpoint_refuses(t *testing.T) {
	t.Parallel()
	const invalid, blocked = arena.CodeEndpointInvalid, arena.CodeEndpointBlocked
	g := newGuard(t, GuardOptions{Resolver: fakeResolver(t, nil)})
	for in, want := range map[string]arena.Code{
		// Threat S2: spellings of 127.0.0.1.
		"http://2130706433/": blocked, "http://0x7f.1/": blocked, "http://0x7f000001/": blocked, "http://0177.0.0.1/": blocked, "http://127.1/": blocked,
		"http://127.0.1/": blocked, "http://017700000001/": blocked, "http://127.0.0.01/": blocked, "http://1.2.3.4.5/": blocked, "http://256.1.1.1/": blocked,
		"http://127.0.0.1./": blocked, "http://127.0.0.0x1/": blocked, "http://a.0x/": blocked, "http://0X7F.1/": blocked,
		"http://１２７.０.０.１/": blocked, "http://127。0。0。1/": blocked, "http://①②⑦.⓪.⓪.①/": blocked, "HTTP://127.0.0.1/": blocked,
		"http://%31%32%37.0.0.1/": invalid, "http://[::ffff:7f00:1]/": blocked, "http://[fe80::1%25eth0]/": blocked, "http://[127.0.0.1]/": invalid,
		"http://[::1/": invalid, "http://::1/": invalid, "http://[1.2.3]/": invalid,
		// Threat S5.
		"": invalid, "agent.example": invalid, "//agent.example/": invalid, "/agora": invalid, "ftp://agent.example/": invalid, "file:///etc/passwd": invalid,
		"unix:/run/x.sock": invalid, "http:agent.example": invalid, "http://": invalid, "http:///agora": invalid, "http://:80/": invalid, "javascript:alert(1)": invalid,
		"http://user@agent.example/": invalid, "http://user:pass@agent.example/": invalid, "http://@agent.example/": invalid,
		"http://agent.example/#x": invalid, "http://agent.example/#": invalid, "http://agent.example/ x": invalid, "http://agent.example/\n": invalid,
		"http://agent.example\\@127.0.0.1/": invalid, "http://agent.example/\xff": invalid, "http://agent..example/": invalid, "http://.example/": invalid,
		"http://agent.example../": invalid, "http://./": invalid, "http://-agent.example/": invalid, "http://agent-.example/": invalid, "http://agent!.example/": invalid,
		"http://" + strings.Repeat("a", 64) + ".example/": invalid, "http://" + strings.Repeat("a.", 127) + "example/": invalid, "http://a\u200db.example/": invalid,
		"http://agent.example/" + strings.Repeat("x", 2048): invalid,
		"http://agent.example:22/":                          blocked, "http://agent.example:25/": blocked, "http://agent.example:6379/": blocked, "http://1.1.1.1:22/": blocked,
		"http://agent.example:0/": invalid, "http://agent.example:65536/": invalid, "http://agent.example:-1/": invalid, "http://agent.example:http/": invalid,
	} {
		_, err := g.CheckEndpoint(t.Context(), "endpoint", in)
		var e *arena.Error
		if !errors.As(err, &e) || e.Code != want {
			t.Errorf("%.80q: %v, want %s", in, err, want)
			continue
		}
		if len(e.Fields) != 1 || e.Fields[0].Field != "endpoint" || !strings.Contains(e.Fields[0].Message, " ") {
			t.Errorf("%.80q: %+v", in, e.Fields)
		}
	}
}

// Threat S2: one host has one spelling.
func TestGuard_CheckEndpoint_canonical(t *testing.T) {
	t.Parallel()
	g := newGuard(t, GuardOptions{AllowHTTP: true, Resolver: fakeResolver(t, nil)})
	for in, want := range map[string]string{
		"https://agent.example":                     "https://agent.example/",
		"HTTPS://Agent.EXAMPLE./Agora":              "https://agent.example/Agora",
		"https://agent.example:443/agora":           "https://agent.example/agora",
		"http://agent.example:080/agora":            "http://agent.example/agora",
		"http://agent.example:443/agora":            "http://agent.example:443/agora",
		"http://agent.example:/agora/":              "http://agent.example/agora/",
		"https://agent.example:8443/a%2Fb/?k=1&k=2": "https://agent.example:8443/a%2Fb/?k=1&k=2",
		"https://agent.example/agora?":              "https://agent.example/agora",
		"https://BÜCHER.example/":                   "https://xn--bcher-kva.example/",
		"https://ａｇｅｎｔ。example/":                    "https://agent.example/",
		"https://my_agent.example/":                 "https://my_agent.example/",
		"http://1.1.1.1:80/":                        "http://1.1.1.1/",
		"http://[2606:4700:0:0::1111]:8080/":        "http://[2606:4700::1111]:8080/",
	} {
		got, err := g.CheckEndpoint(t.Context(), "endpoint", in)
		if got != want || err != nil {
			t.Errorf("%s: %s, %v; want %s", in, got, err, want)
		}
		if again, err := g.CheckEndpoint(t.Context(), "endpoint", got); again != got || err != nil {
			t.Errorf("%s becomes %s, %v", got, again, err)
		}
	}
}

// Threat S7: the arena does not play against itself.
func TestGuard_CheckEndpoint_own(t *testing.T) {
	t.Parallel()
	g := newGuard(t, GuardOptions{
		Allow:    prefixes("127.0.0.0/8", "::1/128"),
		OwnHosts: []string{"Arena.Example.", "127.0.0.1:8080", "[::1]:8080", "2606:4700::7"},
		Resolver: fakeResolver(t, map[string][]string{"alias.example.": {"127.0.0.1"}}),
	})
	for in, own := range map[string]bool{
		"https://ARENA.example/v1": true, "http://arena.example:8080/": true, "http://127.0.0.1:8080/": true, "http://[::1]:8080/": true,
		"http://[2606:4700::7]/": true, "http://alias.example:8080/": true,
		"http://127.0.0.1:8081/": false, "http://127.0.0.2:8080/": false, "https://not.arena.example/": false, "http://alias.example:8081/": false,
	} {
		_, err := g.CheckEndpoint(t.Context(), "endpoint", in)
		if got := arena.CodeOf(err) == arena.CodeEndpointOwn; got != own || !own && err != nil {
			t.Errorf("%s: %v", in, err)
		}
	}
}

// Threat S3: a name is as bad as the worst of its addresses.
func TestGuard_CheckEndpoint_resolves(t *testing.T) {
	t.Parallel()
	g := newGuard(t, GuardOptions{Resolver: fakeResolver(t, map[string][]string{
		"good.example.":  {"93.184.216.34", "2606:4700::1111"},
		"bad.example.":   {"10.0.0.1"},
		"mixed.example.": {"93.184.216.34", "127.0.0.1"},
		"six.example.":   {"93.184.216.34", "fd00::1"},
	})})
	for name, want := range map[string]arena.Code{
		"good.example": "", "bad.example": arena.CodeEndpointBlocked, "mixed.example": arena.CodeEndpointBlocked, "six.example": arena.CodeEndpointBlocked,
		"unknown.example": "", // its first health check will say so
	} {
		if _, err := g.CheckEndpoint(t.Context(), "endpoint", "https://"+name+"/agora"); arena.CodeOf(err) != want {
			t.Errorf("%s: %v, want %q", name, err, want)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := g.CheckEndpoint(ctx, "endpoint", "https://good.example/"); !errors.Is(err, context.Canceled) {
		t.Errorf("with an ended context: %v", err)
	}
}

func TestNewGuard_refuses(t *testing.T) {
	t.Parallel()
	for _, o := range []GuardOptions{
		{Ports: []int{0}},
		{Ports: []int{65536}},
		{Allow: []netip.Prefix{{}}},
		{Allow: prefixes("::ffff:127.0.0.0/104")},
		{OwnHosts: []string{""}},
		{OwnHosts: []string{"arena.example:http"}},
		{OwnHosts: []string{"https://arena.example"}},
	} {
		if _, err := NewGuard(o); err == nil {
			t.Errorf("%+v was accepted", o)
		}
	}
}

func FuzzCheckEndpoint(f *testing.F) {
	for _, s := range []string{
		"https://agent.example/agora", "http://127.0.0.1/", "http://[::1]:80/?a=b", "http://１２７。0.0.1/", "http://0x7f.1", "http://a@b/", "http://a:99999/",
		"http://[fe80::1%25eth0]/", "HTTPS://BÜCHER.example:443/%2f", "http://a.b./", "http:///", "http://a/%zz",
	} {
		f.Add(s)
	}
	g := newGuard(f, GuardOptions{AllowHTTP: true, Resolver: fakeResolver(f, nil)})
	f.Fuzz(func(t *testing.T, raw string) {
		got, err := g.CheckEndpoint(t.Context(), "endpoint", raw)
		if err != nil {
			if code := arena.CodeOf(err); code != arena.CodeEndpointInvalid && code != arena.CodeEndpointBlocked {
				t.Fatalf("%q: %v", raw, err)
			}
			return
		}
		u, err := url.Parse(got)
		if err != nil || u.User != nil || u.Fragment != "" || u.Scheme != "http" && u.Scheme != "https" || u.Path == "" {
			t.Fatalf("%q became %q", raw, got)
		}
		if addr, err := netip.ParseAddr(strings.Trim(u.Hostname(), "[]")); err == nil && (addr.IsLoopback() || addr.IsPrivate() || addr.IsLinkLocalUnicast()) {
			t.Fatalf("%q became %q", raw, got)
		}
		if again, err := g.CheckEndpoint(t.Context(), "endpoint", got); again != got || err != nil {
			t.Fatalf("%q became %q, then %q, %v", raw, got, again, err)
		}
	})
}

// Threat G1: endpoints on one server have one key, unless the address is one
// that unrelated owners share.
func TestGuard_EndpointKey(t *testing.T) {
	t.Parallel()
	g := newGuard(t, GuardOptions{Allow: prefixes("10.1.0.0/16"), AllowHTTP: true})
	key := func(endpoint string) (string, error) { // of blocked ones too
		u, h, port, refused := parseEndpoint(endpoint)
		if refused != nil {
			_, key, _ := g.Endpoint(t.Context(), "endpoint", endpoint)
			return key, nil
		}
		addrs, err := g.resolve(t.Context(), h)
		return g.keyOf(u, addrs, port), err
	}
	for endpoint, want := range map[string]string{
		"https://8.8.8.8/a":         "8.8.8.8:443",
		"http://8.8.8.8/a":          "8.8.8.8:80",
		"http://8.8.8.8:8080/b?x=1": "8.8.8.8:8080",
		"https://[2606:4700::1]/":   "[2606:4700::1]:443",
		"http://127.0.0.1:9000/a":   "http://127.0.0.1:9000/a",
		"http://[::1]:9000/a":       "http://[::1]:9000/a",
		"http://10.1.2.3:9000/a":    "http://10.1.2.3:9000/a",
		"http://10.2.2.3:9000/a":    "10.2.2.3:9000",
		"":                          "",
		"agora:key":                 "",
	} {
		got, err := key(endpoint)
		if err != nil || got != want {
			t.Errorf("%q: %q, %v, want %q", endpoint, got, err, want)
		}
	}
	if _, got, err := g.Endpoint(t.Context(), "endpoint", "https://8.8.8.8/a"); err != nil || got != "8.8.8.8:443" {
		t.Errorf("an endpoint comes with the key %q, %v", got, err)
	}
}
