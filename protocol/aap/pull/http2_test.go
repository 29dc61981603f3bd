package pull_test

import (
	"bufio"
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/protocol/mailbox"
)

// routed is a writer as routers make them: it has the methods of any connection and
// panics where the writer below lacks them.
type routed struct{ http.ResponseWriter }

func (r routed) Unwrap() http.ResponseWriter { return r.ResponseWriter }

func (r routed) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	return r.ResponseWriter.(http.Hijacker).Hijack()
}

// overHTTP2 is a node that is reached over HTTP/2, whose connections cannot be
// taken from the server.
func overHTTP2(t *testing.T) *node {
	t.Helper()
	n, h := newHandler(t, newStore(t), mailbox.NewNotifier(nil))
	front := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ProtoMajor != 2 {
			t.Errorf("a request over %s", r.Proto)
		}
		h.ServeHTTP(routed{w}, r)
	}))
	front.EnableHTTP2 = true
	front.Config.ReadTimeout = time.Minute
	front.StartTLS()
	t.Cleanup(front.Close)
	n.url, n.client = front.URL, front.Client()
	return n
}

// A poll over HTTP/2 waits for a task too, and its place is free again when the
// client has gone.
func TestServer_Poll_HTTP2(t *testing.T) {
	t.Parallel()
	n := overHTTP2(t)
	got := make(chan task, 1)
	go func() {
		k, _, _ := n.poll("ag_1", "60")
		got <- k
	}()
	<-n.awake
	reply := n.put(t.Context(), "ag_1", 1, time.Minute)
	if k := <-got; k.TaskID != "tk_1" || k.Attempt != 1 {
		t.Fatalf("poll got %+v", k)
	}
	if status, body := n.answer("ag_1", "tk_1", `{"answer":"4"}`); status != http.StatusAccepted {
		t.Fatalf("%d %s", status, body)
	}
	if r := <-reply; r.Outcome != arena.OutcomeAnswered {
		t.Errorf("%+v", r)
	}
	if _, status, body := n.poll("ag_1", "0.01"); status != http.StatusNoContent {
		t.Errorf("a poll whose time is over: %d %s", status, body)
	}

	ctx, cancel := context.WithCancel(t.Context())
	gone := make(chan int, 2)
	for range 2 { // as many as may wait
		go func() {
			status := http.StatusBadRequest
			for status == http.StatusBadRequest { // the polls below are in its way
				status, _ = n.do(ctx, http.MethodGet, "/ag_2/tasks?wait=60", "ag_2", "")
			}
			gone <- status
		}()
	}
	until := func(want int) {
		t.Helper()
		for status := 0; status != want; {
			must(t, t.Context().Err())
			_, status, _ = n.poll("ag_2", "0")
		}
	}
	until(http.StatusBadRequest) // rate_limited
	cancel()
	if status := <-gone + <-gone; status != 0 {
		t.Fatalf("polls got %d", status)
	}
	until(http.StatusNoContent)

	ended := make(chan int, 1)
	go func() {
		_, status, _ := n.poll("ag_3", "60")
		ended <- status
	}()
	for <-n.awake != "ag_3" { // the others came before
	}
	n.hub.Close()
	if status := <-ended; status != http.StatusNoContent {
		t.Errorf("the poll of a node that shuts down: %d", status)
	}
	if _, status, _ := n.poll("ag_4", "60"); status != http.StatusNoContent {
		t.Errorf("a poll after the end: %d", status)
	}
}
