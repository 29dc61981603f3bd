package registry_test

import (
	"context"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/internal/token"
	"github.com/agora-arena/arena/registry"
)

// service is a Service with parts that a test controls.
type service struct {
	*registry.Service
	*fixture
	options  registry.Options
	checks   int   // that were taken from the quota
	most     int   // of them
	checkErr error // of the checker
	full     error // of a full check, and of a rehearsal
	kits     int   // runs of the conformance kit
	hosts    hostChecks

	rehearsed arena.Rehearsal // the last one
}

// hostChecks are the checks that each server may still get; 0: no limit.
type hostChecks map[string]int

// Take implements registry.Quota.
func (h hostChecks) Take(_ context.Context, host string) error {
	switch h[host] {
	case 0:
		return nil
	case 1:
		return arena.Errorf(arena.CodeRateLimited, "too many checks of agents on this host")
	}
	h[host]--
	return nil
}

func alice() arena.Caller {
	return arena.Caller{TokenID: "to_alice", OwnerID: "ow_alice", Scope: arena.ScopeOwner}
}

func bob() arena.Caller {
	return arena.Caller{TokenID: "to_bob", OwnerID: "ow_bob", Scope: arena.ScopeOwner}
}

func admin() arena.Caller { return arena.Caller{TokenID: "to_admin", Scope: arena.ScopeAdmin} }

// Take implements registry.Quota.
func (s *service) Take(context.Context, string) error {
	if s.checks++; s.checks > s.most {
		return arena.Errorf(arena.CodeRateLimited, "too many endpoint checks")
	}
	return nil
}

// Check finds an endpoint with "down" in it unhealthy.
func (s *service) Check(ctx context.Context, id string) (arena.Agent, error) {
	if s.checkErr != nil {
		return arena.Agent{}, s.checkErr
	}
	_, after, err := s.store.Agents.UpdateAgent(ctx, id, func(g *arena.Agent) error {
		if g.Health.OK = !strings.Contains(g.Endpoint, "down"); g.Health.OK {
			g.PassedAt = start
		}
		return nil
	})
	return after, err
}

func (s *service) Endpoint(_ context.Context, field, raw string) (canonical, key string, err error) {
	if strings.Contains(raw, "blocked") {
		return "", "", &arena.Error{Code: arena.CodeEndpointBlocked, Fields: []arena.FieldError{{Field: field}}}
	}
	canonical = strings.TrimSuffix(raw, "/")
	return canonical, "key of " + canonical, nil
}

func (s *service) MayEnter(_ context.Context, slug string, _ arena.Agent, _ string) error {
	if slug != "quiz" {
		return arena.Errorf(arena.CodeNotFound, "there is no league %s", slug)
	}
	return nil
}

func newService(t *testing.T) *service {
	t.Helper()
	s := &service{fixture: newFixture(t), most: 1000, hosts: hostChecks{}}
	s.ok(s.store.Leagues.CreateLeague(t.Context(), arena.League{Slug: "quiz", Title: "Quiz", Status: arena.LeagueOpen, CreatedAt: start}))
	s.options = registry.Options{
		Store: s.store, Pauses: s.pauses(), Endpoints: s, Checker: s, Entries: s, Checks: s, HostChecks: s.hosts, PublicURL: "https://arena.example",
		Protocols: map[string]registry.Protocol{arena.ProtocolAAP: {}, arena.ProtocolAgora: {Polls: true}, arena.ProtocolEnvelope: {Polls: true, CheckKey: checkKey}, arena.ProtocolA2A: {CheckEndpoint: checkServes}},
		FullCheck: func(_ context.Context, g arena.Agent) (arena.Conformance, error) {
			s.kits++
			return arena.Conformance{AgentID: g.ID, Version: g.Version, CheckedAt: s.clock(), Passed: true, Report: []byte("{}")}, s.full
		},
		Rehearse: s.play, Rehearsals: s,
		AgentsPerOwner: 150, KeySecret: []byte("secret"), Now: s.clock, Logger: s.log,
	}
	s.Service = registry.New(s.options)
	return s
}

