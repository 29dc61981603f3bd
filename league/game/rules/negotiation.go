package rules

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/internal/plaintext"
	"github.com/agora-arena/arena/internal/strictjson"
)

const (
	dealTurns    = 10
	dealMaxTurns = 20
	dealWorth    = 10  // of all items, for each player
	dealSay      = 500 // characters of a message, at most
	dealGrammar  = `JSON with one or more of these fields: "say" (a message), "offer" (what the other player gets; you keep the rest), "accept" (true)`
)

// Negotiation returns the rules of a negotiation: two players divide items that they
// value differently, after M. Lewis et al., "Deal or No Deal?", 2017.
func Negotiation() Rules { return negotiation{} }

type negotiation struct{}

// bundle counts items of each kind, or values them.
type bundle map[string]int

// dealItems returns the kinds of items in the order of texts.
func dealItems() []string { return []string{"books", "hats", "balls"} }

// deal is the state.
type deal struct {
	Turns  int        `json:"turns"` // of the game, at most
	Items  bundle     `json:"items"`
	Values []bundle   `json:"values"` // of one item, by player
	Moves  []dealMove `json:"moves"`  // player 0 begins
}

// dealMove is a move as the players write it.
type dealMove struct {
	Say    string `json:"say,omitempty"`
	Offer  bundle `json:"offer,omitempty"` // what the other player gets
	Accept bool   `json:"accept,omitempty"`
}

func (negotiation) Info() Info {
	return Info{
		Name: "negotiation", Title: "Negotiation", Version: "1", MinPlayers: 2, MaxPlayers: 2, Deals: true, Hidden: true, MaxTurns: dealMaxTurns, OutputFormat: OutputJSON,
		Options: []Option{{
			Name: "turns", Help: "Messages of both players together after which there is no agreement.", Default: dealTurns, Min: 2, Max: dealMaxTurns,
		}},
	}
}

func (g negotiation) Setup(_ context.Context, s Start) (State, error) {
	r := random("negotiation", s.Seed, 0)
	tables := dealTables()
	items := tables[r.IntN(len(tables))]
	values := dealValues(items)
	for {
		first, second := values[r.IntN(len(values))], values[r.IntN(len(values))]
		if worthwhile(first, second) {
			return encode(deal{Turns: s.Option(g.Info(), "turns"), Items: items, Values: []bundle{first, second}})
		}
	}
}

// dealTables returns the items that may be on the table: 5 to 7, with 1 to 4 of each
// kind.
func dealTables() []bundle {
	return bundles(1, 4, func(books, hats, balls int) bool {
		n := books + hats + balls
		return n >= 5 && n <= 7
	})
}

// dealValues returns the values that make the items on the table worth dealWorth.
func dealValues(items bundle) []bundle {
	return bundles(0, dealWorth, func(books, hats, balls int) bool {
		return books*items["books"]+hats*items["hats"]+balls*items["balls"] == dealWorth
	})
}

// worthwhile reports whether each kind of item has a value for a player, and one for
// both.
func worthwhile(first, second bundle) bool {
	contested := false
	for _, item := range dealItems() {
		if first[item] == 0 && second[item] == 0 {
			return false
		}
		contested = contested || first[item] > 0 && second[item] > 0
	}
	return contested
}

// bundles returns the bundles that have lowest to highest of each kind and that
// keep accepts.
func bundles(lowest, highest int, keep func(books, hats, balls int) bool) (all []bundle) {
	for books := lowest; books <= highest; books++ {
		for hats := lowest; hats <= highest; hats++ {
			for balls := lowest; balls <= highest; balls++ {
				if keep(books, hats, balls) {
					all = append(all, bundle{"books": books, "hats": hats, "balls": balls})
				}
			}
		}
	}
	return all
}

// worth returns what items are worth to a player with the values b.
func (b bundle) worth(items bundle) (sum int) {
	for item, count := range items {
		sum += b[item] * count
	}
	return sum
}

// without returns the items of b that are not in taken.
func (b bundle) without(taken bundle) bundle {
	rest := bundle{}
	for item, count := range b {
		rest[item] = count - taken[item]
	}
	return rest
}

// String returns e.g. "1 book, 0 hats, 2 balls".
func (b bundle) String() string {
	var parts []string
	for _, item := range dealItems() {
		parts = append(parts, counted(b[item], strings.TrimSuffix(item, "s")))
	}
	return strings.Join(parts, ", ")
}

// worths returns values for people, e.g. "a book 1, a hat 0, a ball 5".
func (b bundle) worths() string {
	var parts []string
	for _, item := range dealItems() {
		parts = append(parts, fmt.Sprintf("a %s %d", strings.TrimSuffix(item, "s"), b[item]))
	}
	return strings.Join(parts, ", ")
}

func (negotiation) Position(_ context.Context, st State) (p Position, err error) {
	s, err := dealState(st)
	if err != nil {
		return Position{}, err
	}
	p.Points = s.points()
	if p.Public, err = encode(s.public()); err != nil || s.over() {
		return p, err
	}
	next, err := s.toAct()
	p.ToAct = []ToAct{next}
	return p, err
}

