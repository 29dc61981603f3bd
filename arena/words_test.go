package arena_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/agora-arena/arena/arena"
)

func TestNewID_SortsByTime(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC)
	var ids []string
	for i := range 100 {
		ids = append(ids, arena.NewID(arena.MatchPrefix, at.Add(time.Duration(i)*time.Millisecond)))
	}
	if !slices.IsSorted(ids) {
		t.Errorf("ids of later milliseconds must sort after earlier ones: %v", ids)
	}
	if len(ids[0]) != len("m_")+26 {
		t.Errorf("id %q has %d characters", ids[0], len(ids[0]))
	}
	if first, second := arena.NewID("m_", at), arena.NewID("m_", at); first == second {
		t.Error("two ids of one millisecond are equal")
	}
}

func TestVisibility_Delay(t *testing.T) {
	t.Parallel()
	for v, want := range map[arena.Visibility]time.Duration{
		"live": 0, "sealed": 0, "": 0, "delayed": 0, "delayed:": 0, "delayed:0": 0, "delayed:3601": 0, "delayed:70000": 0, "delayed:05": 0,
		"delayed:+5": 0, "delayed:-5": 0, "delayed:5 ": 0, "delayed:1.5": 0, "delayed:5s": 0, "Delayed:5": 0,
		"delayed:1": time.Second, "delayed:30": 30 * time.Second, "delayed:3600": time.Hour,
	} {
		if valid := want > 0 || v == "live" || v == "sealed"; v.Delay() != want || v.Valid() != valid {
			t.Errorf("%q: %s, want %s; valid: %t", v, v.Delay(), want, v.Valid())
		}
	}
}

func TestAgent_StatusAt(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	passed := arena.Agent{PassedAt: now.Add(-time.Hour)}
	with := func(pauses ...arena.Pause) arena.Agent {
		a := passed
		a.Pauses = pauses
		return a
	}
	cases := []struct {
		name   string
		agent  arena.Agent
		status arena.AgentStatus
		reason arena.PauseReason
	}{
		{"no passed check yet", arena.Agent{}, arena.AgentPending, ""},
		{"passed", passed, arena.AgentActive, ""},
		{"rate limited", with(arena.Pause{Reason: arena.PauseRateLimit, Until: now.Add(time.Second)}), arena.AgentPaused, arena.PauseRateLimit},
		{"rate limit is over", with(arena.Pause{Reason: arena.PauseRateLimit, Until: now}), arena.AgentActive, ""},
		{"strongest reason is shown", with(
			arena.Pause{Reason: arena.PauseHealth}, arena.Pause{Reason: arena.PauseOwner}), arena.AgentPaused, arena.PauseOwner},
		{"retired stays retired", arena.Agent{PassedAt: now, RetiredAt: now, Pauses: []arena.Pause{{Reason: arena.PauseAdmin}}}, arena.AgentRetired, arena.PauseAdmin},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if got := c.agent.StatusAt(now); got != c.status {
				t.Errorf("status is %q, want %q", got, c.status)
			}
			if p, _ := c.agent.PauseAt(now); p.Reason != c.reason {
				t.Errorf("pause is %q, want %q", p.Reason, c.reason)
			}
		})
	}
}

func TestAgent_Pauses(t *testing.T) {
	t.Parallel()
	var a arena.Agent
	a.SetPause(arena.Pause{Reason: arena.PauseHealth})
	a.SetPause(arena.Pause{Reason: arena.PauseOwner})
	a.SetPause(arena.Pause{Reason: arena.PauseHealth})
	if len(a.Pauses) != 2 {
		t.Fatalf("a reason stands once: %v", a.Pauses)
	}
	before := a
	if !a.LiftPause(arena.PauseHealth) || a.LiftPause(arena.PauseHealth) {
		t.Error("a pause is lifted once")
	}
	if len(before.Pauses) != 2 {
		t.Error("lifting a pause changed a copy")
	}
}

