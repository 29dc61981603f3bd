package rules

import (
	"fmt"
	"slices"
	"strings"
)

// public returns the table. Before the first bid of a round the log holds the end of
// the last one, with its dice.
func (s *dice) public() Cards {
	c := Cards{Kind: KindCards, Hand: s.Round + 1, Log: slices.Clone(s.last())}
	for player, count := range s.Counts {
		h := Hand{Player: player, Cards: slices.Repeat([]string{"?"}, count), Dice: true, Out: count == 0}
		c.Hands = append(c.Hands, h)
		c.Evaluation = append(c.Evaluation, float64(count)/float64(s.total()))
	}
	if len(s.Bids) > 0 {
		c.Log = nil
	}
	for i, bid := range s.Bids {
		c.Log = append(c.Log, Said{s.bidder(i), bid.words()})
	}
	switch n := len(s.Bids); {
	case s.over() && s.Turns >= diceTurns:
		c.Hand, c.Caption = 0, fmt.Sprintf("The game ends after %d turns", diceTurns)
	case s.over():
		c.Hand, c.Caption = 0, "One player has dice left"
	case n == 0:
		c.Caption = fmt.Sprintf("Round %d, %s: new dice", c.Hand, diceWord(s.total()))
	default:
		c.Caption = fmt.Sprintf("Round %d, %s: at least %s?", c.Hand, diceWord(s.total()), s.Bids[n-1].words())
	}
	if s.over() {
		c.Evaluation = share(s.points())
	}
	return c
}

func (s *dice) toAct() (a ToAct, err error) {
	a.Player, a.Legal = s.acts(), s.legal()
	a.Default = a.Legal[0] // the challenge, or the lowest bid
	a.Grammar = "a bid of two numbers, such as 3 5 for at least three fives, or the word liar"
	mine := s.rolled()[a.Player]
	name := func(player int) string {
		switch player {
		case a.Player:
			return "you"
		case -1:
			return "all dice"
		}
		return fmt.Sprintf("player %d", player)
	}
	bids, players := []Said{}, []string{}
	var bidTexts, lastTexts []string
	for i, bid := range s.Bids {
		bids = append(bids, Said{s.bidder(i), bid.String()})
		bidTexts = append(bidTexts, name(s.bidder(i))+": "+bid.String())
	}
	for _, said := range s.last() {
		lastTexts = append(lastTexts, name(said.Player)+": "+said.Text)
	}
	for player, count := range s.Counts {
		players = append(players, fmt.Sprintf("%s: %d", name(player), count))
	}
	var b strings.Builder
	b.WriteString("Liar's dice. Each player sees only its own dice. In turn, each player bids that at least so many of all dice show a face, higher than the bid before " +
		"(more dice, or as many with a higher face), or challenges the bid before with the word liar. Then all dice are shown and counted. If the bid was too high, the bidder " +
		"loses a die, else the challenger. The last player with dice wins.")
	if s.Wild {
		b.WriteString(" Ones count as every face and cannot be bid.")
	}
	fmt.Fprintf(&b, "\n\nYou are player %d. Your dice: %s. Dice of each player: %s; %d in all.\n", a.Player, spaced(mine), strings.Join(players, ", "), s.total())
	if len(lastTexts) > 0 {
		fmt.Fprintf(&b, "Last round: %s.\n", strings.Join(lastTexts, "; "))
	}
	if len(bidTexts) > 0 {
		fmt.Fprintf(&b, "Bids in this round: %s.\n", strings.Join(bidTexts, "; "))
	} else {
		b.WriteString("You make the first bid.\n")
	}
	b.WriteString("Answer with " + a.Grammar + ".")
	a.Text = b.String()
	a.Observation, err = encode(struct {
		You       int      `json:"you"`
		Dice      []int    `json:"dice"`   // yours, in ascending order
		Counts    []int    `json:"counts"` // of dice by player
		Total     int      `json:"total"`
		Wilds     bool     `json:"wilds"`
		Bids      []Said   `json:"bids"` // in this round
		Round     int      `json:"round"`
		LastRound []Said   `json:"last_round,omitempty"`
		Past      [][]Said `json:"history"` // all earlier rounds, oldest first
	}{a.Player, mine, s.Counts, s.total(), s.Wild, bids, s.Round + 1, s.last(), append([][]Said{}, s.Past...)})
	return a, err
}
