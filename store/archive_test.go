package store_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/store"
	"github.com/agora-arena/arena/store/storetest"
)

func drawEvents(t *rapid.T) []arena.Event {
	events := make([]arena.Event, rapid.IntRange(0, 20).Draw(t, "events"))
	for i := range events {
		e := arena.Event{
			MatchID: "m_1", Seq: int64(i + 1), Round: rapid.IntRange(0, 200).Draw(t, "round"),
			AgentID: rapid.SampledFrom([]string{"", "ag_1", "ag_2"}).Draw(t, "agent"),
			Type:    arena.EventType(rapid.String().Draw(t, "type")),
		}
		if at := rapid.Int64Range(-1<<40, 1<<42).Draw(t, "at"); at != 0 {
			e.At = time.UnixMilli(at).UTC()
		}
		if body := rapid.SliceOf(rapid.Byte()).Draw(t, "body"); len(body) > 0 {
			e.Body = body
		}
		events[i] = e
	}
	return events
}

func TestArchive_Format(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		want := drawEvents(t)
		packed := store.Pack(want)
		got, err := store.Unpack("m_1", len(want), packed)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("differs (-want +got):\n%s", diff)
		}
		for _, n := range []int{len(want) - 1, len(want) + 1} {
			if _, err := store.Unpack("m_1", n, packed); n >= 0 && err == nil {
				t.Fatalf("%d events were read as %d", len(want), n)
			}
		}
		// Damage is an error or other events, never a panic.
		if len(packed) > 0 {
			packed[rapid.IntRange(0, len(packed)-1).Draw(t, "position")] ^= rapid.Byte().Draw(t, "damage")
			_, _ = store.Unpack("m_1", len(want), packed[:rapid.IntRange(0, len(packed)).Draw(t, "length")])
		}
	})
}

// TestArchiveMatches_Damaged: what is not a whole log is left as it is, and
// keeps no other from being packed.
func TestArchiveMatches_Damaged(t *testing.T) {
	t.Parallel()
	for gap, where := range map[string]string{"last": "seq = 3", "middle": "seq = 2", "first": "seq = 1"} {
		t.Run(gap, func(t *testing.T) {
			t.Parallel()
			s := storetest.Fill(t, sqliteURL(t)) // m_3 and m_4, with 3 events, are over and not packed
			if _, err := s.Writer().ExecContext(t.Context(), "DELETE FROM events WHERE match_id = 'm_4' AND "+where); err != nil {
				t.Fatal(err)
			}
			for i, want := range []int{1, 0} {
				n, err := s.Matches.ArchiveMatches(t.Context(), time.Now(), 10)
				if n != want || err == nil || !strings.Contains(err.Error(), "archive match m_4: its log") {
					t.Errorf("run %d: packed %d (%v)", i+1, n, err)
				}
			}
			left, err := s.Matches.EventsAfter(t.Context(), "m_4", 0, 10)
			if len(left) != 2 || err != nil {
				t.Errorf("%d events are left (%v)", len(left), err)
			}
		})
	}
}

// TestArchiveCache_Crowd: many who come late to a match decode its log once.
func TestArchiveCache_Crowd(t *testing.T) {
	t.Parallel()
	c := store.NewArchiveCache(1 << 20)
	var loads atomic.Int64
	want := []arena.Event{{Seq: 1, Body: json.RawMessage(`{}`)}}
	var wg sync.WaitGroup
	for range 200 {
		wg.Go(func() {
			got, err := c.Get(t.Context(), "m_1", func() ([]arena.Event, error) {
				loads.Add(1)
				return want, nil
			})
			if err != nil || !cmp.Equal(want, got) {
				t.Errorf("got %v (%v)", got, err)
			}
		})
	}
	wg.Wait()
	if n := loads.Load(); n != 1 {
		t.Errorf("decoded %d times", n)
	}
}

func TestArchiveCache_Failure(t *testing.T) {
	t.Parallel()
	c := store.NewArchiveCache(1 << 20)
	boom := errors.New("boom")
	loading, fail := make(chan struct{}), make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		_, err := c.Get(t.Context(), "m_1", func() ([]arena.Event, error) {
			close(loading)
			<-fail
			return nil, boom
		})
		if !errors.Is(err, boom) {
			t.Errorf("got %v", err)
		}
	})
	<-loading
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := c.Get(gone, "m_1", nil); !errors.Is(err, context.Canceled) {
		t.Errorf("who went away got %v", err)
	}
	wg.Go(func() { // it waits for the other, or comes after it: it loads for itself
		got, err := c.Get(t.Context(), "m_1", func() ([]arena.Event, error) { return []arena.Event{{Seq: 1}}, nil })
		if err != nil || len(got) != 1 {
			t.Errorf("got %v (%v)", got, err)
		}
	})
	close(fail)
	wg.Wait()
}

func TestArchiveCache_Bound(t *testing.T) {
	t.Parallel()
	c := store.NewArchiveCache(5_000)
	loads := 0
	get := func(id string, size int) {
		t.Helper()
		if _, err := c.Get(t.Context(), id, func() ([]arena.Event, error) {
			loads++
			return []arena.Event{{Seq: 1, Body: make([]byte, size)}}, nil
		}); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 100 {
		get("m_often", 1_000)
		get(fmt.Sprintf("m_%d", i), 1_000)
	}
	if rows, size := c.Size(); rows != 4 || size > 5_000 {
		t.Errorf("holds %d rows of %d bytes", rows, size)
	}
	if loads != 101 {
		t.Errorf("decoded %d times: what is read often was dropped", loads)
	}
	get("m_huge", 10_000) // is served, and not kept
	if rows, size := c.Size(); rows != 0 || size != 0 {
		t.Errorf("holds %d rows of %d bytes", rows, size)
	}
}

// TestArchiveCache_Idle: what nobody reads any more does not stay for ever.
func TestArchiveCache_Idle(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := store.NewArchiveCache(1 << 20)
		loads := 0
		get := func(id string) {
			t.Helper()
			if _, err := c.Get(t.Context(), id, func() ([]arena.Event, error) {
				loads++
				return []arena.Event{{Seq: 1}}, nil
			}); err != nil {
				t.Fatal(err)
			}
		}
		get("m_once")
		get("m_again")
		time.Sleep(90 * time.Second)
		get("m_again")
		c.DropIdle()
		if rows, _ := c.Size(); rows != 2 {
			t.Errorf("holds %d rows of 2 that were read within two minutes", rows)
		}
		time.Sleep(time.Minute)
		c.DropIdle()
		if rows, _ := c.Size(); rows != 1 {
			t.Errorf("holds %d rows, want the one that is read", rows)
		}
		get("m_again")
		time.Sleep(3 * time.Minute)
		c.DropIdle()
		if rows, size := c.Size(); rows != 0 || size != 0 || loads != 2 {
			t.Errorf("holds %d rows of %d bytes, decoded %d times", rows, size, loads)
		}
	})
}
