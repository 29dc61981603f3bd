package match_test

import (
	"encoding/base64"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/arena/match"
)

func TestNew_refusesMissingParts(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for name, drop := range map[string]func(*match.Options){
		"Store": func(o *match.Options) { o.Store = nil }, "Wake": func(o *match.Options) { o.Wake = nil },
		"CheckSettings": func(o *match.Options) { o.CheckSettings = nil }, "Challenges": func(o *match.Options) { o.Challenges = nil },
		"Challenged": func(o *match.Options) { o.Challenged = nil },
		"Rescorer":   func(o *match.Options) { o.Rescorer = nil },
		"Engine":     func(o *match.Options) { o.Engine = nil }, "Publisher": func(o *match.Options) { o.Publisher = nil },
		"Now": func(o *match.Options) { o.Now = nil }, "Rand": func(o *match.Options) { o.Rand = nil }, "Logger": func(o *match.Options) { o.Logger = nil },
	} {
		o := f.options()
		drop(&o)
		if _, err := match.New(o); err == nil {
			t.Errorf("without %s: no error", name)
		}
	}
}

func TestService_Schedule(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	s, ann, bob := f.service(), f.agent("ann", "alice"), f.agent("bob", "bob")
	settings := arena.Settings{Format: arena.FormatLadder, Rated: true, Rounds: 2}
	m, err := s.Schedule(t.Context(), arena.MatchPlan{ID: "m_1", League: "quiz", Settings: settings, Agents: []arena.Agent{ann, bob}})
	f.ok(err)
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
