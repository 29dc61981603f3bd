package ws

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"os"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// tightPipe is a connection that takes some bytes now and then.
type tightPipe struct {
	net.Conn
	got   bytes.Buffer
	takes func() int // per write; below the length the deadline has passed
}

func (p *tightPipe) SetWriteDeadline(time.Time) error { return nil }

func (p *tightPipe) Write(b []byte) (int, error) {
	n := min(len(b), p.takes())
	p.got.Write(b[:n])
	if n < len(b) {
		return n, timeoutError{}
	}
	return n, nil
}

type timeoutError struct{}

func (timeoutError) Error() string   { return "timeout" }
func (timeoutError) Is(e error) bool { return errors.Is(e, os.ErrDeadlineExceeded) }

// A pong does not wait for a writer that waits for the peer. It follows what is
// being written, and of two pongs the later one counts.
func TestWire_Pong(t *testing.T) {
	t.Parallel()
	near, far := net.Pipe()
	entered := make(chan struct{})
	rests := 0
	w := &wire{Conn: enteredConn{near, entered}, now: time.Now, timeout: time.Hour, onRest: func() { rests++ }}
	sent := make(chan error, 1)
	text := AppendText(nil, []byte("text"))
	go func() { sent <- w.send(text) }()
	<-entered
	for _, payload := range "ab" {
		if n, err := w.Write([]byte{framePong, 1, byte(payload)}); n != 3 || err != nil { // it would wait for ever
			t.Errorf("write: %d, %v", n, err)
		}
	}
	if rests != 2 {
		t.Errorf("the writers were called %d times, want 2", rests)
	}
	go func() {
		if err := errors.Join(<-sent, w.send(nil), near.Close()); err != nil {
			t.Error(err)
		}
	}()
	got, err := io.ReadAll(far)
	must(t, err)
	if want := append(text, framePong, 1, 'b'); !bytes.Equal(got, want) {
		t.Errorf("the peer got %q, want %q", got, want)
	}
}

// enteredConn closes a channel when its first write begins.
type enteredConn struct {
	net.Conn
	entered chan struct{}
}

func (c enteredConn) Write(b []byte) (int, error) {
	select {
	case <-c.entered:
	default:
		close(c.entered)
	}
	return c.Conn.Write(b)
}

// Whatever a socket takes and whenever it stops, what it got is whole frames
// in order, and a goodbye follows a whole frame.
func TestWire_Property(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		stuck := false
		pipe := &tightPipe{takes: func() int {
			if stuck {
				return 0
			}
			return rapid.IntRange(0, 300).Draw(t, "takes")
		}}
		w := &wire{Conn: pipe, now: time.Now, timeout: time.Second}
		var sent []byte
		for i := range rapid.IntRange(1, 12).Draw(t, "writes") {
			var frames []byte
			for range rapid.IntRange(1, 3).Draw(t, "frames") {
				frames = AppendText(frames, bytes.Repeat([]byte{byte('a' + i)}, rapid.IntRange(0, 200).Draw(t, "size")))
			}
			var err error
			if rapid.Bool().Draw(t, "try") {
				_, err = w.try(nil, frames, rapid.Bool().Draw(t, "shared"))
			} else {
				err = w.send(frames)
			}
			if err == nil || errors.Is(err, ErrSlow) {
				sent = append(sent, frames...)
			}
			if err != nil {
				break
			}
		}
		stuck = false
		pipe.takes = func() int { return 1 << 20 }
		w.close(1000, "over", time.Second)
		got := pipe.got.Bytes()
		whole := 0
		for at := 0; at < len(got); {
			size, head := int(got[at+1]), 2
			if size == 126 {
				size, head = int(binary.BigEndian.Uint16(got[at+2:])), 4
			}
			if got[at] == frameClose {
				if at+head+size != len(got) {
					t.Fatalf("%d bytes behind the goodbye", len(got)-at-head-size)
				}
				break
			}
			if at += head + size; at > len(got) {
				t.Fatal("the last frame is torn")
			}
			whole = at
		}
		if !bytes.HasPrefix(sent, got[:whole]) {
			t.Fatal("the frames are others than those that were written")
		}
		if whole == len(got) {
			t.Fatal("no goodbye")
		}
	})
}
