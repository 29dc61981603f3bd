package relay_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/internal/quota"
	"github.com/agora-arena/arena/protocol/envelope"
	"github.com/agora-arena/arena/protocol/envelope/relay"
	"github.com/agora-arena/arena/protocol/mailbox"
	rows "github.com/agora-arena/arena/store/mailbox"
)

// Threat L1: what is not signed by its sender, or could be read in two ways,
// is refused before anything is stored. What is refused, and why, is the table
// of badEnvelopes in protocol/envelope.
func TestThreatL1_nothing_unsigned_is_stored(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	good := w.request("ann", "a", "bob")
	for name, c := range map[string]struct {
		body   []byte
		status int
		word   string
	}{
		"no signature":       {[]byte(`{"id":"msg_1"}`), http.StatusUnauthorized, "BAD_SIGNATURE"},
		"another's":          {bytes.ReplaceAll(good, []byte(identityOf("ann").DID()), []byte(identityOf("eve").DID())), http.StatusUnauthorized, "BAD_SIGNATURE"},
		"changed":            {bytes.Replace(good, []byte("en_zh"), []byte("en_de"), 1), http.StatusUnauthorized, "BAD_SIGNATURE"},
		"doubled member":     {bytes.Replace(good, []byte(`"id":"a"`), []byte(`"id":"b","id":"a"`), 1), http.StatusBadRequest, "INVALID_REQUEST"},
		"case of a member":   {bytes.Replace(good, []byte(`"type":`), []byte(`"Type":"OFFER","type":`), 1), http.StatusBadRequest, "INVALID_REQUEST"},
		"inexact number":     {bytes.Replace(good, []byte(`"id":"a"`), []byte(`"n":9007199254740993,"id":"a"`), 1), http.StatusBadRequest, "INVALID_REQUEST"},
		"not JSON":           {[]byte(`{"id":`), http.StatusBadRequest, "INVALID_REQUEST"},
		"a stranger's":       {w.request("stranger", "a", "bob"), http.StatusForbidden, "FORBIDDEN"},
		"inside {envelope}":  {[]byte(`{"envelope":{"id":"msg_1"}}`), http.StatusUnauthorized, "BAD_SIGNATURE"},
		"batch of envelopes": {append(append([]byte("["), good...), ']'), http.StatusBadRequest, "INVALID_REQUEST"},
	} {
		t.Log(name)
		w.refused(c.status, c.word, w.post(c.body))
	}
	if kept, err := w.store.Relay.LastEnvelope(t.Context()); err != nil || kept != 0 {
		t.Errorf("%d were stored, %v", kept, err)
	}
	w.mustPost(good)
}

// Threat L2: a copy counts once, an id says one thing, and ts is of today.
func TestThreatL2_replays(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.stopClock()
	body := w.request("ann", "a", "bob")
	first := w.mustPost(body)
	if again := w.mustPost(body); again.Seq != first.Seq || again.ID != first.ID {
		t.Errorf("%s, then %s", first.body, again.body)
	}
	if again := w.mustPost(bytes.Replace(body, []byte(`{"id"`), []byte(`{ "id"`), 1)); again.Seq != first.Seq {
		t.Errorf("spelled otherwise: %s", again.body)
	}
	same(t, w.get().ids(), "a")
	w.refused(http.StatusConflict, "CONFLICT", w.post(w.request("ann", "a", "eve")))
	w.mustPost(w.request("eve", "a", "bob", func(d *envelope.Draft) { d.Thread = "thread_eve" })) // the id is its own sender's

	for _, off := range []time.Duration{-6 * 365 * 24 * time.Hour, -envelope.Window, envelope.Window + time.Second, time.Hour} {
		w.refused(http.StatusUnprocessableEntity, "REFUSED", w.post(w.request("ann", "b", "bob", func(d *envelope.Draft) { d.At = w.now().Add(off) })))
	}
	w.refused(http.StatusUnprocessableEntity, "REFUSED", w.post(w.request("ann", "b", "bob", func(d *envelope.Draft) {
		d.At = time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC)
	})))
	for i, off := range []time.Duration{-envelope.Window + time.Second, envelope.Window - time.Second} {
		w.mustPost(w.request("ann", fmt.Sprint("near", i), "bob", func(d *envelope.Draft) { d.At = w.now().Add(off) }))
	}
	// Ids outlive the window, whatever is swept and restarted meanwhile.
	w.ahead.Add(int64(envelope.Window - 5*time.Second))
	if err := w.relay.Sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.serve(mailbox.NewNotifier(nil))
	if again := w.mustPost(body); again.Seq != first.Seq {
		t.Errorf("%s, then %s", first.body, again.body)
	}
	w.ahead.Add(int64(10 * time.Second))
	w.refused(http.StatusUnprocessableEntity, "REFUSED", w.post(body))
}

