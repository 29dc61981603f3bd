package main

import (
	"crypto/sha256"
	"time"

	"github.com/agora-arena/arena/scoring/sprt"
)

// unitsOfMatch is the number of tasks or games of a match of a duel. They are one
// observation of its test.
const unitsOfMatch = 2

// The limits at which a duel ends without a verdict of its test.
const (
	fewestAsked = 10 // tasks or moves of an agent, or matches, before their failures count
	mostRepeats = 20 // matches in a row that had been played before
)

// tally is the state of a duel: the matches in the order in which they were begun.
// A match that ends early waits for those before it. Otherwise the quick ones would
// count first, and they may favor one of the agents.
type tally struct {
	test    sprt.Test
	waiting map[int]played // by number; ended before another that was begun earlier
	seen    map[[sha256.Size]byte]bool

	matches   int // that have ended, with all before them
	identical int // played like an earlier one, move by move: not counted
	failed    int // without two results: not counted
	voids     map[string]int
	repeats   int // identical ones since the last that was not

	pairs   sprt.Pairs // half points of the second agent
	verdict sprt.Verdict

	asked  [2]int // tasks or moves, by agent
	missed [2]map[string]int
	tokens [2]int64
	took   time.Duration // of all matches together
}

func newTally(test sprt.Test) *tally {
	return &tally{
		test: test, waiting: map[int]played{}, seen: map[[sha256.Size]byte]bool{}, voids: map[string]int{}, missed: [2]map[string]int{{}, {}},
	}
}

// add adds the match with a number, from 0. After the end of the duel it changes
// nothing.
func (t *tally) add(n int, p played) {
	t.waiting[n] = p
	for !t.over() {
		next, ended := t.waiting[t.matches]
		if !ended {
			return
		}
		delete(t.waiting, t.matches)
		t.count(next)
	}
}

// count adds the match after those that were counted.
func (t *tally) count(p played) {
	t.matches++
	t.took += p.took
	for i := range t.asked {
		t.asked[i] += p.asked[i]
		t.tokens[i] += p.tokens[i]
		for outcome, n := range p.missed[i] {
			t.missed[i][outcome] += n
		}
	}
	result, whole := 0, p.void == "" && len(p.units) == unitsOfMatch
	for _, u := range p.units {
		whole = whole && u.counts
		result += u.result()
	}
	if !whole {
		t.failed++
		if p.void != "" {
			t.voids[p.void]++
		}
		return
	}
	hash := p.transcript()
	if t.seen[hash] {
		t.identical++
		t.repeats++
		return
	}
	t.seen[hash], t.repeats = true, 0
	t.pairs[result]++
	t.verdict = t.test.Verdict(t.pairs)
}

// misses returns how many tasks or moves an agent did not answer.
func (t *tally) misses(agent int) (n int) {
	for _, count := range t.missed[agent] {
		n += count
	}
	return n
}

// broken returns the agent, 0 or 1, that did not answer most of least or more tasks or
// moves, or −1.
func (t *tally) broken(least int) int {
	worst := -1
	for i, asked := range t.asked {
		if asked >= least && 2*t.misses(i) > asked && (worst < 0 || t.misses(i) > t.misses(worst)) {
			worst = i
		}
	}
	return worst
}

// void reports whether most of least or more matches gave no result.
func (t *tally) void(least int) bool { return t.matches >= least && 2*t.failed > t.matches }

// over reports whether no further match can change anything.
func (t *tally) over() bool {
	return t.verdict != sprt.Undecided || t.repeats >= mostRepeats || t.broken(fewestAsked) >= 0 || t.void(fewestAsked)
}
