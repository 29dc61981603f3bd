package players

import (
	"fmt"
	"math/rand/v2"
)

// kuhn is the observation of Kuhn poker.
type kuhn struct {
	Card    string   `json:"card"`    // J, Q or K
	Actions []string `json:"actions"` // of this hand
}

// move plays at random; or bets and calls where the card is better than the other one
// on average; or plays the equilibrium of the game with one bluff in three (H. W. Kuhn,
// "A simplified two-person poker", 1950), which no opponent can gain from.
func (k kuhn) move(l level, dice *rand.Rand) string {
	n := len(k.Actions)
	answers := n > 0 && k.Actions[n-1] == "bet"
	yes, no := "bet", "check"
	if answers {
		yes, no = "call", "fold"
	}
	var bold float64
	switch {
	case l == random:
		bold = 0.5
	case l == greedy:
		bold = map[string]float64{"Q": 0, "K": 1}[k.Card]
		if answers && k.Card == "Q" {
			bold = 1 // it loses a chip by folding, and none on average by calling
		}
	case answers && n == 1: // the second player, after a bet
		bold = map[string]float64{"Q": 1.0 / 3, "K": 1}[k.Card]
	case answers: // the first player, after a check
		bold = map[string]float64{"Q": 2.0 / 3, "K": 1}[k.Card]
	default:
		bold = map[string]float64{"J": 1.0 / 3, "K": 1}[k.Card]
	}
	if dice.Float64() < bold {
		return yes
	}
	return no
}

// liar is the observation of liar's dice.
type liar struct {
	You    int   `json:"you"`
	Dice   []int `json:"dice"`
	Counts []int `json:"counts"` // of dice, by player
	Total  int   `json:"total"`
	Wilds  bool  `json:"wilds"`
	Bids   []struct {
		Player int    `json:"player"`
		Text   string `json:"text"`
	} `json:"bids"`
}

// bid is the claim that at least count dice show face. The zero bid is the challenge.
type bid struct{ count, face int }

func (b bid) String() string {
	if b == (bid{}) {
		return "liar"
	}
	return fmt.Sprintf("%d %d", b.count, b.face)
}

// diceTable is what does not change in a round of liar's dice.
type diceTable struct {
	counts []int
	total  int
	wilds  bool
}

const diceFaces = 6

// matching returns how many dice count for a face.
func (t diceTable) matching(dice []int, face int) (n int) {
	for _, d := range dice {
		if d == face || t.wilds && d == 1 {
			n++
		}
	}
	return n
}

// chance returns the probability that a bid is right for a player who sees its own
// dice only.
func (t diceTable) chance(b bid, own []int) float64 {
	n, need := t.total-len(own), b.count-t.matching(own, b.face)
	if need <= 0 {
		return 1
	}
	p := 1.0 / diceFaces
	if t.wilds {
		p = 2.0 / diceFaces
	}
	sum, term := 0.0, 1.0 // term: the probability of k dice, from 0 on
	for range n {
		term *= 1 - p
	}
	for k := 0; k <= n; k++ {
		if k >= need {
			sum += term
		}
		term *= float64(n-k) / float64(k+1) * p / (1 - p)
	}
	return sum
}

// raises returns the bids above the last one with at most more dice than it.
func (t diceTable) raises(last bid, more int) (bids []bid) {
	lowest := 1
	if t.wilds {
		lowest = 2
	}
	for count := max(1, last.count); count <= min(t.total, last.count+more); count++ {
		for face := lowest; face <= diceFaces; face++ {
			if count > last.count || face > last.face {
				bids = append(bids, bid{count, face})
			}
		}
	}
	return bids
}

// likely returns the action that is right with the greatest probability: the
// challenge, or the lowest of the most probable bids. It opens with the highest bid that
// is more likely right than wrong.
func (t diceTable) likely(last bid, own []int) bid {
	if last == (bid{}) {
		open := t.raises(last, 1)[0]
		for _, b := range t.raises(last, t.total) {
			if t.chance(b, own) >= 0.5 {
				open = b
			}
		}
		return open
	}
	best, most := bid{}, 1-t.chance(last, own)
	for _, b := range t.raises(last, 1) {
		if p := t.chance(b, own); p > most {
			best, most = b, p
		}
	}
	return best
}

// last returns the last bid, the zero bid if there is none.
func (o liar) last() (last bid) {
	if n := len(o.Bids); n > 0 {
		_, _ = fmt.Sscanf(o.Bids[n-1].Text, "%d %d", &last.count, &last.face)
	}
	return last
}

// move plays at random; or by the probability of bids; or by what the round brings in
// deals of the other dice that fit the bids.
func (o liar) move(l level, dice *rand.Rand) string {
	t, last := diceTable{o.Counts, o.Total, o.Wilds}, o.last()
	switch l {
	case random:
		moves := t.raises(last, t.total)
		if last != (bid{}) {
			moves = append(moves, bid{})
		}
		return moves[dice.IntN(len(moves))].String()
	case greedy:
		return t.likely(last, o.Dice).String()
	default:
		return o.simulate(t, last, dice).String()
	}
}

// deals is how many deals a search looks at for each of its moves.
const deals = 150

// simulate returns the move with which the player loses a die least often, if the
// others play by the probability of bids.
func (o liar) simulate(t diceTable, last bid, dice *rand.Rand) bid {
	var moves []bid
	if last != (bid{}) {
		moves = append(moves, bid{})
	}
	for _, b := range t.raises(last, 2) {
		if t.chance(b, o.Dice) > 0.1 {
			moves = append(moves, b)
		}
	}
	if len(moves) == 0 {
		return t.likely(last, o.Dice)
	}
	scores := make([]float64, len(moves))
	for range deals {
		hands := o.deal(t, dice)
		for i, m := range moves {
			if o.keeps(t, hands, last, m) {
				scores[i]++
			}
		}
	}
	return moves[drawn(scores, dice)]
}

// tries bounds the deals that are drawn until one fits the bids.
const tries = 8

// deal draws the dice of the other players. Most players who bid a face have a die that
// counts for it, so a deal in which one has none is drawn again.
func (o liar) deal(t diceTable, dice *rand.Rand) [][]int {
	hands := make([][]int, len(t.counts))
	for player, count := range t.counts {
		if player == o.You {
			hands[player] = o.Dice
			continue
		}
		face := 0 // of its last bid
		for _, b := range o.Bids {
			if b.Player == player {
				var count int
				_, _ = fmt.Sscanf(b.Text, "%d %d", &count, &face)
			}
		}
		for range tries {
			hand := make([]int, count)
			for i := range hand {
				hand[i] = 1 + dice.IntN(diceFaces)
			}
			if hands[player] = hand; face == 0 || t.matching(hand, face) > 0 {
				break
			}
		}
	}
	return hands
}

// keeps reports whether the player loses no die in a round that goes on with a move
// and in which then all play by the probability of bids.
func (o liar) keeps(t diceTable, hands [][]int, last, move bid) bool {
	player, bidder := o.You, (o.You+len(hands)-1)%len(hands)
	for len(hands[bidder]) == 0 {
		bidder = (bidder + len(hands) - 1) % len(hands)
	}
	for {
		if move == (bid{}) {
			count := 0
			for _, h := range hands {
				count += t.matching(h, last.face)
			}
			loser := player
			if count < last.count {
				loser = bidder
			}
			return loser != o.You
		}
		last, bidder = move, player
		for player = (player + 1) % len(hands); len(hands[player]) == 0; {
			player = (player + 1) % len(hands)
		}
		move = t.likely(last, hands[player])
	}
}