func TestNumbers_MarshalJSON(t *testing.T) {
	t.Parallel()
	cases := []struct {
		v    any
		want string
	}{
		{arena.StartRating, "1500.000"},
		{arena.MilliElo(-20_000), "-20.000"},
		{arena.MilliElo(-7), "-0.007"},
		{arena.MilliElo(1_623_450), "1623.450"},
		{arena.OnePoint, "1"},
		{arena.Points(500), "0.5"},
		{arena.Points(333), "0.333"},
		{arena.Points(0), "0"},
		{arena.Points(1050), "1.05"},
	}
	for _, c := range cases {
		if got, _ := json.Marshal(c.v); string(got) != c.want {
			t.Errorf("%T(%v) is %s, want %s", c.v, c.v, got, c.want)
		}
	}
}

func TestEvent_AppendJSON(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 21, 3, 4, 5, 6_700_000, time.FixedZone("", 3600))
	cases := []struct {
		name string
		e    arena.Event
		want string
	}{
		{
			"agent event",
			arena.Event{
				Seq: 17, MatchID: "m_1", Round: 3, AgentID: "ag_1", At: at, Type: arena.EventThinking,
				Body: json.RawMessage(`{"message":"hm"}`), Hidden: json.RawMessage(`{"secret":1}`),
			},
			`{"seq":17,"match_id":"m_1","round":3,"agent_id":"ag_1","ts":"2026-11-21T02:04:05.006Z","type":"thinking","message":"hm"}`,
		},
		{
			"live only",
			arena.Event{At: at, Type: arena.EventViewers, Body: json.RawMessage(`{"count":2}`)},
			`{"ts":"2026-11-21T02:04:05.006Z","type":"viewers","count":2}`,
		},
		{
			"no members",
			arena.Event{At: at, Type: arena.EventReveal, Body: json.RawMessage(`{}`)},
			`{"ts":"2026-11-21T02:04:05.006Z","type":"reveal"}`,
		},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if got := string(c.e.AppendJSON(nil)); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
			if !json.Valid(c.e.AppendJSON(nil)) {
				t.Error("not JSON")
			}
		})
	}
}

func TestError_Codes(t *testing.T) {
	t.Parallel()
	cause := errors.New("disk full")
	err := fmt.Errorf("claim match m_1: %w", arena.Errorf(arena.CodeUnavailable, "storage is unavailable: %w", cause))
	if arena.CodeOf(err) != arena.CodeUnavailable || !errors.Is(err, cause) {
		t.Errorf("code %q or cause lost in %v", arena.CodeOf(err), err)
	}
	if !errors.Is(err, &arena.Error{Code: arena.CodeUnavailable}) || errors.Is(err, &arena.Error{Code: arena.CodeConflict}) {
		t.Error("errors.Is compares codes")
	}
	if arena.CodeOf(cause) != arena.CodeInternal || arena.CodeOf(nil) != "" {
		t.Error("an error without a code is internal, nil has none")
	}
	if got := arena.Invalid("agents[1]", "at most %d", 128).Error(); got != "validation failed; agents[1]: at most 128" {
		t.Errorf("got %q", got)
	}
}

func TestThousandths_ReadBack(t *testing.T) {
	t.Parallel()
	for _, v := range []arena.MilliElo{0, 1, -1, 999, 1000, -20_000, 1_500_000, 1_512_345, arena.FloorRating} {
		raw, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		var back arena.MilliElo
		if err := json.Unmarshal(raw, &back); err != nil || back != v {
			t.Errorf("%d came back as %d from %s (%v)", v, back, raw, err)
		}
	}
	var p arena.Points
	if err := json.Unmarshal([]byte("2"), &p); err != nil || p != 2000 {
		t.Errorf("2 points are %d (%v)", p, err)
	}
	for _, bad := range []string{`"1"`, `1.0001`, `1e3`, `1.-1`, `-`, `99999999999`, `null`, `1.x`} {
		if err := p.UnmarshalJSON([]byte(bad)); err == nil {
			t.Errorf("%s was read as %d", bad, p)
		}
	}
}
