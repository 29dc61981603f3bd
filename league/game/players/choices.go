package players

import (
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
)

// dilemma plays the iterated prisoner's dilemma without a look at the rounds so far. It
// has no search: no plan is ahead of a player who always defects.
type dilemma struct{}

// move plays at random, or defects, which gains most in one round and is never behind
// at the end.
func (dilemma) move(l level, dice *rand.Rand) string {
	if l == random && dice.IntN(2) == 0 {
		return "cooperate"
	}
	return "defect"
}

// blotto is the observation of Colonel Blotto.
type blotto struct {
	Battlefields int `json:"battlefields"`
	Troops       int `json:"troops"`
}

// move places troops at random; or all of them on as few battlefields as win the game;
// or as wins most often against many armies of other ways.
func (b blotto) move(l level, dice *rand.Rand) string {
	var army []int
	switch l {
	case random:
		army = b.scattered(dice)
	case greedy:
		army = b.massed(b.Battlefields/2+1, dice)
	case search:
		army = b.tested(dice)
	}
	parts := make([]string, len(army))
	for i, n := range army {
		parts[i] = strconv.Itoa(n)
	}
	return strings.Join(parts, ",")
}

// scattered places each troop on a battlefield at random.
func (b blotto) scattered(dice *rand.Rand) []int {
	army := make([]int, b.Battlefields)
	for range b.Troops {
		army[dice.IntN(b.Battlefields)]++
	}
	return army
}

// massed places the troops evenly on a number of battlefields.
func (b blotto) massed(fields int, dice *rand.Rand) []int {
	army := make([]int, b.Battlefields)
	chosen := dice.Perm(b.Battlefields)[:fields]
	for i := range b.Troops {
		army[chosen[i%fields]]++
	}
	return army
}

// cut divides the troops at random places.
func (b blotto) cut(dice *rand.Rand) []int {
	cuts := []int{0, b.Troops}
	for range b.Battlefields - 1 {
		cuts = append(cuts, dice.IntN(b.Troops+1))
	}
	slices.Sort(cuts)
	army := make([]int, b.Battlefields)
	for i := range army {
		army[i] = cuts[i+1] - cuts[i]
	}
	return army
}

// armies is how many armies a search compares.
const armies = 200

// tested returns the army that wins most often against the others of a sample.
func (b blotto) tested(dice *rand.Rand) []int {
	sample := make([][]int, armies)
	for i := range sample {
		switch i % 4 {
		case 0:
			sample[i] = b.scattered(dice)
		case 1:
			sample[i] = b.cut(dice)
		default:
			sample[i] = b.massed(b.Battlefields/2+1, dice)
		}
	}
	scores := make([]int, armies)
	for i, army := range sample {
		for _, other := range sample {
			lead := 0
			for f := range army {
				switch {
				case army[f] > other[f]:
					lead++
				case army[f] < other[f]:
					lead--
				}
			}
			switch {
			case lead > 0:
				scores[i] += 2
			case lead == 0:
				scores[i]++
			}
		}
	}
	return sample[drawn(scores, dice)]
}
