package bus

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// CheckURL refuses what Open would. The error holds nothing of a password.
func CheckURL(raw string) error {
	_, err := parseURL(raw)
	return err
}

// target is where Redis is. one is nil when the URL names several hosts: that
// is a cluster.
type target struct {
	one  *redis.Options
	many *redis.ClusterOptions
	db   int
}

// The default time limits of Redis. Nothing waits for it, but a dead connection
// must be detected.
const (
	dialTimeout = time.Second
	callTimeout = time.Second
)

// parseURL reads redis://user:password@host:port/db, rediss:// for TLS, and a
// cluster's hosts as host1:port1,host2:port2 or as parameters addr. Other
// parameters are go-redis's, such as pool_size.
func parseURL(raw string) (target, error) {
	scheme, rest, ok := strings.Cut(raw, "://")
	if !ok || scheme != "redis" && scheme != "rediss" {
		return target{}, errors.New("needs the form redis://host or rediss://host")
	}
	u, err := url.Parse(scheme + "://" + spread(rest))
	if err != nil { // the cause would repeat the URL, which may hold a password
		return target{}, errors.New("not a URL; a password with special characters must be percent-encoded")
	}
	if u.Hostname() == "" {
		return target{}, errors.New("names no host")
	}
	t := target{}
	if db := strings.Trim(u.Path, "/"); db != "" {
		if t.db, err = strconv.Atoi(db); err != nil || t.db < 0 {
			return target{}, errors.New("names a database that is not a number, as in redis://host/0")
		}
	}
	if u.Fragment != "" {
		return target{}, errors.New("has a fragment (#): percent-encode the sign where it belongs to the password")
	}
	if t.many, err = redis.ParseClusterURL(u.String()); err != nil {
		return target{}, fmt.Errorf("cannot be used: %w", err)
	}
	m := t.many
	m.Protocol, m.ContextTimeoutEnabled, m.DisableIdentity = 2, true, true
	m.DialerRetries = 1
	m.DialTimeout = cmp.Or(m.DialTimeout, dialTimeout)
	m.ReadTimeout, m.WriteTimeout = cmp.Or(m.ReadTimeout, callTimeout), cmp.Or(m.WriteTimeout, callTimeout)
	if len(m.Addrs) > 1 {
		if t.db != 0 {
			return target{}, errors.New("names a database, but a cluster has only database 0")
		}
		return t, nil
	}
	if t.one, err = redis.ParseURL(u.String()); err != nil {
		return target{}, fmt.Errorf("cannot be used: %w", err)
	}
	o := t.one
	o.Protocol, o.ContextTimeoutEnabled, o.DisableIdentity = 2, true, true
	o.DialerRetries = 1
	// A message that was sent twice would be shown twice in the lobby.
	o.MaxRetries = -1
	o.DialTimeout = cmp.Or(o.DialTimeout, dialTimeout)
	o.ReadTimeout, o.WriteTimeout = cmp.Or(o.ReadTimeout, callTimeout), cmp.Or(o.WriteTimeout, callTimeout)
	return t, nil
}

// spread turns hosts that are separated by commas into the form that go-redis
// reads: one host, and a parameter addr for each of the others.
func spread(rest string) string {
	end := strings.IndexAny(rest, "/?#")
	if end < 0 {
		end = len(rest)
	}
	authority, tail := rest[:end], rest[end:]
	user := authority[:strings.LastIndex(authority, "@")+1]
	hosts := strings.Split(authority[len(user):], ",")
	if len(hosts) == 1 {
		return rest
	}
	path, query, _ := strings.Cut(tail, "?")
	params := []string{}
	if query != "" {
		params = append(params, query)
	}
	for _, h := range hosts[1:] {
		if h != "" && !strings.Contains(h[strings.LastIndex(h, "]")+1:], ":") {
			h += ":6379"
		}
		params = append(params, "addr="+url.QueryEscape(h))
	}
	return user + hosts[0] + path + "?" + strings.Join(params, "&")
}
