package main

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	toxiproxy "github.com/Shopify/toxiproxy/v2"
	"github.com/rs/zerolog"
)

// link is one node's way to one service: a proxy whose faults reach this node
// alone.
type link struct {
	mu    sync.Mutex
	proxy *toxiproxy.Proxy
}

// newLinks opens a link to upstream for each node.
func newLinks(service, upstream string, nodes int) ([]*link, error) {
	server := toxiproxy.NewServer(toxiproxy.NewMetricsContainer(nil), zerolog.Nop())
	links := make([]*link, nodes)
	for i := range links {
		links[i] = &link{proxy: toxiproxy.NewProxy(server, fmt.Sprintf("%s-%d", service, i+1), "127.0.0.1:0", upstream)}
		if err := links[i].proxy.Start(); err != nil {
			return nil, fmt.Errorf("proxy to %s: %w", service, err)
		}
	}
	return links, nil
}

func (l *link) addr() string { return l.proxy.Listen }

// slow delays every packet, in both directions.
func (l *link) slow(by time.Duration) error {
	return l.toxic("latency", fmt.Sprintf(`"latency":%d,"jitter":%d`, by.Milliseconds(), by.Milliseconds()/2))
}

// hang lets nothing through and reports no error: a partition.
func (l *link) hang() error { return l.toxic("timeout", `"timeout":0`) }

func (l *link) toxic(kind, attributes string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, direction := range []string{"upstream", "downstream"} {
		text := fmt.Sprintf(`{"type":%q,"stream":%q,"attributes":{%s}}`, kind, direction, attributes)
		if _, err := l.proxy.Toxics.AddToxicJson(strings.NewReader(text)); err != nil {
			return fmt.Errorf("%s on %s: %w", kind, l.proxy.Name, err)
		}
	}
	return nil
}

// refuse breaks all connections and refuses new ones.
func (l *link) refuse() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.proxy.Stop()
}

// heal makes the link whole. Connections that hung are broken by it.
func (l *link) heal(ctx context.Context) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.proxy.Toxics.ResetToxics(ctx)
	if l.proxy.Enabled {
		return nil
	}
	if err := l.proxy.Start(); err != nil {
		return fmt.Errorf("heal %s: %w", l.proxy.Name, err)
	}
	return nil
}

func closeLinks(links []*link) {
	for _, l := range links {
		l.refuse()
	}
}