func (negotiation) Parse(_ context.Context, st State, player int, text string) (string, error) {
	s, err := dealState(st)
	if err != nil {
		return "", err
	}
	move, err := s.parse(player, text)
	if err != nil {
		return "", err
	}
	canonical, err := encode(move)
	return string(canonical), err
}

func (negotiation) Move(_ context.Context, st State, moves []Move) (State, error) {
	s, err := dealState(st)
	if err != nil {
		return nil, err
	}
	if len(moves) != 1 {
		return nil, fmt.Errorf("negotiation: one move, not %d", len(moves))
	}
	move, err := s.parse(moves[0].Player, moves[0].Move)
	if err != nil {
		return nil, err
	}
	s.Moves = append(s.Moves, move)
	return encode(s)
}

// Sample returns a random legal move: it accepts one standing offer in four, and
// else makes an offer. Moves are too many to list.
func (g negotiation) Sample(ctx context.Context, st State, player int, seed uint64) (string, error) {
	s, err := dealState(st)
	if err != nil {
		return "", err
	}
	r := rand.New(rand.NewPCG(seed, 0)) //nolint:gosec // G404: a move of a random game
	if r.IntN(4) == 0 {
		if m, err := g.Parse(ctx, st, player, `{"accept":true}`); err == nil {
			return m, nil
		}
	}
	offer := bundle{}
	for _, item := range dealItems() {
		offer[item] = r.IntN(s.Items[item] + 1)
	}
	m, err := encode(dealMove{Offer: offer})
	if err != nil {
		return "", err
	}
	return g.Parse(ctx, st, player, string(m))
}

func dealState(st State) (*deal, error) {
	var s deal
	if err := decode(st, &s); err != nil {
		return nil, fmt.Errorf("negotiation: %w", err)
	}
	return &s, nil
}

func (s *deal) agreed() bool { return len(s.Moves) > 0 && s.Moves[len(s.Moves)-1].Accept }

func (s *deal) over() bool { return s.agreed() || len(s.Moves) >= s.Turns }

func (s *deal) acts() int { return len(s.Moves) % 2 }

// standing returns the last offer to a player, or nil.
func (s *deal) standing(player int) bundle {
	for i, m := range slices.Backward(s.Moves) {
		if i%2 != player && m.Offer != nil {
			return m.Offer
		}
	}
	return nil
}

// shares returns what the players get, by player; nil if there is no agreement.
func (s *deal) shares() []bundle {
	if !s.agreed() {
		return nil
	}
	accepted := (len(s.Moves) - 1) % 2
	shares := make([]bundle, 2)
	shares[accepted] = s.standing(accepted)
	shares[1-accepted] = s.Items.without(shares[accepted])
	return shares
}

// points returns the worth of each player's share; nil while the game is not over.
func (s *deal) points() []arena.Points {
	if !s.over() {
		return nil
	}
	points := make([]arena.Points, 2)
	for player, share := range s.shares() {
		points[player] = arena.OnePoint * arena.Points(s.Values[player].worth(share)) / dealWorth
	}
	return points
}

func (s *deal) parse(player int, text string) (dealMove, error) {
	switch {
	case s.over():
		return dealMove{}, Illegalf("the game is over")
	case player != s.acts():
		return dealMove{}, Illegalf("it is the other player's turn")
	case len(text) > MaxMove:
		return dealMove{}, Illegalf("a move has at most %d bytes", MaxMove)
	}
	var m dealMove
	if err := strictjson.Unmarshal([]byte(text), &m); err != nil {
		const longest = 120 // characters of a reason that may quote the text
		return dealMove{}, Illegalf("a move is %s. Yours is not: %s", dealGrammar, plaintext.Shorten(plaintext.Terminal(err.Error()), longest))
	}
	m.Say = plaintext.Terminal(m.Say)
	switch n := utf8.RuneCountInString(m.Say); {
	case n > dealSay:
		return dealMove{}, Illegalf("say has %d characters, at most %d are allowed", n, dealSay)
	case m.Accept && m.Offer != nil:
		return dealMove{}, Illegalf("a move accepts or makes an offer, not both")
	case m.Accept && s.standing(player) == nil:
		return dealMove{}, Illegalf("there is no offer to accept")
	case m.Say == "" && m.Offer == nil && !m.Accept:
		return dealMove{}, Illegalf("a move is %s", dealGrammar)
	}
	return m, s.checkOffer(m.Offer)
}

// checkOffer returns an *IllegalError for an offer that the items do not allow.
func (s *deal) checkOffer(offer bundle) error {
	if offer == nil {
		return nil
	}
	for _, item := range dealItems() {
		if n, named := offer[item]; !named || n < 0 || n > s.Items[item] {
			return Illegalf("offer.%s must be 0 to %d", item, s.Items[item])
		}
	}
	if len(offer) != len(dealItems()) {
		return Illegalf("an offer has %s and nothing else", strings.Join(dealItems(), ", "))
	}
	return nil
}