// Threat L3: the server decides a reader's position. No time that a sender writes
// into an envelope hides a later envelope.
func TestThreatL3_poisoned_times(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	bob := identityOf("bob").DID()
	since := w.now().Add(-time.Second).Format(arena.TimeFormat)
	next := func(want ...string) {
		t.Helper()
		a := w.get("recipient", bob, "since", since)
		same(t, a.ids(), want...)
		if len(a.Events) > 0 {
			since = a.Events[len(a.Events)-1].TS
		}
	}
	w.mustPost(w.request("ann", "a", "bob"))
	next("a")
	// From the future: what comes later has an earlier ts.
	future := w.now().Add(envelope.Window - 10*time.Second)
	w.mustPost(w.request("eve", "poison", "bob", func(d *envelope.Draft) { d.At = future }))
	next("poison")
	w.mustPost(w.request("ann", "b", "bob"))
	next("b")
	next()
	// From the past: it came later, and is not lost either.
	w.mustPost(w.request("ann", "late", "bob", func(d *envelope.Draft) { d.At = w.now().Add(-4 * time.Minute) }))
	next("late")
	// A second one with the time of the last is not hidden by it, and comes once.
	w.mustPost(w.request("ann", "c", "bob"))
	next("c")
	twin, err := time.Parse(time.RFC3339Nano, since)
	if err != nil {
		t.Fatal(err)
	}
	w.mustPost(w.request("eve", "twin", "bob", func(d *envelope.Draft) { d.At = twin }))
	next("twin")
	next()
	w.mustPost(w.request("eve", "ann_twin", "ann", func(d *envelope.Draft) { d.At = twin })) // another reader's
	next()
	w.mustPost(w.request("eve", "triplet", "bob", func(d *envelope.Draft) { d.At = twin }))
	next("triplet")
	w.mustPost(w.request("ann", "d", "bob"))
	next("d")
	// A reader whose clock is ahead loses nothing.
	since = w.now().Add(time.Minute).Format(arena.TimeFormat)
	w.mustPost(w.request("ann", "e", "bob"))
	if a := w.get("recipient", bob, "since", since); !strings.HasSuffix(strings.Join(a.ids(), " "), "d e") {
		t.Errorf("%v", a.ids())
	}

	for _, bad := range []string{
		"seq:99999999", "seq:-1", "seq:01", "seq:+1", "seq:1.5", "seq:", "seq:9223372036854775808", "17", "-1", "now", "2026-13-01T00:00:00Z", "2026-01-01",
		"~1", "now~1", "2026-11-21T12:00:00.000Z~", "2026-11-21T12:00:00.000Z~01", "2026-11-21T12:00:00.000Z~-1", "2026-11-21T12:00:00.000Z~99999999",
		"9999-12-31T23:59:59Z", w.now().Add(time.Hour).Format(arena.TimeFormat), "' OR 1=1 --", strings.Repeat("9", 300),
	} {
		w.refused(http.StatusBadRequest, "INVALID_REQUEST", w.get("since", bad))
	}
	for _, bad := range [][]string{
		{"timeout", "x"},
		{"timeout", "-1"},
		{"timeout", "NaN"},
		{"type", "HELLO"},
		{"type", "request"},
		{"recipient", "bob"},
		{"sender", "*"},
		{"thread", strings.Repeat("t", 300)},
	} {
		w.refused(http.StatusBadRequest, "INVALID_REQUEST", w.get(bad...))
	}
	if a, err := w.do(t.Context(), http.MethodGet, "/events?timeout=0&since=seq:0&since=seq:1", nil); err != nil || a.Status != http.StatusBadRequest {
		t.Errorf("%s, %v", a.body, err)
	}
}

