package agents

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/agora-arena/agora-go/arenaagent"
)

// Speeches argue their side, answer the opponent, and have more reasons the
// better the speaker is.
func TestSpeech(t *testing.T) {
	t.Parallel()
	dice := func() *rand.Rand { return rand.New(rand.NewPCG(1, 2)) }
	task := func(side, said string) string {
		return "Debate. Motion: Cats beat dogs.\n\nYou argue " + side + " the motion. This is turn 1 of 2." + said
	}
	pro, ok := speech(task("FOR", ""), 0.9, dice())
	if !ok || !strings.Contains(pro, "Cats beat dogs") || !strings.HasSuffix(pro, "support the motion.") || !strings.Contains(pro, "Third, ") {
		t.Errorf("for: %q", pro)
	}
	contra, _ := speech(task("AGAINST", `[{"speaker":"opponent","words":"Purr."}]`), 0.1, dice())
	if strings.Contains(contra, "Cats beat") || !strings.HasSuffix(contra, "reject the motion.") || strings.Contains(contra, "Second, ") {
		t.Errorf("against: %q", contra)
	}
	if _, ok := speech("What is 2 + 2?", 1, dice()); ok {
		t.Error("a question was taken for a debate")
	}
}

func TestVerdict(t *testing.T) {
	t.Parallel()
	ask := func(a, b string) *arenaagent.Task {
		return &arenaagent.Task{Description: "You judge.\n\n{\"A\":\"" + a + "\",\"B\":\"" + b + "\"}", Options: []string{"A", "B", "tie"}}
	}
	good, bad := "First, because of this. Second, because of that. Third, because I say so.", "Well."
	for taste := range int64(20) {
		if got, _ := verdict(ask(good, bad), taste); got != "A" {
			t.Errorf("taste %d: %s", taste, got)
		}
		if got, _ := verdict(ask(bad, good), taste); got != "B" {
			t.Errorf("the other way round, taste %d: %s", taste, got)
		}
	}
	if got, _ := verdict(ask(bad, bad), 1); got != "tie" {
		t.Errorf("twice the same: %s", got)
	}
	if _, ok := verdict(&arenaagent.Task{Options: []string{"Lima", "Rome"}}, 1); ok {
		t.Error("a question was taken for a verdict")
	}
}
