package mail

import (
	"context"
	"net"
)

// DialTo makes all connections to an address, whatever the host is called.
func (s *SMTP) DialTo(address string) {
	s.dial = func(ctx context.Context, network, _ string) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, network, address)
	}
}