// Threat L4: bodies, senders and what is kept have bounds.
func TestThreatL4_bounds(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(o *relay.Options) { o.Keep, o.KeepPerKey, o.KeepAll = time.Hour, 3, 5 })
	pad := func(n int) func(*envelope.Draft) {
		return func(d *envelope.Draft) {
			d.Payload = envelope.Request{RequestID: "req_fat", Intent: "a.b", Title: strings.Repeat("x", n)}
		}
	}
	w.mustPost(w.request("ann", "a", "bob", pad(30<<10)))
	w.refused(http.StatusRequestEntityTooLarge, "TOO_LARGE", w.post(bytes.Repeat([]byte(" "), 1<<20)))
	fat := bytes.Replace(w.request("ann", "fat", "bob"), []byte(`{"id"`), []byte(`{`+strings.Repeat(" ", envelope.MaxBody)+`"id"`), 1)
	w.refused(http.StatusRequestEntityTooLarge, "TOO_LARGE", w.post(fat))

	// One key has had its share of the minute.
	body := make([]byte, 63<<10)
	for i := range envelope.BytesPerMinute / len(body) {
		_, _, err := w.store.Relay.AddEnvelope(t.Context(), arena.Envelope{
			ID: fmt.Sprint("old", i), Sender: identityOf("eve").DID(), Type: "STATUS", At: w.now(), ReceivedAt: w.now(), ExpiresAt: w.now(),
			Digest: sha256.Sum256([]byte{byte(i)}), Body: body,
		}, arena.EnvelopeRules{Admit: func([]arena.Envelope, *arena.Envelope) error { return nil }})
		if err != nil {
			t.Fatal(err)
		}
	}
	a := w.post(w.request("eve", "more", "bob", pad(20<<10)))
	w.refused(http.StatusTooManyRequests, "RATE_LIMITED", a)
	w.mustPost(w.request("ann", "b", "bob")) // the others are not hindered

	// By number once replays are over, and by age.
	sweep := func(want int) {
		t.Helper()
		if err := w.relay.Sweep(t.Context()); err != nil {
			t.Fatal(err)
		}
		left, err := w.store.Relay.Envelopes(t.Context(), arena.EnvelopeQuery{Limit: 1000})
		if err != nil || len(left) != want {
			t.Errorf("%d are left, %v; want %d", len(left), err, want)
		}
	}
	total := envelope.BytesPerMinute/len(body) + 2
	sweep(total)
	w.ahead.Add(int64(16 * time.Minute))
	sweep(4) // three of eve's newest lie among the five newest of all, and ann's two
	w.ahead.Add(int64(time.Hour))
	sweep(0)
}

// direct calls the relay without a network.
func (w *world) direct(ctx context.Context, from, parameters string) answer {
	r := httptest.NewRequestWithContext(ctx, http.MethodGet, "/relay/events?"+parameters, nil)
	r.RemoteAddr = from + ":1234"
	rec := httptest.NewRecorder()
	w.relay.ServeHTTP(rec, r)
	a := answer{Status: rec.Code, body: rec.Body.Bytes()}
	if err := json.Unmarshal(a.body, &a); err != nil {
		w.t.Errorf("%s: %v", a.body, err)
	}
	return a
}

