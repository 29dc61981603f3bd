package protocol

import (
	"bytes"
	"net"
	"testing"
	"testing/synctest"
	"time"
)

func TestCrawling_Write(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		near, far := net.Pipe()
		done := make(chan error, 1)
		begin := time.Now()
		go func() {
			_, err := crawling{Conn: near, part: 16, pause: 5 * time.Millisecond}.Write(bytes.Repeat([]byte("x"), 100))
			done <- err
		}()
		part := make([]byte, 1000)
		for want := 100; want > 0; want -= 16 {
			if n, err := far.Read(part); err != nil || n != min(want, 16) {
				t.Fatalf("a part of %d bytes, %v", n, err)
			}
		}
		if err := <-done; err != nil || time.Since(begin) != 35*time.Millisecond {
			t.Errorf("%v after %v", err, time.Since(begin))
		}
		_ = far.Close()
		if n, err := (crawling{Conn: near, part: 16}).Write(part); n != 0 || err == nil {
			t.Errorf("%d bytes to nobody, %v", n, err)
		}
		_ = near.Close()
	})
}
