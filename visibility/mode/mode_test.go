package mode_test

import (
	"bytes"
	"encoding/json"
	"testing"
	"time"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/visibility/mode"
)

func TestOf(t *testing.T) {
	t.Parallel()
	for v, want := range map[arena.Visibility]mode.Rules{
		"live": {}, "sealed": {Sealed: true}, "delayed:30": {Delay: 30 * time.Second},
		"": {Sealed: true}, "unheard of": {Sealed: true}, "delayed:0": {Sealed: true}, // threat F1
	} {
		m := arena.Match{Status: arena.MatchRunning, Settings: arena.Settings{Visibility: v}}
		if got := mode.Of(m); got != want {
			t.Errorf("%q: %+v, want %+v", v, got, want)
		}
		want.Delay = 0
		for _, over := range []arena.MatchStatus{arena.MatchFinished, arena.MatchVoid, arena.MatchCancelled} {
			if m.Status = over; mode.Of(m) != want {
				t.Errorf("%q: the rules of a match that is %s are %+v", v, over, mode.Of(m))
			}
		}
	}
}

// Only a sealed match hides what an agent writes. Threat F1.
func TestRules_Seal(t *testing.T) {
	t.Parallel()
	e := arena.Event{Type: arena.EventThinking, Body: json.RawMessage(`{"message":"Lima"}`)}
	for _, r := range []mode.Rules{{}, {Sealed: true}, {Delay: time.Second}} {
		got, err := r.Seal(e)
		if err != nil || bytes.Contains(got.Body, []byte("Lima")) == r.Sealed || bytes.Contains(got.Hidden, []byte("Lima")) != r.Sealed {
			t.Errorf("%+v: %s hides %s, %v", r, got.Body, got.Hidden, err)
		}
	}
}

func TestRules_PublishedAtOnce(t *testing.T) {
	t.Parallel()
	for _, kind := range []arena.EventType{arena.EventThinking, arena.EventRoundClosed, arena.EventMatchFinished, arena.EventMatchVoid} {
		last := arena.Event{Type: kind}
		if delayed := (mode.Rules{Delay: time.Second}).PublishedAtOnce(last); delayed != kind.Ends() {
			t.Errorf("delayed match, %s: %t", kind, delayed)
		}
		if !(mode.Rules{}).PublishedAtOnce(last) || !(mode.Rules{Sealed: true}).PublishedAtOnce(last) {
			t.Errorf("%s of a match without delay is not published at once", kind)
		}
	}
}