// Threat L4: as many polls wait as one address may have, the next one does not,
// and one envelope wakes them all.
func TestThreatL4_many_polls(t *testing.T) {
	t.Parallel()
	const n = 100
	w := newWorld(t, func(o *relay.Options) { o.Addresses, o.Polls = quota.NewSlots(n, "too many"), n+1 })
	var polls sync.WaitGroup
	got := make([]answer, n+1)
	park := func(i int, from string) {
		polls.Go(func() {
			for { // a poll that ends before all others are there comes again
				if got[i] = w.direct(t.Context(), from, "timeout=60&type=REQUEST"); !got[i].OK || len(got[i].Events) > 0 {
					return
				}
			}
		})
	}
	for i := range n {
		park(i, "192.0.2.1")
	}
	w.waitParked(n)
	w.refused(http.StatusTooManyRequests, "RATE_LIMITED", w.direct(t.Context(), "192.0.2.1", "timeout=60"))
	if a := w.direct(t.Context(), "192.0.2.1", "timeout=0"); !a.OK { // a check is no wait
		t.Errorf("%s", a.body)
	}
	park(n, "192.0.2.2")
	w.waitParked(n + 1)
	w.refused(http.StatusTooManyRequests, "RATE_LIMITED", w.direct(t.Context(), "192.0.2.3", "timeout=60"))
	w.mustPost(w.request("ann", "a", ""))
	polls.Wait()
	for i, a := range got {
		if len(a.Events) != 1 {
			t.Fatalf("poll %d: %d %s", i, a.Status, a.body)
		}
	}
	if w.relay.Parked() != 0 {
		t.Errorf("%d polls still count", w.relay.Parked())
	}
}

// untimed is a notifier without a timer: it never recovers from a lost
// notification. before and after, when set, run before and after each check.
type untimed struct {
	*mailbox.Notifier

	before, after func()
}

func (b untimed) Await(ctx context.Context, key string, check func(context.Context) (bool, error)) error {
	notified, stop := b.Listen(key)
	defer stop()
	for {
		if b.before != nil {
			b.before()
		}
		if found, err := check(ctx); found || err != nil {
			return err
		}
		if b.after != nil {
			b.after()
		}
		select {
		case <-notified:
		case <-ctx.Done():
			return nil
		}
	}
}

// gap is a relay whose readers wait on n, and a writer beside it.
func gap(t *testing.T, n untimed) (w *world, add func(sender, id, to string, at time.Time) error) {
	t.Helper()
	w = newWorld(t, func(o *relay.Options) { o.Notifier = n })
	log := envelope.NewLog(w.store.Relay, n, w.self, w.now)
	return w, func(sender, id, to string, at time.Time) error {
		e, err := identityOf(sender).Sign(envelope.Draft{
			Type: envelope.TypeRequest, ID: id, At: at, Recipient: to, Thread: "t" + id, Payload: envelope.Request{RequestID: id, Intent: "a.b"},
		})
		if err != nil {
			return err
		}
		_, _, err = log.Add(context.WithoutCancel(t.Context()), e, "", 0)
		return err
	}
}

// Threat L4: an envelope that is stored between the start of a poll and its
// check, or between the check and the wait, ends the poll.
func TestThreatL4_publish_in_the_gap(t *testing.T) {
	t.Parallel()
	to := identityOf("reader").DID()
	for _, place := range []string{"before the check", "after the check"} {
		t.Run(place, func(t *testing.T) {
			t.Parallel()
			var add func(sender, id, to string, at time.Time) error
			var w *world
			once := sync.OnceFunc(func() {
				if err := add("sender", "a", to, w.now()); err != nil {
					t.Error(err)
				}
			})
			notifier := untimed{Notifier: mailbox.NewNotifier(nil)}
			if place == "before the check" {
				notifier.before = once
			} else {
				notifier.after = once
			}
			w, add = gap(t, notifier)
			if a := w.direct(t.Context(), "192.0.2.1", "timeout=60&recipient="+to+"&since=seq:0"); len(a.Events) != 1 || a.Events[0].ID != "a" {
				t.Errorf("%s", a.body)
			}
		})
	}
}

// Threat L4: no reader of many loses an envelope that is stored while its poll
// begins, wherever that falls.
func TestThreatL4_publish_while_polling(t *testing.T) {
	t.Parallel()
	const readers, each = 50, 10
	w, add := gap(t, untimed{Notifier: mailbox.NewNotifier(nil)})
	var all sync.WaitGroup
	for n := range readers {
		all.Go(func() {
			to := identityOf(fmt.Sprint("reader", n)).DID()
			cursor := "seq:0"
			for i := range each {
				id := fmt.Sprintf("%d_%d", n, i)
				got := make(chan answer, 1)
				go func() {
					got <- w.direct(t.Context(), "192.0.2.1", "timeout=60&recipient="+to+"&since="+cursor)
				}()
				if err := add(fmt.Sprint("sender", n), id, to, w.now().Add(time.Duration(i)*time.Millisecond)); err != nil {
					t.Error(err)
					return
				}
				a := <-got
				if len(a.Events) != 1 || a.Events[0].ID != id {
					t.Errorf("reader %d, envelope %d: %s", n, i, a.body)
					return
				}
				cursor = a.Cursor
			}
		})
	}
	all.Wait()
}

