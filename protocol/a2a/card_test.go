package a2a

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/protocol/protocoltest"
)

func TestCardURL(t *testing.T) {
	t.Parallel()
	for endpoint, want := range map[string]string{
		"https://a.example/":                              "https://a.example" + cardPath,
		"https://a.example/bots/1":                        "https://a.example/bots/1" + cardPath,
		"https://a.example/bots/1/?key=2":                 "https://a.example/bots/1" + cardPath + "?key=2",
		"https://a.example/a%2Fb/":                        "https://a.example/a%2Fb" + cardPath,
		"https://a.example/x/.well-known/agent-card.json": "https://a.example/x" + cardPath,
	} {
		if u, err := cardURL(endpoint); err != nil || u.String() != want {
			t.Errorf("%s: %v, %v; want %s", endpoint, u, err, want)
		}
	}
}

// Which interface of a card the arena calls. Threat S9: it is never elsewhere.
func TestReadCard(t *testing.T) {
	t.Parallel()
	const base = "https://a.example/rpc"
	v1 := func(rest string) string { return `{"supportedInterfaces":[` + rest + `]}` }
	iface := func(url, binding, version string) string {
		return fmt.Sprintf(`{"url":%q,"protocolBinding":%q,"protocolVersion":%q}`, url, binding, version)
	}
	good := service{url: base, version: v10, maxConcurrent: 1}
	old := service{url: base, version: v03, maxConcurrent: 1}
	for _, c := range []struct {
		name, card string
		want       service
		reason     string
	}{
		{"1.0", v1(iface(base, "JSONRPC", "1.0")), good, ""},
		{"1.1", v1(iface(base, "JSONRPC", "1.1")), good, ""},
		{"newest", v1(iface(base, "JSONRPC", "0.3") + "," + iface(base+"2", "JSONRPC", "1.0")), service{url: base + "2", version: v10, maxConcurrent: 1}, ""},
		{"first of several", v1(iface(base, "JSONRPC", "1.0") + "," + iface(base+"2", "JSONRPC", "1.0")), good, ""},
		{"after another transport", v1(iface("https://a.example", "GRPC", "1.0") + "," + iface(base, "JSONRPC", "1.0")), good, ""},
		{"0.3 in the list", v1(iface(base, "JSONRPC", "0.3")), old, ""},
		{"0.3", `{"protocolVersion":"0.3.0","url":"` + base + `"}`, old, ""},
		{"0.3 with transport", `{"protocolVersion":"0.3.0","url":"` + base + `","preferredTransport":"JSONRPC"}`, old, ""},
		{"0.3 beside", `{"protocolVersion":"0.3.0","url":"https://a.example/grpc","preferredTransport":"GRPC","additionalInterfaces":[{"url":"` + base + `","transport":"JSONRPC"}]}`, old, ""},
		{"standard port", v1(iface("https://A.example:443/rpc", "JSONRPC", "1.0")), service{url: "https://A.example:443/rpc", version: v10, maxConcurrent: 1}, ""},
		{"one of two elsewhere", v1(iface("https://b.example/", "JSONRPC", "1.0") + "," + iface(base, "JSONRPC", "1.0")), good, ""},
		{"tenant", v1(`{"url":"` + base + `","protocolBinding":"JSONRPC","protocolVersion":"1.0","tenant":"t"}`), service{url: base, version: v10, tenant: "t", maxConcurrent: 1}, ""},
		{"streaming", `{"capabilities":{"streaming":true},"supportedInterfaces":[` + iface(base, "JSONRPC", "1.0") + `]}`, service{url: base, version: v10, streaming: true, maxConcurrent: 1}, ""},
		{
			"declared", `{"capabilities":{"extensions":[{"uri":"https://x.example/","params":{"leagues":7}},{"uri":"` + Extension + `","required":true,"params":{"leagues":["chess"],"max_concurrent":5.0}}]},"supportedInterfaces":[` + iface(base, "JSONRPC", "1.0") + `]}`,
			service{url: base, version: v10, maxConcurrent: 5, leagues: []string{"chess"}},
			"",
		},
		{"declared nothing", `{"capabilities":{"extensions":[{"uri":"` + Extension + `"}]},"supportedInterfaces":[` + iface(base, "JSONRPC", "1.0") + `]}`, good, ""},
		{"declared too much", `{"capabilities":{"extensions":[{"uri":"` + Extension + `","params":{"max_concurrent":1e15}}]},"supportedInterfaces":[` + iface(base, "JSONRPC", "1.0") + `]}`, service{url: base, version: v10, maxConcurrent: maxConcurrent}, ""},

		{"declared wrongly", `{"capabilities":{"extensions":[{"uri":"` + Extension + `","params":{"leagues":7}}]},"supportedInterfaces":[` + iface(base, "JSONRPC", "1.0") + `]}`, service{}, "bad_card"},
		{"required extension", `{"capabilities":{"extensions":[{"uri":"https://x.example/","required":true}]},"supportedInterfaces":[` + iface(base, "JSONRPC", "1.0") + `]}`, service{}, "card_extension"},
		{"another host", v1(iface("https://b.example/rpc", "JSONRPC", "1.0")), service{}, "card_host"},
		{"another port", v1(iface("https://a.example:8443/rpc", "JSONRPC", "1.0")), service{}, "card_host"},
		{"another scheme", v1(iface("http://a.example/rpc", "JSONRPC", "1.0")), service{}, "card_host"},
		{"a private address", v1(iface("http://169.254.169.254/", "JSONRPC", "1.0")), service{}, "card_host"},
		{"user info", v1(iface("https://a.example@b.example/rpc", "JSONRPC", "1.0")), service{}, "card_host"},
		{"user info of the host", v1(iface("https://me@a.example/rpc", "JSONRPC", "1.0")), service{}, "card_host"},
		{"relative", v1(iface("/rpc", "JSONRPC", "1.0")), service{}, "card_host"},
		{"no URL", v1(iface("https://a.example:x/", "JSONRPC", "1.0")), service{}, "card_host"},
		{"long URL", v1(iface(base+strings.Repeat("x", 3000), "JSONRPC", "1.0")), service{}, "card_host"},
		{"other transports", v1(iface(base, "GRPC", "1.0") + "," + iface(base, "HTTP+JSON", "1.0")), service{}, "card_transport"},
		{"other transport of 0.3", `{"protocolVersion":"0.3.0","url":"` + base + `","preferredTransport":"GRPC"}`, service{}, "card_transport"},
		{"no interface", `{"name":"Bob"}`, service{}, "card_transport"},
		{"another version", v1(iface(base, "JSONRPC", "2.0")), service{}, "card_version"},
		{"an old version", `{"protocolVersion":"0.2.5","url":"` + base + `"}`, service{}, "card_version"},
		{"long tenant", v1(`{"url":"` + base + `","protocolBinding":"JSONRPC","protocolVersion":"1.0","tenant":"` + strings.Repeat("t", 300) + `"}`), service{}, "bad_card"},
		{"a list", `[]`, service{}, "bad_card"},
		{"no JSON", `<html>`, service{}, "bad_card"},
		{"two URLs", `{"url":"` + base + `","url":"https://b.example/"}`, service{}, "bad_card"},
		{"another case", `{"protocolVersion":"0.3.0","URL":"` + base + `"}`, service{}, "bad_card"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			from, err := cardURL("https://a.example/")
			must(t, err)
			s, err := readCard([]byte(c.card), from)
			reason := ""
			if wrong, ok := err.(*cardError); ok { //nolint:errorlint // it is returned as it is
				reason = wrong.reason
			}
			if diff := cmp.Diff(c.want, s, cmp.AllowUnexported(service{})); diff != "" || reason != c.reason || (err == nil) != (c.reason == "") {
				t.Errorf("error %v, want %q (-want +got):\n%s", err, c.reason, diff)
			}
		})
	}
}

