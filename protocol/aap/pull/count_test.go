package pull_test

import (
	"net/http"
	"testing"
	"time"
)

// Requests that an agent needs to play do not count: polls that bring a task or
// wait for long, and first answers. Others do.
func TestServer_Uncount(t *testing.T) {
	t.Parallel()
	for name, n := range map[string]*node{"on a connection": alone(t), "in the handler": overHTTP2(t)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want := func(uncounted int64, after string) {
				t.Helper()
				if got := n.uncounted.Load(); got != uncounted {
					t.Fatalf("%d requests do not count after %s, want %d", got, after, uncounted)
				}
			}
			n.poll("ag_1", "0")
			n.poll("ag_1", "0.01")
			want(0, "empty polls")
			for round, given := range []string{`{"answer":"4"}`, `no answer`} {
				reply := n.put(t.Context(), "ag_1", round+1, time.Minute)
				k, status, _ := n.poll("ag_1", "60")
				if status != http.StatusOK {
					t.Fatal(status)
				}
				n.answer("ag_1", k.TaskID, given)
				<-reply
				want([]int64{2, 3}[round], given)
				n.answer("ag_1", k.TaskID, given)
				want([]int64{2, 3}[round], "a repetition of "+given)
			}
			ended := make(chan int, 2)
			for _, id := range []string{"ag_2", "ag_3"} {
				go func() {
					_, status, _ := n.poll(id, "60")
					ended <- status
				}()
				for <-n.awake != id { // the others came before
				}
				n.ahead.Add(int64(10 * time.Second)) // for the first of the two, and after the second
			}
			n.ahead.Add(-int64(time.Second)) // the second has waited for nine seconds
			n.hub.Close()
			if status := <-ended + <-ended; status != 2*http.StatusNoContent {
				t.Errorf("polls ended with %d", status)
			}
			want(4, "a poll that waited for long")
		})
	}
}
