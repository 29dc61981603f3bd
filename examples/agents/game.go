package agents

import (
	"context"
	"fmt"
	"math/rand/v2"

	"github.com/agora-arena/agora-go/arenaagent"
)

// player is how well an agent plays games. The zero value plays at random.
type player struct {
	depth  int     // moves that it looks ahead; 0: none
	slips  float64 // share of moves that it makes at random
	bluffs float64 // share of jacks with which it bets
}

// playerOf returns the player in an agent with a skill of 0 to 1: the better it
// is, the further it looks ahead. Those who err often bluff often.
func playerOf(skill float64) player {
	return player{depth: max(0, int(skill*14)-5), slips: (1 - skill) / 2, bluffs: 1.0/3 + max(0, 0.75-skill)}
}

// move returns the idea of a player for a turn of a game. A game that it does not
// know gets a random legal move.
func (p player) move(task *arenaagent.Task, dice *rand.Rand) idea {
	legal := task.LegalMoves()
	if len(legal) == 0 {
		return idea{answer: "pass", reasoning: "I know no move here."}
	}
	i := idea{answer: legal[dice.IntN(len(legal))], confidence: 1 / float64(len(legal)), reasoning: "Any move is as good as another."}
	if p.depth == 0 || dice.Float64() < p.slips {
		return i
	}
	if b, ok := readFour(task); ok {
		if move, found := four(b, legal, p.depth, dice); move != "" {
			value := found.values[move]
			i = idea{answer: move, confidence: min(max(0.5+float64(value)/40, 0.05), 0.95), search: &found}
			i.reasoning = fmt.Sprintf("Column %s is best, %d moves ahead (%+d).", move, found.depth, value)
			switch {
			case value >= fourWon:
				i.reasoning = fmt.Sprintf("Column %s wins by force.", move)
			case value <= -fourWon:
				i.reasoning = fmt.Sprintf("Every move loses; column %s holds out as long as any.", move)
			}
		}
	} else if move, why, ok := poker(task, p.bluffs, dice); ok {
		i = idea{answer: move, confidence: 0.5, reasoning: why}
	}
	return i
}

// The bots of Bot.
const (
	botRandom  = "random"
	botMinimax = "minimax"
	botBluffer = "bluffer"
)

// Bots lists the names that Bot knows.
func Bots() []string { return []string{botRandom, botMinimax, botBluffer} }

// Bot returns the handler of an agent that plays games only, by name: random picks
// any legal move, minimax looks six moves ahead in connect four, bluffer bets with
// two of three jacks in Kuhn poker. Both play other games at random. The same seed
// makes the same moves in the same positions.
func Bot(name string, seed uint64) (arenaagent.Handler, error) {
	p, known := map[string]player{botRandom: {}, botMinimax: {depth: 6, bluffs: 1.0 / 3}, botBluffer: {depth: 2, bluffs: 2.0 / 3}}[name]
	if !known {
		return nil, fmt.Errorf("no bot is called %q: there are %q", name, Bots())
	}
	return func(_ context.Context, task *arenaagent.Task, _ *arenaagent.Events) (arenaagent.Answer, error) {
		if len(task.LegalMoves()) == 0 {
			return arenaagent.Answer{}, arenaagent.ErrUnavailable
		}
		i := p.move(task, diceOf(seed, name, task.Round, task.Refused()))
		return arenaagent.Answer{Value: i.answer, Confidence: i.confidence, Reasoning: i.reasoning}, nil
	}, nil
}
