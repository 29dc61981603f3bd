package stream

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/stream/streamtest"
)

// endedMatches records the calls of End.
type endedMatches []string

func (e *endedMatches) End(matchID string) { *e = append(*e, matchID) }
func (*endedMatches) Tidy(time.Time)       {}

// The hub reports the end of a match to the seats, on a node that is alone and
// on one with others.
func TestHub_Seats_end(t *testing.T) {
	t.Parallel()
	for name, bus := range map[string]Bus{"alone": nil, "with others": muteBus{}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := start(t)
			var ended endedMatches
			h := NewHub(Options{Source: streamtest.Reader(t, b.log), Bus: bus, Clients: b.clients, Seats: &ended, Now: time.Now, Logger: b.hub.log})
			h.Publish(streamtest.League, arena.Event{MatchID: "m_2", Seq: 1, Type: arena.EventMatchFinished}, arena.Event{MatchID: "m_1", Seq: 1})
			h.Publish(streamtest.League, arena.Event{MatchID: "m_1", Seq: 2, Type: arena.EventMatchVoid})
			if diff := cmp.Diff(endedMatches{"m_2", "m_1"}, ended); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// muteBus is a bus without other nodes.
type muteBus struct{}

func (muteBus) Publish(string, []byte)                     {}
func (muteBus) Subscribe(string, func([]byte), func(bool)) {}
func (muteBus) Unsubscribe(string)                         {}
func (muteBus) Announce(map[string]int)                    {}
func (muteBus) Viewers(string) int                         { return 0 }
