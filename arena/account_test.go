package arena_test

import (
	"net/netip"
	"testing"

	"github.com/agora-arena/arena/arena"
)

// Each scope has the rights that it names, an organizer in its leagues alone.
// Threat T1.
func TestCaller_Require(t *testing.T) {
	t.Parallel()
	const administer, organize, moderate = arena.RightAdminister, arena.RightOrganize, arena.RightModerate
	organizer := arena.Caller{Scope: arena.ScopeOrganizer, Leagues: []string{"cup"}}
	for name, c := range map[string]struct {
		who    arena.Caller
		league string
		rights []arena.Right
		may    bool
		says   string
	}{
		"admin administers":                  {arena.Caller{Scope: arena.ScopeAdmin}, "", []arena.Right{administer}, true, ""},
		"admin moderates":                    {arena.Caller{Scope: arena.ScopeAdmin}, "cup", []arena.Right{moderate}, true, ""},
		"organizer in its league":            {organizer, "cup", []arena.Right{organize}, true, ""},
		"organizer in its league, or others": {organizer, "cup", []arena.Right{moderate, organize}, true, ""},
		"organizer in another league":        {organizer, "quiz", []arena.Right{organize}, false, "this token is not for league quiz"},
		"organizer in no league":             {organizer, "", []arena.Right{organize}, false, "this needs the token of an admin or an organizer"},
		"organizer of the league without a name": {
			arena.Caller{Scope: arena.ScopeOrganizer, Leagues: []string{""}},
			"",
			[]arena.Right{organize},
			false,
			"this needs the token of an admin or an organizer",
		},
		"organizer moderates":     {organizer, "cup", []arena.Right{moderate}, false, "this needs the token of an admin or a moderator"},
		"organizer administers":   {organizer, "cup", []arena.Right{administer}, false, "this needs the token of an admin"},
		"moderator moderates":     {arena.Caller{Scope: arena.ScopeModerator}, "cup", []arena.Right{moderate}, true, ""},
		"moderator organizes":     {arena.Caller{Scope: arena.ScopeModerator, Leagues: []string{"cup"}}, "cup", []arena.Right{organize}, false, "this needs the token of an admin or an organizer"},
		"owner with leagues":      {arena.Caller{Scope: arena.ScopeOwner, OwnerID: "ow_1", Leagues: []string{"cup"}}, "cup", []arena.Right{organize, moderate, administer}, false, "this needs the token of an admin or an organizer or a moderator"},
		"anonymous":               {arena.Caller{Leagues: []string{"cup"}}, "cup", []arena.Right{organize, moderate}, false, "this needs the token of an admin or an organizer or a moderator"},
		"admin without any right": {arena.Caller{Scope: arena.ScopeAdmin}, "", nil, true, ""},
	} {
		err := c.who.Require(c.league, c.rights...)
		if c.who.May(c.league, c.rights...) != c.may || (err == nil) != c.may {
			t.Errorf("%s: %v", name, err)
		}
		if err != nil && (arena.CodeOf(err) != arena.CodeForbidden || err.Error() != c.says) {
			t.Errorf("%s: %v, want %s", name, err, c.says)
		}
	}
}

// Threat V5.
func TestAddressKeys(t *testing.T) {
	t.Parallel()
	for ip, want := range map[string][2]string{
		"192.0.2.7":           {"192.0.2.7", ""},
		"::ffff:192.0.2.7":    {"192.0.2.7", ""},
		"2001:db8:1:2:3::4":   {"2001:db8:1:2::/64", "2001:db8:1::/48"},
		"2001:db8:1:2:ffff::": {"2001:db8:1:2::/64", "2001:db8:1::/48"},
		"fe80::1%eth0":        {"fe80::/64", "fe80::/48"},
		"unknown":             {"unknown", ""},
		"":                    {"", ""},
	} {
		if network, site := arena.AddressKeys(ip); network != want[0] || site != want[1] {
			t.Errorf("AddressKeys(%q) = %q, %q, want %q", ip, network, site, want)
		}
	}
}

func TestIsLoopbackHost(t *testing.T) {
	t.Parallel()
	for host, want := range map[string]bool{
		"localhost": true, "LOCALHOST.": true, "agent.localhost": true, "127.0.0.1": true, "127.9.9.9": true, "::1": true, "::ffff:127.0.0.1": true,
		"localhost.example.com": false, "notlocalhost": false, "10.0.0.1": false, "0.0.0.0": false, "": false,
	} {
		if got := arena.IsLoopbackHost(host); got != want {
			t.Errorf("%q: %v", host, got)
		}
	}
}

func TestIsPublicAddress(t *testing.T) {
	t.Parallel()
	for ip, want := range map[string]bool{
		"192.0.2.1": true, "2001:db8::1": true, "::ffff:192.0.2.1": true, "100.63.255.255": true, "100.128.0.0": true,
		"127.0.0.1": false, "10.1.2.3": false, "100.64.0.1": false, "::ffff:100.64.0.1": false, "169.254.1.1": false, "fe80::1": false, "fd00::1": false, "0.0.0.0": false, "::": false, "224.0.0.1": false,
	} {
		if got := arena.IsPublicAddress(netip.MustParseAddr(ip)); got != want {
			t.Errorf("%s: %v", ip, got)
		}
	}
}

func TestAddressOf(t *testing.T) {
	t.Parallel()
	for peer, want := range map[string]string{
		"192.0.2.1:80": "192.0.2.1", "[2001:db8::1]:80": "2001:db8::1", "192.0.2.1": "192.0.2.1", "": "", "@": "@",
	} {
		if got := arena.AddressOf(peer); got != want {
			t.Errorf("%q: %q, want %q", peer, got, want)
		}
	}
}

func TestSharedNetworks(t *testing.T) {
	t.Parallel()
	school := arena.SharedNetworks{netip.MustParsePrefix("198.51.100.0/24"), netip.MustParsePrefix("2001:db8:5::/48")}
	for ip, want := range map[string]string{
		"203.0.113.5": "203.0.113.5", "::ffff:203.0.113.5": "203.0.113.5", "2001:db8:4::1": "2001:db8:4::/64",
		"198.51.100.9": "", "2001:db8:5:1::1": "", "127.0.0.1": "", "10.0.0.1": "", "100.64.0.1": "", "fd00::1": "", "": "", "name": "",
	} {
		if got := school.Network(ip); got != want {
			t.Errorf("%q is of network %q, want %q", ip, got, want)
		}
		if want != "" && (school.Has(want) || !(arena.SharedNetworks{netip.MustParsePrefix("0.0.0.0/0"), netip.MustParsePrefix("::/0")}).Has(want)) {
			t.Errorf("%q: shared by a school, or not by all", want)
		}
	}
}