// What a health check and a registration make of a card. Threats S9, R13, S4.
func TestDriver_Probe(t *testing.T) {
	t.Parallel()
	var elsewhere atomic.Int64
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { elsewhere.Add(1) }))
	t.Cleanup(other.Close)
	raw := func(text string) protocoltest.Behaviour { return replies(text) }
	for _, c := range []struct {
		name    string
		card    protocoltest.Behaviour
		reason  string
		refused string // at registration, part of the message
	}{
		{"good", healthy(v10, true), "", ""},
		{"good 0.3", healthy(v03, false), "", ""},
		{"redirect", protocoltest.Redirect(other.URL), "redirect", "redirect"},
		{"10 MB", raw(`{"x":"` + strings.Repeat("x", 10<<20) + `"}`), "too_large", "too large"},
		{"just over the limit", raw(`{"x":"` + strings.Repeat("x", maxCard) + `"}`), "too_large", "too large"},
		{"not JSON", raw(`{"name":`), "bad_card", "not the JSON of a card"},
		{"HTML", protocoltest.Reply(http.StatusOK, "text/html", "<html>"), "bad_content_type", "Content-Type"},
		{"another host", raw(card(v10, "http://b.example/rpc", false)), "card_host", "http://b.example"},
		{"another port", raw(card(v10, other.URL, false)), "card_host", other.URL},
		{"no JSON-RPC", raw(`{"name":"Bob","supportedInterfaces":[]}`), "card_transport", "no JSONRPC interface"},
		{"not there", protocoltest.Status(http.StatusNotFound), "status_404", "404"},
		{"503", protocoltest.Unavailable(), "status_503", ""},
		{"429", protocoltest.RateLimited(), "status_429", ""},
		{"dropped", protocoltest.Drop(), "dropped", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			a := protocoltest.NewAgent(t, protocoltest.AgentOptions{Health: c.card})
			d := newDriver(t, &seen{})
			h := d.Probe(t.Context(), arena.Agent{Endpoint: a.Endpoint(), Leagues: []string{"trivia"}})
			if h.OK != (c.reason == "") || h.Reason != c.reason || (h.Detail == "") != h.OK || h.CheckedAt.IsZero() {
				t.Errorf("health %+v, want %q", h, c.reason)
			}
			if h.OK && (h.MaxConcurrent != 1 || h.Capabilities != nil || h.Latency <= 0) {
				t.Errorf("health %+v", h)
			}
			err := d.CheckEndpoint(t.Context(), a.Endpoint())
			if (err == nil) != (c.refused == "") || err != nil && (arena.CodeOf(err) != arena.CodeEndpointInvalid || !strings.Contains(err.Error(), c.refused) || !strings.Contains(err.Error(), cardPath)) {
				t.Errorf("registration: %v, want %q", err, c.refused)
			}
		})
	}
	t.Cleanup(func() {
		if n := elsewhere.Load(); n != 0 {
			t.Errorf("%d requests went elsewhere", n)
		}
	})
}

