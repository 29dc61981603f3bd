//go:build unix

package pull_test

import (
	"fmt"
	"net"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"
)

// What agents that wait for tasks cost: bytes of heap and stacks for each, the
// client's end of the connection included, and processor time.
func BenchmarkPolls_idle(b *testing.B) {
	const polls, idle = 2000, 5 * time.Second
	n := alone(b)
	address := strings.TrimPrefix(n.url, "http://")
	memory := func() uint64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.GC() // what the first one found in pools
		runtime.ReadMemStats(&m)
		return m.HeapAlloc + m.StackInuse
	}
	processor := func() time.Duration {
		var u syscall.Rusage
		must(b, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
		return time.Duration(u.Utime.Nano() + u.Stime.Nano())
	}
	for b.Loop() {
		before := memory()
		var conns []net.Conn
		for i := range polls {
			c, err := new(net.Dialer).DialContext(b.Context(), "tcp", address)
			must(b, err)
			conns = append(conns, c)
			_, err = fmt.Fprintf(c, "GET /ag_%d/tasks?wait=60 HTTP/1.1\r\nHost: arena\r\nAuthorization: Bearer ag_%d\r\n\r\n", i, i)
			must(b, err)
		}
		for range polls {
			<-n.awake
		}
		time.Sleep(time.Second) // the last handlers return
		b.ReportMetric(float64(memory()-before)/polls, "B/poll")
		began, used := time.Now(), processor()
		time.Sleep(idle)
		b.ReportMetric(100*float64(processor()-used)/float64(time.Since(began)), "%CPU")
		for _, c := range conns {
			must(b, c.Close())
		}
	}
}
