package protocol

import (
	"context"
	"net"
	"time"
)

// Crawl returns a client like c whose requests go out a few bytes at a time,
// with a pause behind each part: what an endpoint behind a bad network gets.
// Its connections carry one request. It needs its own Close.
func (c *Client) Crawl(part int, pause time.Duration) *Client {
	slow := *c
	dial := c.pool.dial
	slow.pool = newPool(&pool{
		dial: func(ctx context.Context, network, addr string) (net.Conn, error) {
			conn, err := dial(ctx, network, addr)
			if err != nil {
				return nil, err
			}
			return crawling{Conn: conn, part: part, pause: pause}, nil
		},
		tls: c.pool.tls, tlsLimit: c.pool.tlsLimit, perHost: c.pool.perHost, once: true,
	})
	return &slow
}

// crawling is a connection that takes its time to write. A close ends it.
type crawling struct {
	net.Conn
	part  int
	pause time.Duration
}

// Write writes p in parts.
func (c crawling) Write(p []byte) (n int, err error) {
	for n < len(p) {
		m, err := c.Conn.Write(p[n:min(n+c.part, len(p))])
		if n += m; err != nil {
			return n, err
		}
		time.Sleep(c.pause)
	}
	return n, nil
}
