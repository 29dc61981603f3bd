//go:build unix

package ws

import (
	"bytes"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"path/filepath"
	"testing"
	"time"

	"github.com/agora-arena/arena/internal/certs/certstest"
)

// newTLSWire returns a wire over TLS, and the peer that it writes to.
func newTLSWire(t *testing.T, timeout time.Duration) (*wire, *tls.Conn) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "all.pem")
	own := certstest.Write(t, file, "localhost", time.Now().Add(-time.Hour), time.Now().Add(time.Hour))
	pair, err := tls.LoadX509KeyPair(file, file)
	must(t, err)
	var lc net.ListenConfig
	plain, err := lc.Listen(t.Context(), "tcp", "127.0.0.1:0")
	must(t, err)
	l := tls.NewListener(NewListener(plain), &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12})
	defer l.Close() //nolint:errcheck // one connection is enough
	accepted := make(chan net.Conn, 1)
	go func() {
		conn, err := l.Accept()
		if err == nil {
			err = conn.(*tls.Conn).HandshakeContext(t.Context()) //nolint:forcetypeassert // of tls.NewListener
		}
		if err != nil {
			t.Error(err)
		}
		accepted <- conn
	}()
	d := tls.Dialer{Config: &tls.Config{ServerName: "localhost", RootCAs: certstest.Pool(own), MinVersion: tls.VersionTLS12}}
	peer, err := d.DialContext(t.Context(), "tcp", plain.Addr().String())
	must(t, err)
	conn := <-accepted
	t.Cleanup(func() {
		_ = conn.Close()
		_ = peer.Close()
	})
	below := carrierOf(conn)
	if below == nil {
		t.Skip("this system has no nonblocking writes")
	}
	must(t, below.hold())
	return &wire{Conn: conn, below: below, now: time.Now, timeout: timeout}, peer.(*tls.Conn) //nolint:forcetypeassert // of tls.Dialer
}

// A peer that reads nothing for a while blocks no other, and gets every byte in
// order once it reads.
func TestWire_TLS_slowPeer(t *testing.T) {
	t.Parallel()
	w, peer := newTLSWire(t, 10*time.Second)
	var want []byte
	all := true
	for i := 0; all; i++ {
		frame := AppendText(nil, bytes.Repeat([]byte{byte('a' + i%26)}, 32<<10))
		var err error
		all, err = w.try(nil, frame, true)
		must(t, err)
		want = append(want, frame...)
	}
	if w.waiting() == 0 {
		t.Error("nothing waits for the peer")
	}
	got := make(chan []byte, 1)
	go func() {
		b, err := io.ReadAll(peer)
		if err != nil {
			t.Error(err)
		}
		got <- b
	}()
	large := AppendText(nil, bytes.Repeat([]byte{'z'}, 3<<20))
	must(t, w.send(large))
	w.close(1000, "over", 10*time.Second)
	must(t, w.Conn.Close())
	want = appendCloseFrame(append(want, large...), 1000, "over")
	if b := <-got; !bytes.Equal(b, want) {
		t.Errorf("the peer got %d bytes, want %d", len(b), len(want))
	}
}

// What waits for a peer that never reads is bounded, in bytes and in time.
func TestWire_TLS_deadPeer(t *testing.T) {
	t.Parallel()
	w, _ := newTLSWire(t, 10*time.Millisecond)
	frame := AppendText(nil, make([]byte, 32<<10))
	for all := true; all; {
		var err error
		all, err = w.try(nil, frame, false)
		must(t, err)
	}
	var err error
	for err == nil { // the kernel may still free space by moving bytes to the peer's side
		err = w.send(frame)
	}
	if !errors.Is(err, ErrSlow) {
		t.Errorf("send: %v", err)
	}
	w.close(1008, "slow", 10*time.Millisecond)

	w, _ = newTLSWire(t, time.Minute)
	for {
		_, err := w.try(nil, frame, false)
		if held := w.waiting(); held > maxHeld {
			t.Fatalf("%d bytes are held", held)
		}
		if err != nil {
			if !errors.Is(err, ErrSlow) {
				t.Error(err)
			}
			break
		}
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
