package match_test

import (
	"encoding/base64"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/match"
)

// Threats G1 and G7: owners that share a server or a key are not rated against each
// other, and the match says why.
func TestService_Schedule_ownerGroups(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	s := f.service()
	for _, name := range []string{"cid", "dee"} {
		f.ok(f.store.Accounts.CreateOwner(t.Context(), arena.Owner{ID: "ow_" + name, Name: name, CreatedAt: start},
			arena.Token{ID: "to_" + name, OwnerID: "ow_" + name, Scope: arena.ScopeOwner, Hash: [32]byte{name[0]}, CreatedAt: start}))
	}
	at := func(server string) func(*arena.Agent) { return func(g *arena.Agent) { g.EndpointKey = server } }
	ann := f.agent("ann", "alice", at("one.example:443"))
	bob := f.agent("bob", "bob", at("two.example:443"))
	f.agent("old", "bob", at("one.example:443"), func(g *arena.Agent) { g.RetiredAt = start })
	cid := f.agent("cid", "cid", at("three.example:443"), func(g *arena.Agent) { g.PublicKey = "k" })
	key := f.agent("key", "bob", func(g *arena.Agent) { g.PublicKey = "k" })
	dee := f.agent("dee", "dee")
	twin := f.agent("twin", "alice")
	settings := arena.Settings{Format: arena.FormatLadder, Rated: true, Rounds: 2}
	for _, tt := range []struct {
		name string
		a, b arena.Agent
		want arena.UnratedReason
	}{
		{"strangers", ann, cid, ""},
		{"a retired agent was on the same server", ann, bob, arena.UnratedSharedEndpoint},
		{"another agent of the owner has the key", bob, cid, arena.UnratedSharedKey},
		{"the key itself", key, cid, arena.UnratedSharedKey},
		{"one owner", ann, twin, arena.UnratedSameOwner},
		{"nothing to compare", dee, ann, ""},
	} {
		m, err := s.Schedule(t.Context(), arena.MatchPlan{League: "quiz", Settings: settings, Agents: []arena.Agent{tt.a, tt.b}})
		f.ok(err)
		kept := f.stored(m.ID)
		if kept.UnratedReason != tt.want || kept.Settings.Rated != (tt.want == "") {
			t.Errorf("%s: rated %v, reason %q, want %q", tt.name, kept.Settings.Rated, kept.UnratedReason, tt.want)
		}
	}
	// A domain in common counts where the operator says so.
	near := f.agent("near", "alice", at("a.farm.example:443"))
	far := f.agent("far", "cid", at("b.farm.example:443"))
	domains := f.options()
	domains.GroupBy = append(domains.GroupBy, arena.UnratedSharedDomain)
	strict := match.New(domains)
	for service, want := range map[*match.Service]arena.UnratedReason{s: "", strict: arena.UnratedSharedDomain} {
		m, err := service.Schedule(t.Context(), arena.MatchPlan{League: "quiz", Settings: settings, Agents: []arena.Agent{near, far}})
		f.ok(err)
		if kept := f.stored(m.ID); kept.UnratedReason != want {
			t.Errorf("one domain: %q, want %q", kept.UnratedReason, want)
		}
	}
	// More than two: the match is rated, pairs of one group are not.
	settings.Format = arena.FormatElimination
	m, err := s.Schedule(t.Context(), arena.MatchPlan{League: "quiz", Settings: settings, Agents: []arena.Agent{ann, dee, cid, bob}})
	f.ok(err)
	kept := f.stored(m.ID)
	var groups []string
	for _, seat := range kept.Seats {
		groups = append(groups, seat.Group())
	}
	if d := cmp.Diff([]string{"ow_cid", "ow_dee", "ow_cid", "ow_cid"}, groups); d != "" || !kept.Settings.Rated || kept.UnratedReason != "" {
		t.Errorf("rated %v, reason %q, groups %s", kept.Settings.Rated, kept.UnratedReason, d)
	}
}

func TestService_Schedule(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	s, ann, bob := f.service(), f.agent("ann", "alice"), f.agent("bob", "bob")
	settings := arena.Settings{Format: arena.FormatLadder, Rated: true, Rounds: 2}
	m, err := s.Schedule(t.Context(), arena.MatchPlan{ID: "m_1", League: "quiz", Settings: settings, Agents: []arena.Agent{ann, bob}})
	f.ok(err)
	settings.RulesVersion = arena.RulesVersion
	want := arena.Match{
		ID: "m_1", League: "quiz", Status: arena.MatchScheduled, Settings: settings, Seed: m.Seed, SeedSalt: m.SeedSalt, CreatedAt: start, StartsAt: start, Seq: 1,
		Seats: []arena.Seat{
			{No: 0, AgentID: "ag_ann", Name: "ann", OwnerID: "ow_alice", Protocol: "aap", Version: "1.2", State: arena.SeatActive, Salt: m.Seats[0].Salt},
			{No: 1, AgentID: "ag_bob", Name: "bob", OwnerID: "ow_bob", Protocol: "aap", Version: "1.2", State: arena.SeatActive, Salt: m.Seats[1].Salt},
		},
	}
	if d := cmp.Diff(want, m); d != "" || m.Seed == 0 {
		t.Errorf("seed %d, %s", m.Seed, d)
	}
	salts := map[string]bool{m.SeedSalt: true, m.Seats[0].Salt: true, m.Seats[1].Salt: true}
	for salt := range salts {
		if raw, err := base64.RawURLEncoding.DecodeString(salt); err != nil || len(raw) != 16 || len(salts) != 3 {
			t.Errorf("salts %v: %v", salts, err)
		}
	}
	if kept := f.stored("m_1"); kept.Status != arena.MatchScheduled || len(kept.Seats) != 2 || kept.Seed != m.Seed {
		t.Errorf("stored %+v", kept)
	}
	wantEvents := []string{`quiz m_1 1 match_scheduled {"league":"quiz","starts_at":"2025-06-01T12:00:00.000Z","rated":true,` +
		`"seats":[{"agent_id":"ag_ann","name":"ann","version":"1.2"},{"agent_id":"ag_bob","name":"bob","version":"1.2"}]}`}
	if d := cmp.Diff(wantEvents, f.published()); d != "" {
		t.Error(d)
	}

	later, err := s.Schedule(t.Context(), arena.MatchPlan{League: "quiz", Settings: settings, Agents: []arena.Agent{ann, bob}, StartsAt: start.Add(time.Hour)})
	f.ok(err)
	if later.ID == "" || !later.StartsAt.Equal(start.Add(time.Hour)) {
		t.Errorf("match %q starts at %v", later.ID, later.StartsAt)
	}
	f.published()
	if _, err := s.Schedule(t.Context(), arena.MatchPlan{League: "none", Agents: []arena.Agent{ann, bob}}); arena.CodeOf(err) != arena.CodeNotFound {
		t.Errorf("in no league: %v", err)
	}
	if got := f.published(); got != nil {
		t.Errorf("published %q", got)
	}
}