// Envelopes of one time keep their order, each comes once, and lastTs names
// the exact place, for a reader that this node has not served before too.
func TestServer_equal_times(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	bob, at := identityOf("bob").DID(), w.now()
	same(t, w.get("recipient", bob, "since", "2020-01-01T00:00:00Z").ids())
	post := func(sender, id string) {
		w.mustPost(w.request(sender, id, "bob", func(d *envelope.Draft) { d.At = at }))
	}
	post("ann", "a")
	post("eve", "b")
	first := w.get("recipient", bob, "since", "2020-01-01T00:00:00Z")
	same(t, first.ids(), "a", "b")
	if ts := first.Events[1].TS; first.LastTS != ts+"~2" {
		t.Errorf("lastTs %s", first.LastTS)
	}
	post("ann", "c")
	same(t, w.get("recipient", bob, "since", first.LastTS).ids(), "c")
	same(t, w.get("recipient", bob, "since", first.Cursor).ids(), "c")
	// The node does not know what this reader has had: twice is better than never.
	w.serve(mailbox.NewNotifier(nil))
	same(t, w.get("recipient", bob, "since", first.Events[0].TS).ids(), "b", "c")
	same(t, w.get("recipient", bob, "since", first.Events[0].TS).ids())
}

// Threat L5: what is kept of one owner has a bound, others are not touched, and
// the sweep frees space.
func TestThreatL5_owner_storage(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(o *relay.Options) { o.OwnerBytes = 4000 })
	posted, refused := 0, ""
	for i := range 100 {
		a := w.post(w.request("ann", fmt.Sprint("r", i), ""))
		if a.Status == http.StatusTooManyRequests {
			refused = string(a.body)
			break
		}
		posted++
	}
	if posted == 0 || posted == 100 || !strings.Contains(refused, "at most 4000 bytes of one owner") {
		t.Fatalf("%d envelopes were kept, then %q", posted, refused)
	}
	w.mustPost(w.request("eve", "other", ""))
	w.ahead.Store(int64(20 * time.Minute)) // they are no longer young
	if err := w.relay.Sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.mustPost(w.request("ann", "later", ""))
}

// counted is a store that counts looks at the envelopes. While full is set each
// of them that has a type in its filter waits for it before it ends.
type counted struct {
	*rows.Relay

	looks, running, most atomic.Int64
	after                atomic.Int64 // where the last look resumed
	full                 chan struct{}
}

func (c *counted) Envelopes(ctx context.Context, q arena.EnvelopeQuery) ([]arena.Envelope, error) {
	c.looks.Add(1)
	c.after.Store(q.After)
	c.most.Store(max(c.most.Load(), c.running.Add(1)))
	defer c.running.Add(-1)
	found, err := c.Relay.Envelopes(ctx, q)
	if c.full != nil && q.Type != "" {
		<-c.full
	}
	return found, err
}

// pollers are polls in a bubble, whose answers come on got.
func pollers(t *testing.T, c *counted, notifier *mailbox.Notifier) (w *world, poll func(from, parameters string), got chan answer) {
	t.Helper()
	s := openStore(t)
	c.Relay = s.Relay
	w = &world{t: t, store: s, events: &accepted{}}
	w.node(notifier, func(o *relay.Options) { o.Store = c })
	t.Cleanup(w.relay.Close)
	got = make(chan answer, 100)
	return w, func(from, parameters string) {
		go func() { got <- w.direct(t.Context(), from, parameters) }()
	}, got
}

