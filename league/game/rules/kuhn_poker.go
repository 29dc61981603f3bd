package rules

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/agora-arena/arena/arena"
)

const (
	kuhnDefaultHands = 10
	kuhnMaxHands     = 50
	kuhnActions      = 3 // of the longest hand: check, bet, and fold or call
	kuhnMostLost     = 2 // chips of a player in a hand: the ante and a bet
)

// KuhnPoker returns the rules of Kuhn poker (H. W. Kuhn, "A simplified two-person
// poker", 1950) over several hands: a deck of three cards, one card each, one chip
// ante, one bet of one chip.
func KuhnPoker() Rules { return kuhnPoker{} }

type kuhnPoker struct{}

// kuhn is the state.
type kuhn struct {
	Seed    uint64   `json:"seed"`
	Hands   int      `json:"hands"`
	Hand    int      `json:"hand"`    // 0-based; Hands: the game is over
	Actions []string `json:"actions"` // of this hand
	Net     int      `json:"net"`     // chips that player 0 has won in earlier hands
	Past    [][]Said `json:"past"`    // the earlier hands: actions, cards that were shown, chips won
}

func (kuhnPoker) Info() Info {
	return Info{
		Name: "kuhn_poker", Title: "Kuhn poker", Version: "1", MinPlayers: 2, MaxPlayers: 2, Deals: true, Hidden: true,
		MaxTurns: kuhnMaxHands * kuhnActions,
		Options: []Option{{
			Name: "hands", Help: "Hands in a game; the players take turns in acting first.", Default: kuhnDefaultHands, Min: 1, Max: kuhnMaxHands,
		}},
	}
}

func (g kuhnPoker) Setup(_ context.Context, s Start) (State, error) {
	return encode(kuhn{Seed: s.Seed, Hands: s.Option(g.Info(), "hands")})
}

func (g kuhnPoker) Position(_ context.Context, st State) (p Position, err error) {
	s, err := kuhnState(st)
	if err != nil {
		return Position{}, err
	}
	if p.Public, err = encode(s.public()); err != nil {
		return Position{}, err
	}
	if s.over() {
		p.Points = s.points()
		return p, nil
	}
	next, err := s.toAct()
	p.ToAct = []ToAct{next}
	return p, err
}

func (kuhnPoker) Parse(_ context.Context, st State, player int, text string) (string, error) {
	s, err := kuhnState(st)
	if err != nil {
		return "", err
	}
	return s.parse(player, text)
}

func (kuhnPoker) Move(_ context.Context, st State, moves []Move) (State, error) {
	s, err := kuhnState(st)
	if err != nil {
		return nil, err
	}
	if len(moves) != 1 {
		return nil, fmt.Errorf("kuhn poker: one move, not %d", len(moves))
	}
	action, err := s.parse(moves[0].Player, moves[0].Move)
	if err != nil {
		return nil, err
	}
	s.Actions = append(s.Actions, action)
	if winner, chips, showdown := s.outcome(); chips > 0 {
		s.close(winner, chips, showdown)
	}
	return encode(s)
}

func kuhnState(st State) (*kuhn, error) {
	var s kuhn
	if err := decode(st, &s); err != nil {
		return nil, fmt.Errorf("kuhn poker: %w", err)
	}
	return &s, nil
}

func (s *kuhn) over() bool { return s.Hand >= s.Hands }

// acts returns the player of the next action.
func (s *kuhn) acts() int { return (s.Hand + len(s.Actions)) % 2 }

// cards returns the cards of both players: 0 is the jack, 2 the king.
func (s *kuhn) cards() []int { return random("kuhn_poker", s.Seed, s.Hand).Perm(3)[:2] }

func kuhnCard(rank int) string { return [...]string{"J", "Q", "K"}[rank] }

// legal returns the actions that are allowed now.
func (s *kuhn) legal() []string {
	if n := len(s.Actions); n > 0 && s.Actions[n-1] == "bet" {
		return []string{"fold", "call"}
	}
	return []string{"check", "bet"}
}

func (s *kuhn) parse(player int, text string) (string, error) {
	action := word(text)
	switch {
	case s.over():
		return "", Illegalf("the game is over")
	case player != s.acts():
		return "", Illegalf("it is the other player's turn")
	case slices.Contains(s.legal(), action):
		return action, nil
	case action == "fold" || action == "call":
		return "", Illegalf("there is no bet to %s", action)
	case action == "check" || action == "bet":
		return "", Illegalf("after a bet you fold or call")
	}
	return "", Illegalf("a move is %s", strings.Join(s.legal(), " or "))
}

// outcome returns the winner of the hand and the chips won from the other player, 0
// until the hand is over.
func (s *kuhn) outcome() (winner, chips int, showdown bool) {
	n := len(s.Actions)
	best := 0
	if c := s.cards(); c[1] > c[0] {
		best = 1
	}
	switch last := s.Actions[n-1]; {
	case last == "fold":
		return s.acts(), 1, false
	case last == "call":
		return best, kuhnMostLost, true
	case last == "check" && n == 2:
		return best, 1, true
	}
	return 0, 0, false
}

