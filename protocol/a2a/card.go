package a2a

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/agora-arena/arena/internal/strictjson"
)

// Where an agent card is, and its limits.
const (
	cardPath  = "/.well-known/agent-card.json"
	maxCard   = 256 << 10
	cardLimit = 5 * time.Second // from dialling to the last byte
)

// The bounds of an agent's declarations about itself.
const (
	maxURL         = 2048
	maxTenant      = 256
	maxConcurrent  = 1000
	maxLeagues     = 100
	bindingJSONRPC = "JSONRPC"
)

// Extension is the URI of the card extension by which an agent declares to the
// arena the leagues that it plays and how many matches it plays at once.
const Extension = "urn:agora-arena:agent:1"

// version is a version of the wire.
type version string

const (
	v10 version = "1.0"
	v03 version = "0.3"
)

// agentCard has the members that the arena reads, of both versions.
type agentCard struct {
	// 1.0
	SupportedInterfaces []struct {
		URL             string `json:"url"`
		ProtocolBinding string `json:"protocolBinding"`
		ProtocolVersion string `json:"protocolVersion"`
		Tenant          string `json:"tenant"`
	} `json:"supportedInterfaces"`

	// 0.3
	URL                  string `json:"url"`
	PreferredTransport   string `json:"preferredTransport"`
	ProtocolVersion      string `json:"protocolVersion"`
	AdditionalInterfaces []struct {
		URL       string `json:"url"`
		Transport string `json:"transport"`
	} `json:"additionalInterfaces"`

	Capabilities struct {
		Streaming  bool `json:"streaming"`
		Extensions []struct {
			URI      string          `json:"uri"`
			Required bool            `json:"required"`
			Params   json.RawMessage `json:"params"`
		} `json:"extensions"`
	} `json:"capabilities"`
}

// declared are the parameters of Extension.
type declared struct {
	Leagues       []string         `json:"leagues"`
	MaxConcurrent strictjson.Whole `json:"max_concurrent"`
}

// service is the JSON-RPC interface of an agent, and what its card declares.
type service struct {
	url           string
	version       version
	tenant        string
	streaming     bool
	leagues       []string // nil: not declared
	maxConcurrent int
}

// cardError is why a card cannot be used. reason is a stable word.
type cardError struct {
	reason string
	detail string
}

func (e *cardError) Error() string { return e.detail }

func badCard(reason, format string, args ...any) *cardError {
	return &cardError{reason, fmt.Sprintf(format, args...)}
}

// cardURL returns where the card of an endpoint is: below its path, unless the
// endpoint is the URL of the card. A query stays a query.
func cardURL(endpoint string) (*url.URL, error) {
	u, err := url.Parse(endpoint)
	if err != nil {
		return nil, fmt.Errorf("endpoint: %w", err)
	}
	if path := u.EscapedPath(); !strings.HasSuffix(path, cardPath) {
		u.Path = strings.TrimSuffix(u.Path, "/") + cardPath
		if u.RawPath != "" {
			u.RawPath = strings.TrimSuffix(u.RawPath, "/") + cardPath
		}
	}
	return u, nil
}

// readCard reads a card that came from a URL and chooses the interface by which
// the arena calls the agent: JSON-RPC on the scheme, host and port of the card,
// in the newest version.
func readCard(body []byte, from *url.URL) (service, error) {
	var c agentCard
	err := strictjson.UnmarshalOpen(body, &c,
		"supportedInterfaces", "url", "preferredTransport", "protocolVersion", "additionalInterfaces", "capabilities")
	if err != nil {
		return service{}, badCard("bad_card", "the agent card is not the JSON of a card: %s", err)
	}
	s, err := c.choose(from)
	if err != nil {
		return service{}, err
	}
	s.streaming, s.maxConcurrent = c.Capabilities.Streaming, 1
	for _, e := range c.Capabilities.Extensions {
		switch {
		case e.URI == Extension:
			var d declared
			if err := strictjson.UnmarshalOpen([]byte(cmp.Or(string(e.Params), "{}")), &d, "leagues", "max_concurrent"); err != nil {
				return service{}, badCard("bad_card", "params of the extension %s: %s", Extension, err)
			}
			s.maxConcurrent = int(min(max(d.MaxConcurrent, 1), maxConcurrent))
			s.leagues = d.Leagues[:min(len(d.Leagues), maxLeagues)]
		case e.Required:
			return service{}, badCard("card_extension", "the agent card requires the extension %q, which the arena does not support", e.URI)
		}
	}
	return s, nil
}

