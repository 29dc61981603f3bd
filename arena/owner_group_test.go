package arena_test

import (
	"testing"
	"time"

	"github.com/agora-arena/arena/arena"
)

// Threat G1: owners that share a server or a key are one group for rated play.
func TestOwnerGroups(t *testing.T) {
	t.Parallel()
	link := func(owner string, kind arena.UnratedReason, value, first, firstOf string) arena.OwnerLink {
		return arena.OwnerLink{OwnerID: owner, Kind: kind, Value: value, First: first, FirstOf: firstOf}
	}
	const at, key = arena.UnratedSharedEndpoint, arena.UnratedSharedKey
	groups := arena.NewOwnerGroups([]arena.OwnerLink{
		link("ann", at, "one.example:443", "ag_1", "ann"),
		link("bob", at, "one.example:443", "ag_1", "ann"),
		link("bob", key, "k", "ag_2", "bob"),
		link("cid", key, "k", "ag_2", "bob"),
		link("cid", at, "two.example:443", "ag_3", "cid"),
		link("dee", at, "four.example:443", "ag_4", "dee"),
		// griefer has registered endpoints of others.
		link("griefer", at, "one.example:443", "ag_1", "ann"),
		link("griefer", at, "four.example:443", "ag_4", "dee"),
		link("eve", at, "same", "ag_5", "eve"),
		link("fay", key, "same", "ag_6", "fay"),
	})
	for _, tt := range []struct {
		a, b string
		want arena.UnratedReason
	}{
		{"ann", "ann", arena.UnratedSameOwner},
		{"ann", "bob", at},
		{"bob", "ann", at},
		{"bob", "cid", key},
		{"ann", "cid", ""}, // they share nothing
		{"ann", "dee", ""}, // whatever griefer does
		{"griefer", "dee", at},
		{"eve", "fay", ""}, // a key is no endpoint
		{"unknown", "other", ""},
		{"", "", ""}, // owners that are not known
	} {
		if got := groups.Unrated(tt.a, tt.b); got != tt.want {
			t.Errorf("%s and %s: %q, want %q", tt.a, tt.b, got, tt.want)
		}
	}
	for owner, want := range map[string]string{"ann": "ann", "bob": "ann", "dee": "dee", "griefer": "ann", "unknown": "unknown"} {
		if got := groups.Group(owner); got != want {
			t.Errorf("group of %s: %s, want %s", owner, got, want)
		}
	}
}

// Threat G2: a rank needs opponents of several groups of owners, however many
// opponents there are.
func TestStanding_Ranked(t *testing.T) {
	t.Parallel()
	now := time.Now()
	s := arena.Standing{Rating: arena.Rating{Matches: arena.RankedMatches, LastRatedAt: now}, Opponents: 100, Groups: arena.RankedGroups}
	if !s.Ranked(now) {
		t.Error("an agent that has met enough groups has no rank")
	}
	if s.Groups--; s.Ranked(now) {
		t.Error("an agent that has met too few groups has a rank")
	}
}