// checkKey stands for a protocol whose keys are in hexadecimal.
func checkKey(text string) (string, ed25519.PublicKey, error) {
	key, err := hex.DecodeString(text)
	if err != nil || len(key) != ed25519.PublicKeySize {
		return "", nil, errors.New("is not a key in hexadecimal")
	}
	return strings.ToLower(text), key, nil
}

// checkServes stands for a protocol whose endpoints must serve something.
func checkServes(_ context.Context, endpoint string) error {
	if strings.Contains(endpoint, "liar") {
		return &arena.Error{Code: arena.CodeEndpointInvalid, Message: "x", Fields: []arena.FieldError{{Field: "endpoint", Message: "lies"}}}
	}
	return nil
}

func (s *service) fails(err error, want arena.Code) {
	s.t.Helper()
	if arena.CodeOf(err) != want {
		s.t.Errorf("%v, want %q", err, want)
	}
}

// audited returns the audit log since the last call, oldest first.
func (s *service) audited() []string {
	s.t.Helper()
	entries, _, err := s.store.Operations.AuditLog(s.t.Context(), arena.AuditFilter{}, arena.Page{Limit: 100})
	s.ok(err)
	var lines []string
	for _, e := range entries {
		lines = append(lines, fmt.Sprint(e.Actor, " ", e.Token, " ", e.Action, " ", e.Target, " ", string(e.Before), " ", string(e.After)))
	}
	slices.Sort(lines) // entries of one millisecond are in no order
	return lines
}

