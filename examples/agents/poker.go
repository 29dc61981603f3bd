package agents

import (
	"math/rand/v2"
	"slices"

	"github.com/agora-arena/agora-go/arenaagent"
)

// poker returns a move of Kuhn poker. bluffs is how often it bets with the jack:
// 1/3 cannot be exploited, more can. ok is false for another game.
func poker(task *arenaagent.Task, bluffs float64, dice *rand.Rand) (move, why string, ok bool) {
	var seen struct {
		Card    string   `json:"card"`
		Actions []string `json:"actions"`
	}
	legal := task.LegalMoves()
	if task.Observe(&seen) != nil || !slices.Contains([]string{"J", "Q", "K"}, seen.Card) {
		return "", "", false
	}
	answering := slices.Contains(legal, "call")
	bold := map[string]float64{"J": bluffs, "Q": 0, "K": 1}[seen.Card]
	if answering {
		bold = map[string]float64{"J": 0, "Q": 1.0/3 + bluffs/2, "K": 1}[seen.Card]
	}
	yes, no := "bet", "check"
	if answering {
		yes, no = "call", "fold"
	}
	move, why = no, "Not with this card."
	if dice.Float64() < bold {
		move, why = yes, "This card is worth a chip."
		if seen.Card == "J" {
			why = "Nobody can see that this is the jack."
		}
	}
	return move, why, slices.Contains(legal, move)
}
