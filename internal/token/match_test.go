package token

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agora-arena/arena/arena"
)

// One token serves the tasks of an agent in a match, for as long as each of them
// needs it. Threat F2.
func TestMatchTokens_Sign(t *testing.T) {
	t.Parallel()
	c := newClock()
	k := open(t, &rows{}, c, ES256)
	m := NewMatchTokens(k)
	made := map[string]int{}
	ask := func(claims arena.TaskClaims) arena.TaskClaims {
		t.Helper()
		text, err := m.Sign(claims)
		if err != nil {
			t.Fatal(err)
		}
		made[text]++
		got, err := k.Verify(t.Context(), text)
		if err != nil {
			t.Fatal(err)
		}
		if got.ExpiresAt.Before(claims.ExpiresAt.Truncate(time.Second)) {
			t.Errorf("expires at %v, before its task at %v", got.ExpiresAt, claims.ExpiresAt)
		}
		return got
	}

	got := ask(task(c))
	want := arena.TaskClaims{ID: "jt_1", AgentID: "ag_a", MatchID: "m_1", IssuedAt: got.IssuedAt, ExpiresAt: task(c).ExpiresAt.Add(matchTokenLife).Truncate(time.Second)}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("claims (-want +got):\n%s", diff)
	}
	for range 20 { // to the end of the first token and beyond
		c.add(30 * time.Second)
		again := task(c)
		again.ID, again.Round, again.BodyHash = "jt_2", again.Round+1, "b3RoZXI"
		ask(again)
	}
	if len(made) != 1 {
		t.Errorf("%d tokens in ten minutes, want 1", len(made))
	}
	c.add(30 * time.Second)
	ask(task(c))
	if len(made) != 2 {
		t.Errorf("%d tokens when the first one ends too early, want 2", len(made))
	}

	for _, change := range []func(*arena.TaskClaims){
		func(x *arena.TaskClaims) { x.AgentID = "ag_b" },
		func(x *arena.TaskClaims) { x.MatchID = "m_2" },
		func(x *arena.TaskClaims) { x.ExpiresAt = c.now().Add(arena.MaxAnswerTime + 5*time.Second) },
	} {
		other := task(c)
		change(&other)
		before := len(made)
		if got := ask(other); got.AgentID != other.AgentID || got.MatchID != other.MatchID || len(made) != before+1 {
			t.Errorf("%+v got the token %+v of %d", other, got, len(made))
		}
	}

	m.End("m_1")
	before, again := len(made), task(c)
	again.ID = "jt_3"
	ask(again)
	if len(made) != before+1 || m.size != 2 {
		t.Errorf("%d new tokens after the end of the match, %d kept; want 1 and 2", len(made)-before, m.size)
	}
	if _, err := m.Sign(arena.TaskClaims{MatchID: "m_1", ExpiresAt: c.now()}); err == nil || m.size != 2 {
		t.Errorf("a token without an agent: %v, %d kept", err, m.size)
	}
}

func TestMatchTokens_bounded(t *testing.T) {
	t.Parallel()
	m := NewMatchTokens(nil)
	for i := range 2*maxMatchTokens + 1 {
		for range 2 {
			m.keep(arena.TaskClaims{MatchID: fmt.Sprint("m_", i/2), AgentID: fmt.Sprint("ag_", i%2)}, matchToken{})
		}
	}
	kept := 0
	for _, of := range m.known {
		kept += len(of)
	}
	if kept == 0 || kept > maxMatchTokens || m.size != kept {
		t.Errorf("keeps %d tokens and counts %d, want at most %d", kept, m.size, maxMatchTokens)
	}
}
