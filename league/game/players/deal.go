package players

import (
	"encoding/json"
	"math/rand/v2"
)

// goods counts or values the items of a negotiation.
type goods struct {
	Books int `json:"books"`
	Hats  int `json:"hats"`
	Balls int `json:"balls"`
}

// worth returns what items are worth by the values g.
func (g goods) worth(items goods) int {
	return g.Books*items.Books + g.Hats*items.Hats + g.Balls*items.Balls
}

// without returns the items of g that are not in taken.
func (g goods) without(taken goods) goods {
	return goods{g.Books - taken.Books, g.Hats - taken.Hats, g.Balls - taken.Balls}
}

// upTo returns all goods with at most so many of each kind.
func (g goods) upTo() (all []goods) {
	for books := range g.Books + 1 {
		for hats := range g.Hats + 1 {
			for balls := range g.Balls + 1 {
				all = append(all, goods{books, hats, balls})
			}
		}
	}
	return all
}

// deal is the observation of a negotiation.
type deal struct {
	You        int    `json:"you"`
	Items      goods  `json:"items"`
	Values     goods  `json:"values"`          // of one item, for the player
	Offer      *goods `json:"offer,omitempty"` // that stands: what the player gets
	Turn       int    `json:"turn"`            // 1-based
	Turns      int    `json:"turns"`
	Transcript []struct {
		Player int    `json:"player"`
		Offer  *goods `json:"offer"` // what the other one of the two gets
	} `json:"transcript"`
}

const (
	dealWorth = 10 // of all items, for each player
	fair      = 7  // of an offer that a player takes at once who knows nothing of the other
)

// move makes offers and accepts at random; or keeps all that it values and takes
// anything good, in the last turn anything; or weighs each offer by its worth and by
// how likely the other player accepts it, over all values that it may have.
func (d deal) move(l level, dice *rand.Rand) string {
	standing := -1
	if d.Offer != nil {
		standing = d.Values.worth(*d.Offer)
	}
	final := d.Turn >= d.Turns
	offers := d.Items.upTo()
	accept, offer := false, goods{}
	switch l {
	case random:
		accept, offer = standing >= 0 && dice.IntN(4) == 0, offers[dice.IntN(len(offers))]
	case greedy:
		accept = standing >= fair || final && standing > 0
		if d.Values.Books == 0 {
			offer.Books = d.Items.Books
		}
		if d.Values.Hats == 0 {
			offer.Hats = d.Items.Hats
		}
		if d.Values.Balls == 0 {
			offer.Balls = d.Items.Balls
		}
	case search:
		best, expected := d.best(offers, dice)
		offer = best
		accept = standing >= 0 && float64(standing) >= expected || final && standing > 0
	}
	move := map[string]any{"offer": offer}
	if accept {
		move = map[string]any{"accept": true}
	}
	raw, _ := json.Marshal(move) // numbers only
	return string(raw)
}

// best returns the offer with the greatest expected worth, and that worth.
func (d deal) best(offers []goods, dice *rand.Rand) (goods, float64) {
	// The other player takes less the later it is, as no agreement is worth nothing. An
	// offer that it declines leaves a smaller one for later.
	left := float64(d.Turns-d.Turn) / float64(d.Turns)
	least := 1 + int(left*(fair-1))
	later := 0.0
	if d.Turns-d.Turn > 1 {
		later = dealWorth / 2 * (0.5 + left/2)
	}
	likely, values := d.others()
	expected := make([]float64, len(offers))
	for i, offer := range offers {
		accepts := 0.0
		for j, v := range values {
			if v.worth(offer) >= least {
				accepts += likely[j]
			}
		}
		mine := float64(d.Values.worth(d.Items.without(offer)))
		expected[i] = accepts*mine + (1-accepts)*later
	}
	i := drawn(expected, dice)
	return offers[i], expected[i]
}

// others returns the values that the other player may have, with probabilities: the
// more it kept for itself in its offers, the likelier.
func (d deal) others() (likely []float64, values []goods) {
	sum := 0.0
	for _, v := range (goods{dealWorth, dealWorth, dealWorth}).upTo() {
		if v.worth(d.Items) != dealWorth || v.Books+d.Values.Books == 0 || v.Hats+d.Values.Hats == 0 || v.Balls+d.Values.Balls == 0 {
			continue
		}
		p := 1.0
		for _, line := range d.Transcript {
			if line.Offer != nil && line.Player != d.You {
				kept := float64(v.worth(d.Items.without(*line.Offer))) / dealWorth
				p *= 0.05 + kept*kept
			}
		}
		sum += p
		likely, values = append(likely, p), append(values, v)
	}
	for i := range likely {
		likely[i] /= sum
	}
	return likely, values
}
