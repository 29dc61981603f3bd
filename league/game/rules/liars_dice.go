package rules

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/agora-arena/arena/arena"
)

const (
	diceDefault   = 5
	diceMost      = 5 // of each player
	diceFaces     = 6
	diceTurns     = 300
	diceChallenge = "liar"
)

// LiarsDice returns the rules of liar's dice for two to six players: bids on all
// dice on the table, of which each player sees its own ones only.
func LiarsDice() Rules { return liarsDice{} }

type liarsDice struct{}

// dice is the state.
type dice struct {
	Seed   uint64    `json:"seed"`
	Wild   bool      `json:"wild"`
	Round  int       `json:"round"` // 0-based
	Turns  int       `json:"turns"` // so far
	First  int       `json:"first"` // player of the first bid of this round
	Counts []int     `json:"counts"`
	Bids   []diceBid `json:"bids"` // of this round
	Out    []int     `json:"out"`  // players without dice, the first loser first
	Past   [][]Said  `json:"past"` // the earlier rounds: bids, challenge, dice, who lost one
}

// diceBid is the claim that at least Count dice show Face.
type diceBid struct {
	Count int `json:"count"`
	Face  int `json:"face"`
}

func (b diceBid) String() string { return fmt.Sprintf("%d %d", b.Count, b.Face) }

// words returns the bid for people, e.g. "3 fives".
func (b diceBid) words() string {
	if b.Count == 1 {
		return "1 " + [...]string{"one", "two", "three", "four", "five", "six"}[b.Face-1]
	}
	return fmt.Sprintf("%d %s", b.Count, [...]string{"ones", "twos", "threes", "fours", "fives", "sixes"}[b.Face-1])
}

// above reports whether a bid may follow another one.
func (b diceBid) above(last diceBid) bool {
	return b.Count > last.Count || b.Count == last.Count && b.Face > last.Face
}

func (liarsDice) Info() Info {
	return Info{
		Name: "liars_dice", Title: "Liar's dice", Version: "1", MinPlayers: 2, MaxPlayers: 6, Deals: true, Hidden: true, MaxTurns: diceTurns,
		Options: []Option{
			{Name: "dice", Help: "Dice of each player at the start.", Default: diceDefault, Min: 1, Max: diceMost},
			{Name: "wilds", Help: "1: ones count as every face and cannot be bid; 0: ones are a face like the others.", Default: 1, Min: 0, Max: 1},
		},
	}
}

func (g liarsDice) Setup(_ context.Context, s Start) (State, error) {
	return encode(dice{
		Seed: s.Seed, Wild: s.Option(g.Info(), "wilds") == 1, Counts: slices.Repeat([]int{s.Option(g.Info(), "dice")}, s.Players),
	})
}

