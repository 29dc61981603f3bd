package agents

import (
	"context"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"time"

	"github.com/agora-arena/agora-go/arenaagent"
)

// persona is a way to play. Each has a file of its own.
type persona struct {
	name        string
	description string
	skill       float64       // share of right answers, before the agent's own talent
	least, most time.Duration // thinking time at speed 1
	concurrent  int           // tasks at once
	play        func(ctx context.Context, t *turn) error
	awake       func(age time.Duration) bool // nil: always
}

// personas in the order in which they are dealt, so that the first seven
// agents are seven characters. Trouble is rarer among the later ones.
func personas() []persona {
	return []persona{
		steady(), slowAndSharp(), fastAndSloppy(), chatty(), flaky(), rateLimited(), sleeper(),
		steady(), chatty(), fastAndSloppy(), slowAndSharp(), steady(),
		fastAndSloppy(), slowAndSharp(), chatty(), steady(), flaky(),
		fastAndSloppy(), steady(), slowAndSharp(), chatty(), fastAndSloppy(), steady(), slowAndSharp(),
	}
}

func names() []string {
	return []string{
		"Ada", "Borges", "Cauchy", "Dorothy", "Euler", "Fermat", "Grace", "Hypatia", "Ibsen", "Jacquard", "Kepler", "Laplace",
		"Murasaki", "Noether", "Ovid", "Pascal", "Quine", "Rumi", "Sappho", "Turing", "Ursula", "Vermeer", "Wislawa", "Xenophon",
	}
}

// actor is one agent: a persona with a name, a talent and an own seed.
type actor struct {
	persona persona
	name    string
	seed    uint64
	skill   float64
	speed   float64
	mind    *mind
	now     func() time.Time
	born    time.Time
}

func newActor(i int, o Options, m *mind) *actor {
	name := names()[i%len(names())]
	if n := i / len(names()); n > 0 {
		name = fmt.Sprintf("%s %d", name, n+1)
	}
	return newNamed(name, personas()[i%len(personas())], o, m)
}

func newNamed(name string, p persona, o Options, m *mind) *actor {
	a := &actor{persona: p, name: name, seed: o.Seed, speed: o.Speed, mind: m, now: o.Now, born: o.Now()}
	talent := a.dice("talent").Float64()*0.2 - 0.1
	a.skill = min(max(a.persona.skill+talent, 0.05), 0.98)
	return a
}

// dice returns randomness that only the seed, the agent and what it is for
// decide.
func (a *actor) dice(what ...any) *rand.Rand {
	return diceOf(a.seed, a.name, what...)
}

func diceOf(seed uint64, name string, what ...any) *rand.Rand {
	h := fnv.New64a()
	_, _ = fmt.Fprintf(h, "%q %q", name, fmt.Sprint(what...))
	return rand.New(rand.NewPCG(seed, h.Sum64())) //nolint:gosec // repeatable on purpose
}

func (a *actor) awake() bool {
	return a.persona.awake == nil || a.persona.awake(a.now().Sub(a.born))
}

// health fails while the agent sleeps.
func (a *actor) health(context.Context) error {
	if !a.awake() {
		return arenaagent.ErrUnavailable
	}
	return nil
}

// play is the agent's handler.
func (a *actor) play(ctx context.Context, task *arenaagent.Task, events *arenaagent.Events) (arenaagent.Answer, error) {
	if !a.awake() {
		return arenaagent.Answer{}, arenaagent.ErrUnavailable
	}
	mood := a.dice("mood", task.MatchID, task.Round, task.Attempt)
	t := &turn{
		task: task, events: events, mood: mood, speed: a.speed,
		total: a.persona.least + time.Duration(mood.Float64()*float64(a.persona.most-a.persona.least)),
	}
	if len(task.LegalMoves()) > 0 {
		t.idea = playerOf(a.skill).move(task, a.dice("plays", task.MatchID, task.Round, task.Refused()))
		t.total /= 2 // a game has many turns
	} else {
		t.idea = a.mind.consider(task, a.skill, a.dice("knows", task.Description))
	}
	if deadline, ok := ctx.Deadline(); ok {
		t.total = min(t.total, time.Until(deadline)*6/10)
	}
	if better, ok := verdict(task, a.dice("taste").Int64()); ok {
		return arenaagent.Answer{Value: better, Reasoning: "I counted the reasons."}, nil
	}
	if err := a.persona.play(ctx, t); err != nil {
		return arenaagent.Answer{}, err
	}
	events.Answer(t.idea.answer, true)
	return arenaagent.Answer{
		Value: t.idea.answer, Confidence: t.idea.confidence, Reasoning: t.idea.reasoning,
		Tokens: 40 + mood.Int64N(400),
	}, nil
}

// turn is one task in the hands of a persona.
type turn struct {
	task   *arenaagent.Task
	events *arenaagent.Events
	mood   *rand.Rand // of this delivery: pace, words, accidents
	idea   idea
	total  time.Duration // thinking time at speed 1
	speed  float64
}

// happens is true with the given probability.
func (t *turn) happens(probability float64) bool { return t.mood.Float64() < probability }

// one picks a phrase.
func (t *turn) one(phrases ...string) string { return phrases[t.mood.IntN(len(phrases))] }

// pass lets a share of the thinking time go by, and returns how long that is.
func (t *turn) pass(ctx context.Context, share float64) time.Duration {
	d := time.Duration(share * t.speed * float64(t.total))
	if d <= 0 {
		return 0
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
	return d
}

// think reports a thought and lets a share of the thinking time go by.
func (t *turn) think(ctx context.Context, share float64, text string) {
	t.events.Thinking(text)
	t.pass(ctx, share)
}

// use shows the use of a tool that uses a share of the thinking time.
func (t *turn) use(ctx context.Context, share float64, tool string, args, result any) {
	t.events.ToolCall(tool, args)
	t.events.ToolResponse(result, t.pass(ctx, share))
}

// delegate shows a sub-agent at work on what do does.
func (t *turn) delegate(name, role string, do func() time.Duration) {
	t.events.Spawn(name, role)
	t.events.SubagentDone(name, do())
}
