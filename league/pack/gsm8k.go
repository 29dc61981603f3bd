package pack

import (
	"errors"
	"iter"
	"strings"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/internal/strictjson"
	"github.com/agora-arena/arena/scoring"
)

// parseGSM8K reads the format of the GSM8K problems: {"question", "answer"}
// per line, where the answer is a worked solution that ends in "#### 1,234".
// Such tasks are for the judge number.
func parseGSM8K(rows iter.Seq[row]) iter.Seq[entry] {
	return objects(rows, func(line []byte) (entry, error) {
		var l struct {
			Question string `json:"question"`
			Answer   string `json:"answer"`
		}
		if err := strictjson.Unmarshal(line, &l); err != nil {
			return entry{}, memberError(line, err, []string{"question", "answer"})
		}
		_, result, found := cutLast(l.Answer, "####")
		if !found {
			return entry{}, errors.New("the answer has no #### with the result behind it")
		}
		task := arena.Task{
			Description:  strings.TrimSpace(l.Question),
			Answers:      []string{strings.ReplaceAll(strings.TrimSpace(result), ",", "")},
			OutputFormat: "number",
		}
		if !scoring.Accepts(arena.JudgeSpec{Kind: arena.JudgeNumber}, task) {
			return entry{}, errors.New("the result behind #### is not a number")
		}
		return entry{task: task}, nil
	})
}

func cutLast(s, sep string) (before, after string, found bool) {
	i := strings.LastIndex(s, sep)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+len(sep):], true
}