// close books the hand and begins the next one. Cards are shown at a showdown only.
func (s *kuhn) close(winner, chips int, showdown bool) {
	var hand []Said
	for player, action := range s.actors() {
		hand = append(hand, Said{player, action})
	}
	if showdown {
		for player, card := range s.cards() {
			hand = append(hand, Said{player, "card " + kuhnCard(card)})
		}
	}
	s.Past = append(s.Past, append(hand, Said{winner, "+" + counted(chips, "chip")}))
	if winner == 1 {
		chips = -chips
	}
	s.Net, s.Actions = s.Net+chips, nil
	s.Hand++
}

// actors yields the actions of this hand with their players.
func (s *kuhn) actors() iter.Seq2[int, string] {
	return func(yield func(int, string) bool) {
		for i, action := range s.Actions {
			if !yield((s.Hand+i)%2, action) {
				return
			}
		}
	}
}

// points returns the chips won as a share of the most that can be won: −2 chips a
// hand are 0, +2 chips a hand are 1.
func (s *kuhn) points() []arena.Points {
	most := kuhnMostLost * s.Hands
	first := arena.Points(500 + 500*s.Net/most)
	return []arena.Points{first, arena.OnePoint - first}
}

// public returns the table. Before the first action of a hand the log holds the
// last one.
func (s *kuhn) public() Cards {
	c := Cards{Kind: KindCards, Total: s.Hands, Hand: min(s.Hand+1, s.Hands)}
	c.Evaluation = share(s.points())
	for player := range 2 {
		h := Hand{Player: player, Cards: []string{"?"}, Chips: s.net(player), Bet: 1}
		if s.over() {
			h.Cards, h.Bet = s.shown(player), 0
		}
		c.Hands = append(c.Hands, h)
	}
	if len(s.Actions) == 0 && s.Hand > 0 {
		c.Log = slices.Clone(s.Past[s.Hand-1])
	}
	c.Pot = 2
	for player, action := range s.actors() {
		c.Log = append(c.Log, Said{player, action})
		if action == "bet" {
			c.Pot++
			c.Hands[player].Bet++
		}
	}
	switch {
	case s.over():
		c.Pot, c.Caption = 0, "All hands are played"
	case len(s.Actions) == 0:
		c.Caption = fmt.Sprintf("Hand %d of %d: new cards", c.Hand, s.Hands)
	default:
		c.Caption = fmt.Sprintf("Hand %d of %d: %s", c.Hand, s.Hands, strings.Join(s.Actions, ", "))
	}
	return c
}

// shown returns the card of a player as the last hand left it: open after a showdown.
func (s *kuhn) shown(player int) []string {
	for _, said := range s.Past[len(s.Past)-1] {
		if card, is := strings.CutPrefix(said.Text, "card "); is && said.Player == player {
			return []string{card}
		}
	}
	return []string{"?"}
}

// net returns the chips that a player has won in earlier hands.
func (s *kuhn) net(player int) int {
	if player == 1 {
		return -s.Net
	}
	return s.Net
}

func (s *kuhn) toAct() (a ToAct, err error) {
	a.Player, a.Legal = s.acts(), s.legal()
	a.Default = a.Legal[0] // check or fold, as at a table
	card := kuhnCard(s.cards()[a.Player])
	past := make([][]string, len(s.Past)) // the earlier hands
	for i, hand := range s.Past {
		for _, said := range hand {
			past[i] = append(past[i], s.who(said.Player, a.Player)+": "+said.Text)
		}
	}
	var last []string
	if len(past) > 0 {
		last = past[len(past)-1]
	}
	actions := append([]string{}, s.Actions...)
	var b strings.Builder
	b.WriteString("Kuhn poker. The deck has three cards, J < Q < K. Each player puts in 1 chip and gets one card. " +
		"The first player checks or bets 1 chip. After a bet the other player folds or calls with 1 chip; after a check the other player checks or bets, too. " +
		"A fold loses 1 chip. Otherwise the higher card wins: 2 chips after a call, else 1. The players take turns in acting first.\n\n")
	fmt.Fprintf(&b, "Hand %d of %d. Your card: %s. Your chips so far: %+d.\n", s.Hand+1, s.Hands, card, s.net(a.Player))
	if len(last) > 0 {
		fmt.Fprintf(&b, "Last hand: %s.\n", strings.Join(last, "; "))
	}
	if len(actions) > 0 {
		fmt.Fprintf(&b, "Actions in this hand: %s.\n", strings.Join(actions, ", "))
	} else {
		b.WriteString("You act first.\n")
	}
	fmt.Fprintf(&b, "Answer with one word: %s.", strings.Join(a.Legal, " or "))
	a.Text = b.String()
	a.Observation, err = encode(struct {
		Card     string     `json:"card"`
		Actions  []string   `json:"actions"` // in this hand
		Hand     int        `json:"hand"`    // 1-based
		Hands    int        `json:"hands"`
		Chips    int        `json:"chips"` // won so far, negative if lost
		LastHand []string   `json:"last_hand,omitempty"`
		Past     [][]string `json:"history"` // all earlier hands, oldest first
	}{card, actions, s.Hand + 1, s.Hands, s.net(a.Player), last, past})
	return a, err
}

// who returns what a text for a player calls a player.
func (s *kuhn) who(player, reader int) string {
	if player == reader {
		return "you"
	}
	return "opponent"
}

// counted returns a number with a noun, e.g. "2 chips".
func counted(n int, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return fmt.Sprintf("%d %s", n, noun)
}
