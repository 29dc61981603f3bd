package bus

import (
	"bufio"
	"bytes"
	"maps"
	"strconv"
	"strings"
	"sync"
	"time"
)

// viewers adds up the numbers of the nodes. Each node sends its changes, and from
// time to time all its numbers; a killed node is dropped after three such intervals.
type viewers struct {
	mu     sync.Mutex
	mine   map[string]int // as last announced
	due    time.Time      // of the next full count
	others map[string]*counted
	totals map[string]int // over others, by match
}

// counted holds the counts of one other node.
type counted struct {
	alive   time.Time
	matches map[string]int
}

func newViewers() viewers {
	return viewers{mine: map[string]int{}, others: map[string]*counted{}, totals: map[string]int{}}
}

// The first line of a message on topicViewers.
const (
	viewersAll  = "all"  // all matches that the node has viewers of follow
	viewersSome = "some" // those whose number changed follow
	viewersAsk  = "ask"  // the node requests all counts of all nodes
)

// Announce informs the other nodes how many spectators each match has on this
// node. It is called about once per second; the bus keeps the map.
func (b *Bus) Announce(counts map[string]int) {
	v, now := &b.viewers, b.now()
	v.mu.Lock()
	for node, c := range v.others {
		if now.Sub(c.alive) > 3*b.timing.count {
			v.replace(node, nil)
		}
	}
	head, reported := viewersSome, map[string]int{}
	if full := !now.Before(v.due); full {
		head, reported = viewersAll, counts
		v.due = now.Add(b.timing.count)
	} else {
		for id, n := range counts {
			if v.mine[id] != n {
				reported[id] = n
			}
		}
		for id := range v.mine {
			if _, still := counts[id]; !still {
				reported[id] = 0
			}
		}
	}
	v.mine = maps.Clone(counts)
	v.mu.Unlock()
	if head == viewersAll || len(reported) > 0 {
		b.Publish(topicViewers, viewersText(head, reported))
	}
}

// Viewers returns the number of spectators that a match has on other nodes, as
// far as they are reachable.
func (b *Bus) Viewers(matchID string) int {
	b.viewers.mu.Lock()
	defer b.viewers.mu.Unlock()
	return b.viewers.totals[matchID]
}

// publishNoViewers publishes that this node has no spectators any more.
func (b *Bus) publishNoViewers() { b.Publish(topicViewers, viewersText(viewersAll, nil)) }

func viewersText(head string, counts map[string]int) []byte {
	text := append([]byte(head), '\n')
	for id, n := range counts {
		text = append(append(text, id...), ' ')
		text = append(strconv.AppendInt(text, int64(n), 10), '\n')
	}
	return text
}

// viewersLinked forgets the others while they are unreachable, and asks them
// when they can.
func (b *Bus) viewersLinked(up bool) {
	b.viewers.mu.Lock()
	b.viewers.due = time.Time{}
	if !up {
		clear(b.viewers.others)
		clear(b.viewers.totals)
	}
	b.viewers.mu.Unlock()
	if up {
		b.Publish(topicViewers, viewersText(viewersAsk, nil))
	}
}

func (b *Bus) viewersMessage(node string, payload []byte) {
	lines := bufio.NewScanner(bytes.NewReader(payload))
	lines.Scan()
	head := lines.Text()
	counts := map[string]int{}
	for lines.Scan() {
		id, count, _ := strings.Cut(lines.Text(), " ")
		if n, err := strconv.Atoi(count); err == nil && n >= 0 {
			counts[id] = n
		}
	}
	v := &b.viewers
	v.mu.Lock()
	defer v.mu.Unlock()
	switch head {
	case viewersAsk:
		v.due = time.Time{}
	case viewersAll:
		v.replace(node, counts)
	case viewersSome:
		c := v.others[node]
		if c == nil {
			c = &counted{matches: map[string]int{}}
			v.others[node] = c
		}
		for id, n := range counts {
			v.set(c, id, n)
		}
	}
	if c := v.others[node]; c != nil {
		c.alive = b.now()
	}
}

// replace puts counts in the place of all counts of a node; nil forgets it.
func (v *viewers) replace(node string, counts map[string]int) {
	old := v.others[node]
	if old != nil {
		for id := range maps.Clone(old.matches) {
			v.set(old, id, 0)
		}
	}
	if len(counts) == 0 {
		delete(v.others, node)
		return
	}
	c := &counted{matches: map[string]int{}}
	for id, n := range counts {
		v.set(c, id, n)
	}
	v.others[node] = c
}

// set is one count of one node.
func (v *viewers) set(c *counted, id string, n int) {
	if v.totals[id] += n - c.matches[id]; v.totals[id] == 0 {
		delete(v.totals, id)
	}
	if c.matches[id] = n; n == 0 {
		delete(c.matches, id)
	}
}