// Threat L6: after its first look a poll reads nothing on its own. One look serves
// all waiting polls, whatever their filters. It resumes after the last envelope, and
// each poll gets the envelopes that match its filter.
func TestThreatL6_shared_looks(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := &counted{}
		w, poll, got := pollers(t, c, mailbox.NewNotifier(mailbox.SingleNode{}))
		w.register("ann")
		post := func(id, to string) {
			t.Helper()
			e, err := envelope.Decode(w.request("ann", id, to))
			if err != nil {
				t.Fatal(err)
			}
			if _, _, err = w.log.Add(t.Context(), e, "ow_ann", 0); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
		}
		for i := range 50 {
			post(fmt.Sprint("old", i), "bob")
		}
		const equal = 20
		for range equal {
			poll("192.0.2.1", "timeout=60&type=CANCEL")
		}
		poll("192.0.2.2", "timeout=60&since=seq:50&recipient="+identityOf("eve").DID())
		poll("192.0.2.3", "timeout=60&since=seq:50&type=REQUEST&sender="+identityOf("ann").DID())
		poll("192.0.2.4", "timeout=60&since=seq:50&thread=thread_b")
		synctest.Wait()
		if n := c.looks.Load(); n != equal+3+1 {
			t.Errorf("%d first looks of %d polls and the tail", n, equal+3)
		}
		c.looks.Store(0)
		time.Sleep(20*time.Second + time.Millisecond) // a look in 2 s, if another node was killed between its commit and its notification
		synctest.Wait()
		if n, after := c.looks.Load(), c.after.Load(); n != 10 || after != 50 {
			t.Errorf("%d looks in 20 s, the last one from %d; want 10 from 50", n, after)
		}
		c.looks.Store(0)
		post("a", "eve")
		same(t, append((<-got).ids(), (<-got).ids()...), "a", "a")
		if n, after := c.looks.Load(), c.after.Load(); n != 1 || after != 50 {
			t.Errorf("%d looks at one envelope, from %d; want 1 from 50", n, after)
		}
		post("b", "bob")
		same(t, (<-got).ids(), "b")
		if after := c.after.Load(); after != 51 {
			t.Errorf("the second envelope was looked for from %d", after)
		}
		time.Sleep(time.Minute)
		for range equal {
			if a := <-got; !a.OK || len(a.Events) > 0 || a.Cursor != "seq:50" {
				t.Errorf("a poll whose time is over: %s", a.body)
			}
		}
		c.looks.Store(0)
		time.Sleep(time.Minute)
		if n := c.looks.Load(); n != 0 {
			t.Errorf("%d looks without a waiting poll", n)
		}
	})
}

// Threat L6: what came between a poll's own look and its wait is not missed,
// though the tail of others has read on.
func TestThreatL6_joins_a_tail(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := &counted{}
		w, poll, got := pollers(t, c, mailbox.NewNotifier(mailbox.SingleNode{}))
		w.register("ann")
		poll("192.0.2.1", "timeout=60&type=CANCEL")
		synctest.Wait()
		c.full = make(chan struct{})
		poll("192.0.2.2", "timeout=60&type=REQUEST") // has read, and does not wait yet
		synctest.Wait()
		e, err := envelope.Decode(w.request("ann", "a", "bob"))
		if err == nil {
			_, _, err = w.log.Add(t.Context(), e, "ow_ann", 0)
		}
		if err != nil {
			t.Fatal(err)
		}
		close(c.full)
		same(t, (<-got).ids(), "a")
		w.relay.Close()
		same(t, (<-got).ids())
	})
}

// Threat L6: however many polls come at once, they leave readers of the
// database to all others.
func TestThreatL6_readers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := &counted{full: make(chan struct{})}
		_, poll, got := pollers(t, c, mailbox.NewNotifier(mailbox.SingleNode{}))
		for i := range 50 {
			poll("192.0.2.1", fmt.Sprint("timeout=0&type=CANCEL&thread=t", i))
		}
		synctest.Wait()
		if n := c.running.Load(); n != 2 {
			t.Errorf("%d polls read at once", n)
		}
		close(c.full)
		for range 50 {
			if a := <-got; !a.OK {
				t.Errorf("%s", a.body)
			}
		}
		if n := c.most.Load(); n != 2 {
			t.Errorf("%d polls read at once", n)
		}
	})
}