// A card that is wrong when a task is to be sent loses the round; one that changed
// is read again.
func TestDriver_card_in_a_match(t *testing.T) {
	t.Parallel()
	a := protocoltest.NewAgent(t, protocoltest.AgentOptions{
		Play:   func(protocoltest.Request) protocoltest.Behaviour { return replies(said(v10, "x")) },
		Health: replies(`{"name":"Bob"}`),
	})
	d := newDriver(t, &seen{})
	r := play(t, d, protocoltest.NewAttempt(a.Endpoint(), enough))
	if r.Outcome != arena.OutcomeInvalid || r.Reason != "card_transport" || r.SentAt.IsZero() || len(r.Request) == 0 || string(r.Head) != `{"name":"Bob"}` || len(a.Requests()) != 0 {
		t.Errorf("reply %+v", r)
	}
	a.SetHealth(healthy(v10, false))
	if r := play(t, d, protocoltest.NewAttempt(a.Endpoint(), enough)); r.Outcome != arena.OutcomeAnswered {
		t.Errorf("reply %+v", r)
	}
	// The interface has moved: the card is forgotten.
	d.cards.put(a.Endpoint(), service{url: a.Endpoint() + "/old", version: v10})
	if r := play(t, d, protocoltest.NewAttempt(a.Endpoint(), enough)); r.Outcome != arena.OutcomeInvalid || r.Reason != "status_404" {
		t.Errorf("reply %+v", r)
	}
	if r := play(t, d, protocoltest.NewAttempt(a.Endpoint(), enough)); r.Outcome != arena.OutcomeAnswered {
		t.Errorf("reply %+v", r)
	}
}

func TestCards(t *testing.T) {
	t.Parallel()
	now := time.Now()
	c := newCards(func() time.Time { return now })
	for i := range maxCards + 5 {
		c.put(fmt.Sprint(i), service{version: v10})
	}
	if len(c.known) != maxCards {
		t.Errorf("%d cards are kept", len(c.known))
	}
	c.put("a", service{version: v03})
	if s, ok := c.get("a"); !ok || s.version != v03 {
		t.Errorf("got %+v, %t", s, ok)
	}
	if c.claim("a") || !c.claim("b") || c.claim("b") {
		t.Error("a card is read twice at a time, or once too often")
	}
	c.release("b")
	now = now.Add(cardFresh)
	if _, ok := c.get("a"); ok || !c.claim("a") || !c.claim("b") {
		t.Error("an old card is used")
	}
}
