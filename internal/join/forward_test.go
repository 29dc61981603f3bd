package join

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/agora-arena/agora-go/arenaagent"
)

// The endpoint gets the bytes that the token covers, and its reply goes back as
// it came.
func TestForward(t *testing.T) {
	t.Parallel()
	task := &arenaagent.Task{Body: []byte(`{"match_id":"m_1",  "round":1}`), Token: "the.task.token"}
	status, reply := http.StatusOK, `{"answer": "Canberra",  "extra": 1}`
	url := serveHTTP(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if string(body) != string(task.Body) || r.Header.Get("Authorization") != "Bearer the.task.token" || r.Header.Get("Content-Type") != "application/json" {
			t.Errorf("got %s with %v", body, r.Header)
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, reply)
	})
	f, err := NewForward(url + "/agora")
	if err != nil {
		t.Fatal(err)
	}
	if got, err := answered(t, f, task, plenty); err != nil || string(got.Raw) != reply {
		t.Errorf("%s, %v", got.Raw, err)
	}
	for code, want := range map[int]error{408: arenaagent.ErrTimeout, 429: arenaagent.ErrRateLimited, 503: arenaagent.ErrUnavailable, 500: nil, 401: nil, 301: nil} {
		status = code
		_, err := answered(t, f, task, plenty)
		if err == nil || want != nil && !errors.Is(err, want) || !strings.Contains(err.Error(), strconv.Itoa(code)) {
			t.Errorf("%d: %v", code, err)
		}
		for _, other := range []error{arenaagent.ErrTimeout, arenaagent.ErrRateLimited, arenaagent.ErrUnavailable} {
			if want == nil && errors.Is(err, other) {
				t.Errorf("%d: %v", code, err)
			}
		}
	}
}

func TestForward_fails(t *testing.T) {
	t.Parallel()
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	f, err := NewForward(gone.URL)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := answered(t, f, &arenaagent.Task{}, plenty); !errors.Is(err, arenaagent.ErrUnavailable) || !strings.Contains(err.Error(), "nothing listens") {
		t.Error(err)
	}
	release := make(chan struct{})
	f, err = NewForward(serveHTTP(t, func(http.ResponseWriter, *http.Request) { <-release }))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := answered(t, f, &arenaagent.Task{}, 50*time.Millisecond); err == nil {
		t.Error("an endpoint that hangs answered")
	}
	close(release)
	for _, bad := range []string{"", "127.0.0.1:8700", "ftp://x/"} {
		if _, err := NewForward(bad); err == nil {
			t.Errorf("%q is accepted", bad)
		}
	}
}
