package format

import (
	"slices"

	"github.com/agora-arena/arena/arena"
)

// swissTable returns the table ordered by score, then Buchholz without the
// weakest opponent, Buchholz, direct meetings, Sonneborn–Berger and rating
// (docs/rules.md, section 8).
//
// In the tie-breaks, byes and forfeit wins count as games against the virtual
// opponent (FIDE rules until 2023): it had the agent's score before the round,
// lost, and drew all later games. Rounds for which the agent was absent add
// nothing to its own tie-breaks, so that absence never pays. For the tie-breaks
// of its opponents, all rounds without a game are draws.
func swissTable(s State) []arena.TableRow {
	entrants, pairings := seeded(s.Season.Entrants), withDraws(s.Pairings)
	rows, t := tally(entrants, pairings), newTurns(entrants, pairings)
	addTieBreak(rows, "buchholz_cut_1", func(r arena.TableRow) arena.Points { return t.buchholz(r.AgentID, 1) })
	addTieBreak(rows, "buchholz", func(r arena.TableRow) arena.Points { return t.buchholz(r.AgentID, 0) })
	rows = rank(rows)
	addTieBreak(rows, "direct", from(t.direct(rows)))
	addTieBreak(rows, "sonneborn_berger", t.sonnebornBerger)
	addTieBreak(rows, "rating", from(ratings(entrants)))
	return rank(rows)
}

// turn is the result of one round for one agent.
type turn struct {
	opponent string // "": no game
	score    arena.Points
	pending  bool // not decided yet
}

// turns are the rounds of each agent, in order.
type turns map[string][]turn

func newTurns(entrants []arena.Entrant, pairings []arena.Pairing) turns {
	t, rounds := make(turns, len(entrants)), lastRound(pairings)
	for _, e := range entrants {
		t[e.AgentID] = make([]turn, rounds)
	}
	// The games of one place are in order, so the newest one decides.
	for _, games := range byPlace(pairings) {
		for _, p := range games {
			for seat, id := range p.Agents {
				if of, ok := t[id]; ok {
					of[p.Round-1] = turnOf(p, seat)
				}
			}
		}
	}
	return t
}

func turnOf(p arena.Pairing, seat int) turn {
	if !scored(p) {
		return turn{pending: true}
	}
	t := turn{score: p.Scores[seat]}
	if p.Result == arena.PairingPlayed && len(p.Agents) == 2 {
		t.opponent = p.Agents[1-seat]
	}
	return t
}

// worth returns the score of an agent as it counts for its opponents.
func (t turns) worth(agent string) (sum arena.Points) {
	for _, u := range t[agent] {
		switch {
		case u.pending:
		case u.opponent == "":
			sum += drawn
		default:
			sum += u.score
		}
	}
	return sum
}

// opponents returns the worth of the opponent of each decided round, and the
// score of that round.
func (t turns) opponents(agent string) (worth, scores []arena.Points) {
	before, left := arena.Points(0), len(t[agent])
	for _, u := range t[agent] {
		if left--; u.pending {
			continue
		}
		switch {
		case u.opponent != "":
			worth = append(worth, t.worth(u.opponent))
		case u.score > 0:
			worth = append(worth, before+drawn*arena.Points(left))
		default:
			worth = append(worth, 0)
		}
		scores = append(scores, u.score)
		before += u.score
	}
	return worth, scores
}

// buchholz returns the summed worth of the opponents, without the cut weakest.
func (t turns) buchholz(agent string, cut int) (sum arena.Points) {
	worth, _ := t.opponents(agent)
	slices.Sort(worth)
	for _, w := range worth[min(cut, len(worth)):] {
		sum += w
	}
	return sum
}

// sonnebornBerger returns the summed worth of the opponents that the agent beat,
// plus half the worth of those that it drew with.
func (t turns) sonnebornBerger(r arena.TableRow) (sum arena.Points) {
	worth, scores := t.opponents(r.AgentID)
	for i, w := range worth {
		sum += w * scores[i] / arena.OnePoint
	}
	return sum
}

// direct returns the points that agents of the same rank scored against each
// other. It is 0 unless all of them have met.
func (t turns) direct(rows []arena.TableRow) map[string]arena.Points {
	ranks, equals := make(map[string]int, len(rows)), make(map[int]int)
	for _, r := range rows {
		ranks[r.AgentID] = r.Rank
		equals[r.Rank]++
	}
	sum, apart := make(map[string]arena.Points, len(rows)), make(map[int]bool)
	for _, r := range rows {
		met := make(map[string]bool)
		for _, u := range t[r.AgentID] {
			if u.opponent != "" && ranks[u.opponent] == r.Rank {
				met[u.opponent] = true
				sum[r.AgentID] += u.score
			}
		}
		apart[r.Rank] = apart[r.Rank] || len(met) < equals[r.Rank]-1
	}
	for _, r := range rows {
		if apart[r.Rank] {
			sum[r.AgentID] = 0
		}
	}
	return sum
}