// choose returns the interface of a card.
func (c *agentCard) choose(from *url.URL) (service, error) {
	found, refused := service{}, badCard("card_transport", "the agent card has no JSONRPC interface")
	offer := func(address, transport, protocolVersion, tenant string) {
		v, known := versionOf(protocolVersion)
		switch {
		case !strings.EqualFold(transport, bindingJSONRPC), found.version == v10:
		case !known:
			refused = badCard("card_version", "the JSONRPC interface of the agent card has version %q; the arena uses 1.0 and 0.3", protocolVersion)
		case found.version == v:
		case len(tenant) > maxTenant:
			refused = badCard("bad_card", "tenant has at most %d bytes", maxTenant)
		default:
			if err := sameOrigin(address, from); err != nil {
				refused = badCard("card_host", "%s", err)
				return
			}
			found = service{url: address, version: v, tenant: tenant}
		}
	}
	for _, i := range c.SupportedInterfaces {
		offer(i.URL, i.ProtocolBinding, i.ProtocolVersion, i.Tenant)
	}
	if c.URL != "" {
		offer(c.URL, cmp.Or(c.PreferredTransport, bindingJSONRPC), c.ProtocolVersion, "")
	}
	for _, i := range c.AdditionalInterfaces {
		offer(i.URL, i.Transport, c.ProtocolVersion, "")
	}
	if found.version == "" {
		return found, refused
	}
	return found, nil
}

// versionOf returns the wire of a version that a card names, such as "0.3.0".
func versionOf(text string) (v version, known bool) {
	switch {
	case text == "1" || strings.HasPrefix(text, "1."):
		return v10, true
	case text == "0.3" || strings.HasPrefix(text, "0.3."):
		return v03, true
	}
	return "", false
}

// sameOrigin checks that the URL of an interface has scheme, host and port of
// its card: a card must not lead the arena elsewhere.
func sameOrigin(address string, card *url.URL) error {
	if len(address) > maxURL {
		return fmt.Errorf("the URL of the JSONRPC interface has at most %d bytes", maxURL)
	}
	u, err := url.Parse(address)
	switch {
	case err != nil || u.Opaque != "" || u.User != nil || strings.Contains(address, "#"):
		return errors.New("the JSONRPC interface of the agent card has no usable URL")
	case u.Scheme != card.Scheme || hostPort(u) != hostPort(card):
		return fmt.Errorf("the JSONRPC interface of the agent card is at %s://%s, but the card came from %s://%s", u.Scheme, u.Host, card.Scheme, card.Host)
	}
	return nil
}

func hostPort(u *url.URL) string {
	standard := map[string]string{"http": "80", "https": "443"}[u.Scheme]
	return net.JoinHostPort(strings.ToLower(strings.TrimSuffix(u.Hostname(), ".")), cmp.Or(u.Port(), standard))
}

// How long a card that was read is used, and how many are kept.
const (
	cardFresh = 5 * time.Minute
	maxCards  = 10_000
)

// cards are the interfaces of agents, by endpoint, as their cards were read last.
type cards struct {
	now func() time.Time

	mu      sync.Mutex
	known   map[string]readCardAt
	reading map[string]bool // in the background
}

type readCardAt struct {
	service service
	at      time.Time
}

func newCards(now func() time.Time) *cards {
	return &cards{now: now, known: map[string]readCardAt{}, reading: map[string]bool{}}
}

func (c *cards) get(endpoint string) (service, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	k, ok := c.known[endpoint]
	return k.service, ok && c.now().Sub(k.at) < cardFresh
}

func (c *cards) put(endpoint string, s service) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, replaced := c.known[endpoint]; !replaced && len(c.known) >= maxCards {
		for k := range c.known {
			delete(c.known, k)
			break
		}
	}
	c.known[endpoint] = readCardAt{s, c.now()}
}

func (c *cards) drop(endpoint string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.known, endpoint)
}

// claim reports whether the caller must read a card in the background: it is not
// known and not being read. The caller calls release then.
func (c *cards) claim(endpoint string) bool {
	if _, known := c.get(endpoint); known {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.reading[endpoint] {
		return false
	}
	c.reading[endpoint] = true
	return true
}

func (c *cards) release(endpoint string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.reading, endpoint)
}
