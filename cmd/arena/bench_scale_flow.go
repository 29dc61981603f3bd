package main

import (
	"slices"
	"strings"
)

// commit takes the steps through the databases, and what visitors read
// through their replicas. It gives the steps that have events, as they are
// committed.
func (m *scaleModel) commit(steps []scaleStep, visits []float64) []scaleStep {
	visit := 0
	read := func(until float64) {
		for ; visit < len(visits) && visits[visit] <= until; visit++ {
			qs := m.replica
			if len(qs) == 0 {
				qs = m.primary
			}
			qs[visit%len(qs)].serve(visits[visit], m.costs.Read, 1)
		}
	}
	shown := steps[:0]
	for _, s := range inOrder(steps) {
		read(s.at)
		service := m.costs.Write
		if s.kind == stepRenew {
			service = m.costs.Renewal
		}
		s.at = m.primary[s.match%len(m.primary)].serve(s.at, service, 1)
		if n, _ := s.kind.events(); n > 0 {
			shown = append(shown, s)
		}
	}
	read(m.plan.Seconds)
	return inOrder(shown)
}

// carry takes the messages of the steps through Redis: one to the match's
// topic, and one each to its league's and the lobby's. What comes out is a
// step per topic that somebody watches.
func (m *scaleModel) carry(steps []scaleStep) []scaleStep {
	lobby := len(m.watched) - 1
	var out []scaleStep
	send := func(s scaleStep, topic int) {
		copies := len(m.watched[topic])
		m.messagesIn++
		m.copiesOut += int64(copies)
		s.at = m.redis[m.shards[topic]].serve(s.at, m.costs.RedisIn+float64(copies)*m.costs.RedisOut, 1)
		if s.match = topic; copies > 0 {
			out = append(out, s)
		}
	}
	for _, s := range steps {
		match, wide := s.kind.events()
		m.events += int64(match)
		send(s, s.match)
		if wide > 0 {
			m.messagesIn++ // to the league, which nobody watches here
			m.redis[m.shards[s.match]].serve(s.at, m.costs.RedisIn, 1)
			send(s, lobby)
		}
	}
	return inOrder(out)
}

// fanOut takes the messages through the stream nodes to the sockets, beside
// the spectators who come and go.
func (m *scaleModel) fanOut(steps []scaleStep, visits []float64) {
	visit := 0
	welcome := func(until float64) {
		for ; visit < len(visits) && visits[visit] <= until; visit++ {
			m.stream[visit%len(m.stream)].serve(visits[visit], m.costs.Connect, 0)
		}
	}
	lobby := len(m.watched) - 1
	for _, s := range steps {
		welcome(s.at)
		events, wide := s.kind.events()
		if s.match == lobby {
			events = wide
		}
		for i := range m.watched[s.match] {
			w := &m.watched[s.match][i]
			q := m.stream[w.node]
			each := float64(events) * m.costs.Delivery
			if s.at-w.written >= passTime { // else it goes out with what was written just now
				each += m.costs.SocketWrite
				w.written = s.at
			}
			m.deliveries += int64(w.viewers) * int64(events)
			extra := m.costs.BusIn
			for left := w.viewers; left > 0; left -= largestPart {
				part := min(left, largestPart)
				done := q.serve(s.at, extra+float64(part)*each, part)
				m.seen.add(done-s.began, part)
				extra = 0
			}
		}
	}
	welcome(m.plan.Seconds)
}

func (m *scaleModel) result() scaleResult {
	p := &m.plan
	r := scaleResult{
		Matches: p.matches(), Starts: float64(p.matches()) / (float64(p.Rounds) * p.RoundTime),
		Events: float64(m.events) / p.Seconds, Deliveries: float64(m.deliveries) / p.Seconds,
		BusIn: float64(m.messagesIn) / p.Seconds, BusOut: float64(m.copiesOut) / p.Seconds,
		SeenP50: 1e3 * m.seen.quantile(0.5), SeenP99: 1e3 * m.seen.quantile(0.99),
	}
	for _, t := range []struct {
		name   string
		queues []*scaleQueue
	}{
		{"stream nodes", m.stream},
		{"play nodes", m.play},
		{"redis shards", m.redis},
		{"database, writes", m.primary},
		{"database, reads", m.replica},
		{"health workers", m.health},
	} {
		if len(t.queues) > 0 {
			r.Tiers = append(r.Tiers, tierOf(t.name, t.queues, p.Seconds))
		}
	}
	for _, q := range m.primary {
		r.Writes += float64(q.jobs) / p.Seconds
	}
	load := make([]int, p.StreamNodes)
	for _, watches := range m.watched {
		all := 0
		for _, w := range watches {
			load[w.node] += w.viewers
			all += w.viewers
		}
		r.Largest = max(r.Largest, all)
	}
	r.Fullest = slices.Max(load)
	r.Memory = float64(r.Fullest) * m.costs.Socket / (1 << 20)
	return r
}

// slotCount is the number of hash slots of a Redis Cluster.
const slotCount = 16384

// slotOf gives the hash slot of a key or channel: CRC16 (XMODEM) of what
// stands in its first braces (Redis Cluster specification, "Hash tags").
func slotOf(name string) int {
	if _, rest, ok := strings.Cut(name, "{"); ok {
		if tag, _, ok := strings.Cut(rest, "}"); ok && tag != "" {
			name = tag
		}
	}
	var crc uint16
	for i := range len(name) {
		crc ^= uint16(name[i]) << 8
		for range 8 {
			if crc&0x8000 != 0 {
				crc = crc<<1 ^ 0x1021
			} else {
				crc <<= 1
			}
		}
	}
	return int(crc) % slotCount
}

// shardOf gives the shard that serves a name when the slots are cut into equal
// ranges, as redis-cli --cluster create does.
func shardOf(name string, shards int) int { return slotOf(name) * shards / slotCount }

// slotFigures tell how evenly topics spread over a cluster.
type slotFigures struct {
	Topics   int     `json:"topics"`
	Shards   int     `json:"shards"`
	Slots    int     `json:"slots_in_use"`
	PerSlot  float64 `json:"max_by_mean_of_slots_in_use"`
	PerShard float64 `json:"max_by_mean_of_shards"`
	Without  float64 `json:"max_by_mean_of_shards_without_lanes"` // were each topic its own slot
}

// spreadTopics counts where the channels of topics go.
func spreadTopics(topics []string, shards int, channel func(string) string) slotFigures {
	slots := map[int]int{}
	per, free := make([]int, shards), make([]int, shards)
	for _, t := range topics {
		name := channel(t)
		slots[slotOf(name)]++
		per[shardOf(name, shards)]++
		free[shardOf(t, shards)]++
	}
	most := 0
	for _, n := range slots {
		most = max(most, n)
	}
	n := float64(len(topics))
	return slotFigures{
		Topics: len(topics), Shards: shards, Slots: len(slots),
		PerSlot:  float64(most) * float64(len(slots)) / n,
		PerShard: float64(slices.Max(per)) * float64(shards) / n,
		Without:  float64(slices.Max(free)) * float64(shards) / n,
	}
}
