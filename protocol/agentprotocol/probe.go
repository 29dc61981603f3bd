package agentprotocol

import (
	"context"
	"crypto/ed25519"
	"errors"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/protocol"
)

// The bounds of an agent's declarations about itself.
const (
	maxHelloBody  = 16 << 10
	maxConcurrent = 1000
	skew          = 2 * time.Second // between the clocks of two nodes
)

// Probe sends hello to the agent and waits five seconds for its hello. OK means
// that it came, signed by the agent's key. The capabilities are the leagues
// that the agent plays. It counts nothing: Failures and Successes stay 0.
func (d *Driver) Probe(ctx context.Context, a arena.Agent) arena.Health {
	h := arena.Health{CheckedAt: d.o.Now()}
	fail := func(reason, detail string) arena.Health {
		h.Reason, h.Detail = reason, detail
		return h
	}
	if a.KeyProvedAt.IsZero() {
		return fail("key_not_proved", "the owner has not proved to hold the agent's key")
	}
	_, key, err := CheckKey(a.PublicKey)
	if err != nil {
		return fail("bad_key", protocol.Sentence(err.Error()))
	}
	p, err := d.o.Peers.Peer(ctx, a.ID)
	if p.KeyName != nameOf(key) && (err == nil || arena.CodeOf(err) == arena.CodeNotFound) {
		err = d.o.Peers.NamePeer(ctx, a.ID, nameOf(key))
	}
	if err != nil {
		d.o.Logger.Warn("cannot note an agent's key", slog.String("agent_id", a.ID), slog.Any("error", err))
	}
	began := d.o.Now()
	said := d.greet(ctx, a, key, d.timing.hello)
	h.CheckedAt = d.o.Now()
	h.Latency = h.CheckedAt.Sub(began)
	if said.reason != "" {
		return fail(said.reason, said.detail)
	}
	hello, err := readHello(said.m.Payload)
	if err != nil {
		return fail("bad_version", protocol.Sentence(err.Error()))
	}
	h.OK, h.Body = true, said.m.Payload
	h.MaxConcurrent = min(max(hello.MaxConcurrent, 1), maxConcurrent)
	h.Capabilities = leaguesOf(said.m.From.Capabilities, a.Leagues)
	return h
}

// leaguesOf returns the leagues that an agent plays: those that it entered and
// its capabilities cover, and those that it names; its capabilities if there are none.
func leaguesOf(capabilities, entered []string) []string {
	leagues := []string{}
	add := func(slug string) {
		if !slices.Contains(leagues, slug) {
			leagues = append(leagues, slug)
		}
	}
	for _, slug := range entered {
		if slices.ContainsFunc(capabilities, func(c string) bool { return c == actionPlain || covers(c, actionRound+"/"+slug) }) {
			add(slug)
		}
	}
	for _, c := range capabilities {
		if slug, ok := strings.CutPrefix(c, actionRound+"/"); ok && slug != "" && slug != "*" {
			add(slug)
		}
	}
	if len(leagues) == 0 {
		return capabilities // it plays none of them; without capabilities it plays all
	}
	return leagues
}

// greeting is what came of a hello; reason is "" when a hello came back.
type greeting struct {
	m              message
	reason, detail string
}

// greet sends a hello and waits for the agent's.
func (d *Driver) greet(ctx context.Context, a arena.Agent, key ed25519.PublicKey, limit time.Duration) greeting {
	id, data, err := d.me.seal(key, TypeHello, d.hello())
	if err != nil {
		return greeting{reason: "internal", detail: "the arena could not make a hello"}
	}
	here, stop := d.wait(helloOf(a.ID))
	defer stop()
	began := d.o.Now()
	if a.Endpoint == "" {
		if err := d.deliver(ctx, a.ID, key, helloMail+id, data, limit); err != nil {
			if errors.Is(err, errNotConnected) {
				return greeting{reason: "not_connected", detail: err.Error()}
			}
			d.o.Logger.Error("cannot deliver a hello", slog.String("agent_id", a.ID), slog.Any("error", err))
			return greeting{reason: "internal", detail: "the arena could not deliver its hello"}
		}
	} else {
		x := d.client.Do(ctx, protocol.Request{
			Method: http.MethodPost, URL: a.Endpoint, Body: data, Limit: limit, WholeCall: true, MaxBody: maxHelloBody, Unproven: !a.Health.OK,
		})
		if x.Failure != "" || x.Status != http.StatusAccepted {
			return d.readHello(ctx, a.ID, key, x)
		}
		limit -= d.o.Now().Sub(began)
	}
	arrived, ok := d.await(ctx, helloOf(a.ID), here, began.Add(-skew), limit)
	switch {
	case ctx.Err() != nil:
		return greeting{reason: string(protocol.FailCancelled), detail: "the arena ended the check"}
	case !ok:
		return greeting{reason: string(protocol.FailTimeout), detail: "no hello came back within the time limit"}
	}
	return greeting{m: arrived.m}
}

// readHello reads the hello in the body of a reply, and notes it.
func (d *Driver) readHello(ctx context.Context, agentID string, key ed25519.PublicKey, x protocol.Exchange) greeting {
	v, decided := protocol.Judge(x)
	if decided && x.Status < 400 {
		return greeting{reason: v.Reason, detail: v.Detail}
	}
	m, reason, err := d.reply(x.Body, key)
	switch {
	case err == nil && m.Type == TypeError:
		p, err := readError(m.Payload)
		if err != nil {
			return greeting{reason: "bad_message", detail: protocol.Sentence(err.Error())}
		}
		v := verdictOf(p)
		return greeting{reason: v.Reason, detail: v.Detail}
	case decided:
		return greeting{reason: v.Reason, detail: v.Detail}
	case err != nil:
		return greeting{reason: reason, detail: protocol.Sentence(err.Error())}
	case m.Type != TypeHello:
		return greeting{reason: "not_hello", detail: "the answer to a hello is a hello"}
	}
	if err := d.o.Peers.GreetPeer(ctx, agentID, m.From.Capabilities, d.o.Now()); err != nil {
		d.o.Logger.Warn("cannot note a hello", slog.String("agent_id", agentID), slog.Any("error", err))
	}
	return greeting{m: m}
}
