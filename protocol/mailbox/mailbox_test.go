package mailbox_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/protocol/mailbox"
)

// wire joins the notifiers of two nodes. It is down until it is linked.
type wire struct {
	mu      sync.Mutex
	message []func([]byte)
	link    []func(bool)
	up      bool
}

type end struct {
	*wire
	no int
}

func (e end) Subscribe(_ string, message func([]byte), link func(bool)) {
	e.message = append(e.message, message)
	e.link = append(e.link, link)
}

func (e end) Publish(_ string, payload []byte) {
	e.mu.Lock()
	up := e.up
	e.mu.Unlock()
	for i, f := range e.message {
		if up && i != e.no {
			f(payload)
		}
	}
}

func (w *wire) set(up bool) {
	w.mu.Lock()
	w.up = up
	w.mu.Unlock()
	for _, f := range w.link {
		f(up)
	}
}

// rows is what both nodes see.
type rows struct {
	mailbox.Store
	mu   sync.Mutex
	mail []arena.Mail
	gap  func() // runs once, between a look that found nothing and its end
	fail error
}

func (r *rows) PutMail(_ context.Context, m arena.Mail, _ time.Time) (arena.Mail, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	m.N = int64(len(r.mail)) + 1
	r.mail = append(r.mail, m)
	return m, r.fail
}

func (r *rows) Mail(_ context.Context, box string, after int64, _ int, _ time.Time) (found []arena.Mail, err error) {
	r.mu.Lock()
	for _, m := range r.mail {
		if m.Box == box && m.N > after {
			found = append(found, m)
		}
	}
	gap := r.gap
	r.gap = nil
	r.mu.Unlock()
	if gap != nil {
		gap()
	}
	return found, r.fail
}

func nodes(t *testing.T, r *rows, w *wire) (a, b *mailbox.Inbox) {
	t.Helper()
	boxes := make([]*mailbox.Inbox, 2)
	for i := range boxes {
		boxes[i] = mailbox.NewInbox(r, mailbox.NewNotifier(end{w, i}), time.Now)
	}
	return boxes[0], boxes[1]
}

// What is put at one node wakes who waits at another: at once while the bus
// holds, and after a moment while it does not.
func TestBox_Next_wakes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		up   bool
		most time.Duration
	}{{"bus", true, 0}, {"no bus", false, 250 * time.Millisecond}} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := &wire{}
				here, there := nodes(t, &rows{}, w)
				w.set(c.up)
				began := time.Now()
				got := make(chan []arena.Mail)
				go func() {
					mail, err := there.Next(t.Context(), "ag_1", 0, 10)
					if err != nil {
						t.Error(err)
					}
					got <- mail
				}()
				synctest.Wait()
				if err := here.Put(t.Context(), "ag_1", "1", []byte("task"), time.Minute); err != nil {
					t.Fatal(err)
				}
				if mail := <-got; len(mail) != 1 || string(mail[0].Body) != "task" || time.Since(began) > c.most {
					t.Errorf("%d messages after %v", len(mail), time.Since(began))
				}
			})
		})
	}
}

// A node that has its database to itself looks there when it is notified, and seldom besides.
func TestNotifier_Await_singleNode(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		n := mailbox.NewNotifier(mailbox.SingleNode{})
		var looks atomic.Int32
		go func() {
			if err := n.Await(t.Context(), "ag_1", func(context.Context) (bool, error) { return looks.Add(1) > 3, nil }); err != nil {
				t.Error(err)
			}
		}()
		for want, wake := range []func(){
			func() {}, // it looks before it waits
			func() { n.Notify("ag_1") },
			func() { time.Sleep(time.Millisecond) }, // 2 s have passed
		} {
			synctest.Wait()
			wake()
			synctest.Wait()
			time.Sleep(2*time.Second - time.Millisecond)
			if got := looks.Load(); got != int32(want+1) {
				t.Fatalf("%d looks, want %d", got, want+1)
			}
		}
		n.Notify("ag_1")
	})
}

// A message that comes between the look and the wait is not missed, even if no
// waiter polls.
func TestBox_Next_gap(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r, w := &rows{}, &wire{}
		here, there := nodes(t, r, w)
		w.set(true)
		for i := range 10_000 {
			r.gap = func() {
				if err := there.Put(t.Context(), "ag_1", fmt.Sprint(i), []byte("x"), time.Minute); err != nil {
					t.Error(err)
				}
			}
			began := time.Now()
			mail, err := here.Next(t.Context(), "ag_1", int64(i), 10)
			if err != nil || len(mail) != 1 || time.Since(began) > 0 {
				t.Fatalf("message %d: %d messages after %v, %v", i, len(mail), time.Since(began), err)
			}
		}
	})
}

// When the bus returns all waiters look: something may have been missed.
func TestBox_Next_link(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r, w := &rows{}, &wire{}
		here, _ := nodes(t, r, w)
		w.set(true)
		got := make(chan int)
		go func() {
			mail, _ := here.Next(t.Context(), "ag_1", 0, 10)
			got <- len(mail)
		}()
		synctest.Wait()
		_, _ = r.PutMail(t.Context(), arena.Mail{Box: "ag_1"}, time.Time{}) // its notification is lost
		began := time.Now()
		w.set(true)
		if n := <-got; n != 1 || time.Since(began) > 0 {
			t.Errorf("%d messages after %v", n, time.Since(began))
		}
	})
}

func TestBox_Next_ends(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := &rows{}
		here, _ := nodes(t, r, &wire{})
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if mail, err := here.Next(ctx, "ag_1", 0, 10); len(mail) != 0 || err != nil {
			t.Errorf("%d messages, %v; want none and no error", len(mail), err)
		}
		r.fail = errors.New("disk on fire")
		if _, err := here.Next(t.Context(), "ag_1", 0, 10); !errors.Is(err, r.fail) {
			t.Errorf("error %v", err)
		}
		if err := here.Put(t.Context(), "ag_1", "1", nil, time.Minute); !errors.Is(err, r.fail) {
			t.Errorf("error %v", err)
		}
	})
}
