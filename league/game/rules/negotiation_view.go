package rules

import (
	"fmt"
	"slices"
	"strings"
)

// public returns the conversation. The values of the players are shown at the end.
func (s *deal) public() Transcript {
	t := Transcript{Kind: KindTranscript, Lines: []Line{}, Facts: []Said{{-1, "On the table: " + s.Items.String()}}}
	for i, m := range s.Moves {
		l := Line{Player: i % 2, Text: m.Say}
		switch {
		case m.Accept:
			l.Offer = "accepts"
		case m.Offer != nil:
			l.Offer = "offers " + m.Offer.String()
		}
		t.Lines = append(t.Lines, l)
	}
	switch {
	case !s.over():
		t.Caption = fmt.Sprintf("Turn %d of %d", len(s.Moves)+1, s.Turns)
		return t
	case s.agreed():
		t.Caption = "Agreement"
	default:
		t.Caption = "No agreement"
	}
	for player, values := range s.Values {
		fact := "values " + values.worths()
		if shares := s.shares(); shares != nil {
			fact = fmt.Sprintf("gets %s, worth %d of %d; %s", shares[player], values.worth(shares[player]), dealWorth, fact)
		}
		t.Facts = append(t.Facts, Said{player, fact})
	}
	t.Evaluation = share(s.points())
	return t
}

// dealLine is a move as the other fields of an observation name it.
type dealLine struct {
	Player int `json:"player"`
	dealMove
}

// maxDealTalk is how much of the conversation a text repeats, in bytes.
const maxDealTalk = 8 << 10

func (s *deal) toAct() (a ToAct, err error) {
	a.Player, a.Grammar = s.acts(), dealGrammar
	values := s.Values[a.Player]
	lines := []dealLine{}
	var talk []string // the last moves, the last one first
	size := 0
	for i, m := range s.Moves {
		lines = append(lines, dealLine{i % 2, m})
	}
	for _, l := range slices.Backward(lines) {
		text := "You: "
		if l.Player != a.Player {
			text = "Other player: "
		}
		text += fmt.Sprintf("%q", l.Say) // a message is data: it cannot look like a part of the task
		if l.Offer != nil {
			text += " (offers " + l.Offer.String() + ")"
		}
		if size += len(text); size > maxDealTalk {
			talk = append(talk, "(earlier turns are in the observation)")
			break
		}
		talk = append(talk, text)
	}
	slices.Reverse(talk)
	var b strings.Builder
	fmt.Fprintf(&b, "Negotiation. You and the other player divide %s. Each of you values the items differently, and all items together are worth %d to each of you. "+
		"In turn, you write a message, make an offer, or accept the last offer of the other player, which ends the game: you score the worth of what you get. "+
		"Without an agreement in %d turns, both score 0.\n\n", s.Items, dealWorth, s.Turns)
	fmt.Fprintf(&b, "You value %s. Only you know this.\nThis is turn %d of %d.\n", values.worths(), len(s.Moves)+1, s.Turns)
	if len(talk) > 0 {
		b.WriteString("\n" + strings.Join(talk, "\n") + "\n")
	}
	standing := s.standing(a.Player)
	if standing != nil {
		fmt.Fprintf(&b, "\nIf you accept, you get %s (worth %d to you).\n", standing, values.worth(standing))
	}
	fmt.Fprintf(&b, "\nAnswer with %s. Examples:\n", dealGrammar)
	b.WriteString(`{"say": "I need the hats most.", "offer": {"books": 1, "hats": 0, "balls": 1}}` + "\n" + `{"accept": true}`)
	a.Text = b.String()
	a.Observation, err = encode(struct {
		You        int        `json:"you"`
		Items      bundle     `json:"items"`
		Values     bundle     `json:"values"`          // of one item, for you
		Offer      bundle     `json:"offer,omitempty"` // what you get if you accept
		Turn       int        `json:"turn"`
		Turns      int        `json:"turns"`
		Transcript []dealLine `json:"transcript"` // an offer is what the other one of the two gets
	}{a.Player, s.Items, values, standing, len(s.Moves) + 1, s.Turns, lines})
	return a, err
}