func (liarsDice) Position(_ context.Context, st State) (p Position, err error) {
	s, err := diceState(st)
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

func (liarsDice) Parse(_ context.Context, st State, player int, text string) (string, error) {
	s, err := diceState(st)
	if err != nil {
		return "", err
	}
	return s.parse(player, text)
}

func (liarsDice) Move(_ context.Context, st State, moves []Move) (State, error) {
	s, err := diceState(st)
	if err != nil {
		return nil, err
	}
	if len(moves) != 1 {
		return nil, fmt.Errorf("liar's dice: one move, not %d", len(moves))
	}
	move, err := s.parse(moves[0].Player, moves[0].Move)
	if err != nil {
		return nil, err
	}
	s.Turns++
	if bid, ok := parseBid(move); ok {
		s.Bids = append(s.Bids, bid)
	} else {
		s.challenge()
	}
	return encode(s)
}

func diceState(st State) (*dice, error) {
	var s dice
	if err := decode(st, &s); err != nil {
		return nil, fmt.Errorf("liar's dice: %w", err)
	}
	return &s, nil
}

// last returns how the last round ended, from its last bid on.
func (s *dice) last() []Said {
	if len(s.Past) == 0 {
		return nil
	}
	round := s.Past[len(s.Past)-1]
	return round[slices.IndexFunc(round, func(said Said) bool { return said.Text == diceChallenge })-1:]
}

func (s *dice) over() bool { return len(s.Out) >= len(s.Counts)-1 || s.Turns >= diceTurns }

// next returns the player with dice after a player.
func (s *dice) next(player int) int {
	for {
		if player = (player + 1) % len(s.Counts); s.Counts[player] > 0 {
			return player
		}
	}
}

// bidder returns the player of a bid of this round.
func (s *dice) bidder(bid int) int {
	player := s.First
	for range bid {
		player = s.next(player)
	}
	return player
}

func (s *dice) acts() int { return s.bidder(len(s.Bids)) }

// total returns the number of all dice.
func (s *dice) total() (n int) {
	for _, count := range s.Counts {
		n += count
	}
	return n
}

// rolled returns the dice of all players in this round, in ascending order.
func (s *dice) rolled() [][]int {
	r := random("liars_dice", s.Seed, s.Round)
	all := make([][]int, len(s.Counts))
	for player, count := range s.Counts {
		for range count {
			all[player] = append(all[player], 1+r.IntN(diceFaces))
		}
		slices.Sort(all[player])
	}
	return all
}

// legal returns the bids above the last one, and the challenge.
func (s *dice) legal() []string {
	var last diceBid
	var moves []string
	if n := len(s.Bids); n > 0 {
		last = s.Bids[n-1]
		moves = append(moves, diceChallenge)
	}
	for count := max(last.Count, 1); count <= s.total(); count++ {
		for face := s.lowest(); face <= diceFaces; face++ {
			if bid := (diceBid{count, face}); bid.above(last) {
				moves = append(moves, bid.String())
			}
		}
	}
	return moves
}

// lowest returns the lowest face that can be bid.
func (s *dice) lowest() int {
	if s.Wild {
		return 2
	}
	return 1
}

// diceBidForm matches a bid: a number and a face, as digits or as words.
var diceBidForm = regexp.MustCompile(`^([0-9]{1,2}|[a-z]+) ?[x, ] ?([0-9]|[a-z]+?)(?:'?s)?$`)

// diceWords are the words for the faces and for as many dice. Their plurals end in
// s.
func diceWords() []string { return []string{"one", "two", "three", "four", "five", "six"} }

func parseBid(text string) (diceBid, bool) {
	parts := diceBidForm.FindStringSubmatch(text)
	if parts == nil {
		return diceBid{}, false
	}
	var numbers [2]int
	for i, part := range parts[1:] {
		part = strings.Replace(part, "sixe", "six", 1) // of sixes
		if n := slices.Index(diceWords(), part); n >= 0 {
			numbers[i] = n + 1
		} else if n, err := strconv.Atoi(part); err == nil {
			numbers[i] = n
		} else {
			return diceBid{}, false
		}
	}
	return diceBid{numbers[0], numbers[1]}, true
}

func (s *dice) parse(player int, text string) (string, error) {
	switch {
	case s.over():
		return "", Illegalf("the game is over")
	case player != s.acts():
		return "", Illegalf("it is another player's turn")
	}
	move := word(text)
	n := len(s.Bids)
	if slices.Contains([]string{diceChallenge, "call " + diceChallenge, "challenge"}, move) {
		if n == 0 {
			return "", Illegalf("there is no bid to challenge")
		}
		return diceChallenge, nil
	}
	bid, ok := parseBid(move)
	switch {
	case !ok:
		return "", Illegalf("a move is a bid of two numbers, such as 3 5 for at least three fives, or the word liar")
	case bid.Face < s.lowest() || bid.Face > diceFaces:
		return "", Illegalf("the face of a bid is %d to %d", s.lowest(), diceFaces)
	case bid.Count < 1 || bid.Count > s.total():
		return "", Illegalf("the number of a bid is 1 to %d, as there are %s", s.total(), diceWord(s.total()))
	case n > 0 && !bid.above(s.Bids[n-1]):
		return "", Illegalf("a bid must be above %s: more dice, or as many with a higher face", s.Bids[n-1])
	}
	return bid.String(), nil
}

// challenge counts the dice of the last bid. The player who is wrong loses a die and
// begins the next round, or if it has none left, the player after it.
func (s *dice) challenge() {
	n := len(s.Bids) - 1
	bid, bidder, challenger, count := s.Bids[n], s.bidder(n), s.bidder(n+1), 0
	var round []Said
	for i, earlier := range s.Bids {
		round = append(round, Said{s.bidder(i), earlier.words()})
	}
	round = append(round, Said{challenger, diceChallenge})
	for player, dice := range s.rolled() {
		if len(dice) == 0 {
			continue
		}
		for _, face := range dice {
			if face == bid.Face || s.Wild && face == 1 {
				count++
			}
		}
		round = append(round, Said{player, "had " + spaced(dice)})
	}
	loser := challenger
	if count < bid.Count {
		loser = bidder
	}
	s.Past = append(s.Past, append(round, Said{-1, fmt.Sprintf("%d counted", count)}, Said{loser, "−1 die"}))
	s.Counts[loser]--
	s.First = loser
	if s.Counts[loser] == 0 {
		s.Out = append(s.Out, loser)
		s.First = s.next(loser)
	}
	s.Round++
	s.Bids = nil
}

// points returns for each player the share of the other players that it has beaten;
// an equal one counts as half. Players who are out are beaten by all who stayed
// longer, and the others, if the turns have run out, by those with more dice.
func (s *dice) points() []arena.Points {
	strength := slices.Clone(s.Counts)
	for i, player := range s.Out {
		strength[player] = i - len(s.Out)
	}
	points := make([]arena.Points, len(strength))
	for i, mine := range strength {
		halves := -1 // this player equals itself
		for _, other := range strength {
			switch {
			case other < mine:
				halves += 2
			case other == mine:
				halves++
			}
		}
		others := len(strength) - 1
		points[i] = arena.Points((int(arena.OnePoint)*halves + others) / (2 * others)) // to the nearest
	}
	return points
}

func diceWord(n int) string {
	if n == 1 {
		return "1 die"
	}
	return fmt.Sprintf("%d dice", n)
}

// spaced returns numbers with spaces between.
func spaced(numbers []int) string { return strings.Trim(fmt.Sprint(numbers), "[]") }
