package aap

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/protocol"
)

// The limits of a health check (docs/rules.md, section 4; threat R12).
const (
	probeLimit = 5 * time.Second // from dialling to the last byte
	probeBody  = 4 << 10
)

// Probe queries the endpoint for its health. OK means status 200, JSON, status
// "ok" and version "1.0"; otherwise Reason and Detail say what is wrong. It
// counts nothing: Failures and Successes stay 0.
func (d *Driver) Probe(ctx context.Context, a arena.Agent) arena.Health {
	address, err := healthURL(a.Endpoint)
	if err != nil {
		return arena.Health{CheckedAt: d.o.Now(), Reason: string(protocol.FailBlocked), Detail: "the endpoint is not a URL"}
	}
	x := d.o.Client.Do(ctx, protocol.Request{
		Method: http.MethodGet, URL: address, Limit: probeLimit, WholeCall: true, MaxBody: probeBody, Unproven: !a.Health.OK,
	})
	h := arena.Health{CheckedAt: d.o.Now(), Latency: x.Elapsed, Body: x.Body}
	h.Reason, h.Detail = unhealthy(x, &h)
	h.OK = h.Reason == ""
	return h
}

// unhealthy returns the reason why x is not a healthy reply, "" when it is one.
// It fills the agent's claims into h when they can be read.
func unhealthy(x protocol.Exchange, h *arena.Health) (reason, detail string) {
	if reason, detail := protocol.Unreadable(x); reason != "" {
		return reason, detail
	}
	r, err := decodeHealth(x.Body)
	if err != nil {
		return "bad_json", protocol.Sentence(err.Error())
	}
	r.describe(h)
	switch {
	case r.Status != "ok":
		return "not_ok", protocol.Sentence(fmt.Sprintf("status is %q, not \"ok\"", r.Status))
	case r.Version != version:
		return "bad_version", protocol.Sentence(fmt.Sprintf("version is %q, not %q", r.Version, version))
	}
	return "", ""
}

// healthURL puts /health behind the endpoint's path; a query stays a query.
func healthURL(endpoint string) (string, error) {
	u, err := url.Parse(endpoint)
	if err != nil {
		return "", fmt.Errorf("endpoint: %w", err)
	}
	u.Path = strings.TrimSuffix(u.Path, "/") + "/health"
	if u.RawPath != "" {
		u.RawPath = strings.TrimSuffix(u.RawPath, "/") + "/health"
	}
	return u.String(), nil
}