func TestService_Register(t *testing.T) {
	t.Parallel()
	s := newService(t)
	good := arena.Registration{Name: "ant", Protocol: arena.ProtocolAAP, Endpoint: "https://ant.example/", Leagues: []string{"quiz"}}
	g, _, err := s.Register(t.Context(), alice(), good)
	if s.ok(err); g.OwnerID != "ow_alice" || g.Endpoint != "https://ant.example" || !slices.Equal(g.Leagues, []string{"quiz"}) || g.StatusAt(start) != arena.AgentActive {
		t.Errorf("%+v", g)
	}
	want := []string{`ow_alice to_alice create-agent ` + g.ID + `  {"description":"","endpoint":"https://ant.example","mark":"","model":"","name":"ant","version":""}`}
	if d := cmp.Diff(want, s.audited()); d != "" {
		t.Error(d)
	}
	long := strings.Repeat("é", 501)
	for name, c := range map[string]struct {
		edit  func(*arena.Registration)
		code  arena.Code
		field string
	}{
		"name taken":     {func(*arena.Registration) {}, arena.CodeNameTaken, "name"},
		"no name":        {func(r *arena.Registration) { r.Name = "" }, arena.CodeInvalid, "name"},
		"long name":      {func(r *arena.Registration) { r.Name = long[:82] }, arena.CodeInvalid, "name"},
		"invisible name": {func(r *arena.Registration) { r.Name = "a\u200bb" }, arena.CodeInvalid, "name"},
		"version":        {func(r *arena.Registration) { r.Version = long[:66] }, arena.CodeInvalid, "version"},
		"model":          {func(r *arena.Registration) { r.Model = long[:162] }, arena.CodeInvalid, "model"},
		"mark":           {func(r *arena.Registration) { r.Mark = "star-brown" }, arena.CodeInvalid, "mark"},
		"model of lines": {func(r *arena.Registration) { r.Model = "a\nb" }, arena.CodeInvalid, "model"},
		"description":    {func(r *arena.Registration) { r.Description = long }, arena.CodeInvalid, "description"},
		"long endpoint":  {func(r *arena.Registration) { r.Endpoint = "https://" + strings.Repeat("x", 2048) }, arena.CodeInvalid, "endpoint"},
		"no endpoint":    {func(r *arena.Registration) { r.Endpoint = "" }, arena.CodeInvalid, "endpoint"},
		"blocked":        {func(r *arena.Registration) { r.Endpoint = "https://blocked" }, arena.CodeEndpointBlocked, "endpoint"},
		"protocol":       {func(r *arena.Registration) { r.Protocol = "smtp" }, arena.CodeInvalid, "protocol"},
		"no key":         {func(r *arena.Registration) { r.Protocol = arena.ProtocolEnvelope }, arena.CodeInvalid, "public_key"},
		"bad key":        {func(r *arena.Registration) { r.Protocol, r.PublicKey = arena.ProtocolEnvelope, "x" }, arena.CodeInvalid, "public_key"},
		"no card": {func(r *arena.Registration) {
			r.Name, r.Protocol, r.Endpoint = "liar", arena.ProtocolA2A, "https://liar.example"
		}, arena.CodeEndpointInvalid, "endpoint"},
		"key of lines":   {func(r *arena.Registration) { r.PublicKey = "a\nb" }, arena.CodeInvalid, "public_key"},
		"unknown league": {func(r *arena.Registration) { r.Leagues = []string{"quiz", "chess"} }, arena.CodeInvalid, "leagues[1]"},
		"league twice":   {func(r *arena.Registration) { r.Leagues = []string{"quiz", "quiz"} }, arena.CodeInvalid, "leagues"},
		"too many leagues": {func(r *arena.Registration) {
			r.Leagues = nil
			for i := range 21 {
				r.Leagues = append(r.Leagues, fmt.Sprint("l", i))
			}
		}, arena.CodeInvalid, "leagues"},
	} {
		in := good
		c.edit(&in)
		_, _, err := s.Register(t.Context(), alice(), in)
		var e *arena.Error
		if !errors.As(err, &e) || e.Code != c.code || (c.field != "") != (len(e.Fields) == 1 && e.Fields[0].Field == c.field) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if n := len(s.audited()); n != 1 {
		t.Errorf("%d acts are audited: refusals are none", n)
	}
	for name, caller := range map[string]arena.Caller{"anyone": {}, "an admin": admin()} {
		if _, _, err := s.Register(t.Context(), caller, good); arena.CodeOf(err) != arena.CodeForbidden {
			t.Errorf("%s registers: %v", name, err)
		}
	}
	// The first check may fail for our own reasons.
	s.checkErr = errors.New("broken")
	good.Name = "bat"
	g, _, err = s.Register(t.Context(), bob(), good)
	if s.ok(err); g.StatusAt(start) != arena.AgentPending {
		t.Errorf("%+v", g)
	}
	s.most = 0
	_, _, err = s.Register(t.Context(), bob(), good)
	s.fails(err, arena.CodeRateLimited)
}

// The first key of an agent that fetches its tasks is stored with it.
func TestService_Register_key(t *testing.T) {
	t.Parallel()
	s := newService(t)
	s.options.Protocols[arena.ProtocolAAP] = registry.Protocol{Polls: true}
	g, secret, err := s.Register(t.Context(), alice(), arena.Registration{Name: "ant", Protocol: arena.ProtocolAAP})
	s.ok(err)
	key, err := s.store.Accounts.TokenByHash(t.Context(), token.Hash(secret))
	if s.ok(err); key.AgentID != g.ID || key.OwnerID != "ow_alice" || key.Scope != arena.ScopeAgent || key.Name != "first" {
		t.Errorf("%+v", key)
	}
	want := []string{
		`ow_alice to_alice create-agent ` + g.ID + `  {"description":"","endpoint":"","mark":"","max_concurrent":"1","model":"","name":"ant","version":""}`,
		`ow_alice to_alice create-agent-key ` + key.ID + `  {"agent_id":"` + g.ID + `","name":"first"}`,
	}
	if d := cmp.Diff(want, s.audited()); d != "" {
		t.Error(d)
	}
	_, secret, err = s.Register(t.Context(), alice(), arena.Registration{Name: "bee", Protocol: arena.ProtocolAAP, Endpoint: "https://bee.example"})
	if s.ok(err); secret != "" {
		t.Error("an agent with an endpoint has a key")
	}
}

// A registration that is repeated because its response was lost returns the same
// agent with the same key.
func TestService_Register_repeated(t *testing.T) {
	t.Parallel()
	s := newService(t)
	s.options.Protocols[arena.ProtocolAAP] = registry.Protocol{Polls: true}
	in := arena.Registration{Name: "ant", Protocol: arena.ProtocolAAP, IdempotencyKey: "5f1c8a52-0d0e"}
	g, secret, err := s.Register(t.Context(), alice(), in)
	s.ok(err)
	same, again, err := s.Register(t.Context(), alice(), in)
	if s.ok(err); same.ID != g.ID || again != secret || len(s.audited()) != 2 {
		t.Errorf("registered %s again as %s, the same key: %t, audited %q", g.ID, same.ID, again == secret, s.audited())
	}

	other := in
	other.Name = "bee"
	_, _, err = s.Register(t.Context(), alice(), other)
	s.fails(err, arena.CodeConflict)
	other.IdempotencyKey, other.Name = "another", "ant"
	_, _, err = s.Register(t.Context(), alice(), other)
	s.fails(err, arena.CodeNameTaken)
	theirs, key, err := s.Register(t.Context(), bob(), arena.Registration{Name: "bat", Protocol: arena.ProtocolAAP, IdempotencyKey: in.IdempotencyKey})
	if s.ok(err); theirs.ID == g.ID || key == secret {
		t.Error("two owners share a key")
	}

	first, err := s.store.Accounts.TokenByHash(t.Context(), token.Hash(secret))
	s.ok(err)
	s.ok(s.store.Accounts.RevokeToken(t.Context(), "ow_alice", first.ID))
	_, _, err = s.Register(t.Context(), alice(), in)
	s.fails(err, arena.CodeNameTaken) // a revoked key is not returned
}

func TestService_Register_count(t *testing.T) {
	t.Parallel()
	s := newService(t)
	for i := range 149 {
		s.agent(fmt.Sprint("ant-", i)) // more than a page of a list
	}
	last, _, err := s.Register(t.Context(), alice(), arena.Registration{Name: "last", Protocol: arena.ProtocolAgora})
	s.ok(err)
	next := arena.Registration{Name: "next", Protocol: arena.ProtocolAgora}
	_, _, err = s.Register(t.Context(), alice(), next)
	s.fails(err, arena.CodeConflict)
	s.ok(s.Retire(t.Context(), alice(), last.ID))
	_, _, err = s.Register(t.Context(), alice(), next)
	s.ok(err)
}

// Threat O8: an agent that was registered under older rules keeps its endpoint,
// also when its owner sends it again with a change.
func TestService_Update_oldEndpoint(t *testing.T) {
	t.Parallel()
	s := newService(t)
	g := s.agent("blocked")
	text := func(v string) *string { return &v }
	after, err := s.Update(t.Context(), alice(), g.ID, arena.AgentUpdate{Version: text("2"), Endpoint: text(g.Endpoint)})
	if s.ok(err); after.Version != "2" || after.Endpoint != g.Endpoint || after.StatusAt(start) != g.StatusAt(start) {
		t.Errorf("%+v", after)
	}
	_, err = s.Update(t.Context(), alice(), g.ID, arena.AgentUpdate{Endpoint: text(g.Endpoint + "/new")})
	s.fails(err, arena.CodeEndpointBlocked)
}

func TestService_Update(t *testing.T) {
	t.Parallel()
	s := newService(t)
	g := s.agent("ant")
	text := func(v string) *string { return &v }
	after, err := s.Update(t.Context(), alice(), g.ID, arena.AgentUpdate{Version: text("2")})
	if s.ok(err); after.Version != "2" || after.Endpoint != g.Endpoint || s.checks != 0 {
		t.Errorf("%+v after %d checks", after, s.checks)
	}
	after, err = s.Update(t.Context(), admin(), g.ID, arena.AgentUpdate{Endpoint: text("https://down.example")})
	if s.ok(err); after.StatusAt(start) != arena.AgentPending || s.checks != 1 {
		t.Errorf("%+v after %d checks", after, s.checks)
	}
	for name, in := range map[string]arena.AgentUpdate{
		"no name": {Name: text("")}, "version": {Version: text("a\nb")}, "no endpoint": {Endpoint: text("")}, "long endpoint": {Endpoint: text(strings.Repeat("x", 2049))},
	} {
		if _, err := s.Update(t.Context(), alice(), g.ID, in); arena.CodeOf(err) != arena.CodeInvalid {
			t.Errorf("%s: %v", name, err)
		}
	}
	_, err = s.Update(t.Context(), bob(), g.ID, arena.AgentUpdate{})
	s.fails(err, arena.CodeNotFound)
	s.ok(s.Retire(t.Context(), alice(), g.ID))
	s.ok(s.Retire(t.Context(), alice(), g.ID))
	_, err = s.Update(t.Context(), alice(), g.ID, arena.AgentUpdate{})
	s.fails(err, arena.CodeConflict)
	s.fails(s.Retire(t.Context(), bob(), g.ID), arena.CodeNotFound)
	fields := func(endpoint, version string) string {
		return `{"description":"","endpoint":"https://` + endpoint + `","mark":"","model":"","name":"ant","version":"` + version + `"}`
	}
	want := []string{
		"admin to_admin update-agent ag_ant " + fields("ant.example", "2") + " " + fields("down.example", "2"),
		"ow_alice to_alice retire-agent ag_ant  ", "ow_alice to_alice retire-agent ag_ant  ",
		"ow_alice to_alice update-agent ag_ant " + fields("ant.example", "") + " " + fields("ant.example", "2"),
	}
	if d := cmp.Diff(want, s.audited()); d != "" {
		t.Error(d)
	}
}

// Threat N2: an expired agent comes back with another endpoint, which has seven
// days again. Resuming it is refused with the way out.
func TestService_Update_expired(t *testing.T) {
	t.Parallel()
	s := newService(t)
	g := s.agent("ant")
	_, _, err := s.store.Agents.UpdateAgent(t.Context(), g.ID, func(g *arena.Agent) error {
		g.PassedAt = time.Time{}
		g.SetPause(arena.Pause{Reason: arena.PauseExpired, Since: start})
		return nil
	})
	s.ok(err)
	if _, err := s.Resume(t.Context(), alice(), g.ID); arena.CodeOf(err) != arena.CodeConflict || !strings.Contains(err.Error(), "/check") {
		t.Errorf("resumed: %v", err)
	}
	name, endpoint := "bee", "https://down.example"
	after, err := s.Update(t.Context(), alice(), g.ID, arena.AgentUpdate{Name: &name})
	if s.ok(err); after.StatusAt(start) != arena.AgentPaused {
		t.Errorf("a new name brings it back: %+v", after)
	}
	s.advance(time.Hour)
	after, err = s.Update(t.Context(), alice(), g.ID, arena.AgentUpdate{Endpoint: &endpoint})
	if s.ok(err); after.StatusAt(start) != arena.AgentPending || !after.EndpointSince.Equal(start.Add(time.Hour)) {
		t.Errorf("after a new endpoint: %+v", after)
	}
	if events := s.published(); len(events) != 1 || !strings.Contains(events[0], `"reason":"expired"`) {
		t.Errorf("events %q", events)
	}
}

func TestService_VerifyKey(t *testing.T) {
	t.Parallel()
	s := newService(t)
	key := ed25519.NewKeyFromSeed([]byte(strings.Repeat("k", ed25519.SeedSize)))
	public, _ := key.Public().(ed25519.PublicKey)
	g, _, err := s.Register(t.Context(), alice(), arena.Registration{Name: "ant", Protocol: arena.ProtocolEnvelope, PublicKey: strings.ToUpper(hex.EncodeToString(public))})
	s.ok(err)
	challenge := s.KeyChallenge(g)
	if !strings.Contains(challenge, "https://arena.example") || !strings.Contains(challenge, g.ID) || g.PublicKey != hex.EncodeToString(public) {
		t.Errorf("challenge %q of %+v", challenge, g)
	}
	sign := func(text string) string { return base64.StdEncoding.EncodeToString(ed25519.Sign(key, []byte(text))) }
	for name, signature := range map[string]string{
		"another text": sign(challenge + "x"), "no base64": strings.Repeat("*", 88), "a line break": sign(challenge)[:80] + "\n" + sign(challenge)[80:],
	} {
		if _, err := s.VerifyKey(t.Context(), alice(), g.ID, signature); arena.CodeOf(err) != arena.CodeInvalid {
			t.Errorf("%s: %v", name, err)
		}
	}
	_, err = s.VerifyKey(t.Context(), bob(), g.ID, sign(challenge))
	s.fails(err, arena.CodeNotFound)
	url := strings.NewReplacer("+", "-", "/", "_", "=", "").Replace(sign(challenge))
	for range 2 { // again changes nothing
		g, err = s.VerifyKey(t.Context(), alice(), g.ID, url)
		if s.ok(err); !g.KeyProvedAt.Equal(start) || s.KeyChallenge(g) != "" {
			t.Errorf("%+v", g)
		}
		s.advance(time.Second)
	}
	_, err = s.VerifyKey(t.Context(), alice(), s.agent("plain").ID, url)
	s.fails(err, arena.CodeConflict)
}

func TestService_Pause(t *testing.T) {
	t.Parallel()
	s := newService(t)
	g := s.agent("ant")
	status := func(g arena.Agent, err error) string {
		if err != nil {
			return string(arena.CodeOf(err))
		}
		pause, _ := g.PauseAt(start)
		return string(g.StatusAt(start)) + " " + string(pause.Reason)
	}
	type step struct {
		caller arena.Caller
		call   func(context.Context, arena.Caller, string) (arena.Agent, error)
		want   string
	}
	for i, c := range []step{
		{alice(), s.Resume, "active "},
		{bob(), s.Pause, "not_found"},
		{alice(), s.Pause, "paused owner"},
		{alice(), s.Pause, "paused owner"},
		{admin(), s.Pause, "paused admin"},
		{alice(), s.Resume, "paused admin"},
		{alice(), s.Resume, "conflict"},
		{bob(), s.Resume, "not_found"},
		{admin(), s.Resume, "active "},
	} {
		if got := status(c.call(t.Context(), c.caller, g.ID)); got != c.want {
			t.Errorf("step %d: %s, want %s", i, got, c.want)
		}
	}
	want := []string{
		`agent_paused ag_ant {"name":"ant","reason":"owner"} []`, `agent_paused ag_ant {"name":"ant","reason":"admin"} []`,
		`agent_resumed ag_ant {"name":"ant","reason":"owner"} []`, `agent_resumed ag_ant {"name":"ant","reason":"admin"} []`,
	}
	if d := cmp.Diff(want, s.published()); d != "" {
		t.Error(d)
	}
	if n := len(s.audited()); n != 6 {
		t.Errorf("%d acts are audited, want 6", n)
	}
	_, err := s.options.Pauses.PauseForRateLimit(t.Context(), arena.Seat{AgentID: g.ID, Name: g.Name}, start.Add(5*time.Minute))
	s.ok(err)
	_, err = s.Resume(t.Context(), admin(), g.ID)
	if s.fails(err, arena.CodeConflict); !strings.Contains(err.Error(), "2025-06-01T12:05:00.000Z") {
		t.Error(err)
	}
	s.ok(s.Retire(t.Context(), alice(), g.ID))
	_, err = s.Pause(t.Context(), alice(), g.ID)
	s.fails(err, arena.CodeConflict)
}
