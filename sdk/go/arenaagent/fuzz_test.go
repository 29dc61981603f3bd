package arenaagent

import (
	"testing"
	"time"
)

// A task that is taken has a question and a time in which to answer it.
func FuzzDecodeTask(f *testing.F) {
	f.Add([]byte(`{"version":"1.0","match_id":"m_1","round":1,"task":{"description":"2+2?"},"time_limit_seconds":20,"deadline":"2026-11-21T12:00:00.000Z","previous":{"outcome":"answered","correct":"4","points":1,"measured_ms":3.5}}`))
	f.Add([]byte(`{"match_id":"m_1","task":{"description":"d","options":["a"]},"time_limit_seconds":1e300,"attempt":-1}`))
	f.Add([]byte(`{"match_id":null,"task":[]}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		task, err := decodeTask(body)
		if err != nil {
			return
		}
		if task.MatchID == "" || task.Description == "" || task.TimeLimit < 0 || task.TimeLimit > maxTimeLimit || task.Attempt < 1 {
			t.Fatalf("%q: %+v", body, task)
		}
		if work, wait := task.times(time.Time{}); work > wait || wait > task.TimeLimit {
			t.Fatalf("%q: work %v, wait %v of %v", body, work, wait, task.TimeLimit)
		}
	})
}
