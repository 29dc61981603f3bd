package league

import (
	"context"
	"slices"
	"strings"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/internal/plaintext"
	"github.com/agora-arena/arena/league/pack"
	"github.com/agora-arena/arena/league/settings"
	"github.com/agora-arena/arena/scoring"
)

// maxPackName is the most characters of a pack's name.
const maxPackName = 80

// checkPackName rejects a name that is empty, too long or no plain line.
func checkPackName(name string) error {
	if err := plaintext.CheckLength("name", name, 1, maxPackName); err != nil {
		return err
	}
	return plaintext.CheckLine("name", name)
}

// RenamePack names a pack, for an admin.
func (s *Service) RenamePack(ctx context.Context, caller arena.Caller, id, name string) (arena.Pack, error) {
	if err := caller.Require("", arena.RightAdminister); err != nil {
		return arena.Pack{}, err
	}
	if err := checkPackName(name); err != nil {
		return arena.Pack{}, err
	}
	at := s.now()
	return s.o.Store.Packs.RenamePack(ctx, id, name, func(before, after arena.Pack) (arena.AuditEntry, error) {
		return caller.Audit(at, "rename-pack", id, before.Name, after.Name)
	})
}

// taskText is a task as audit entries show it.
type taskText struct {
	N           int      `json:"task"`
	Description string   `json:"description"`
	Options     []string `json:"options,omitempty"`
	Answers     []string `json:"answer"`
	Topic       string   `json:"topic,omitempty"`
	Difficulty  string   `json:"difficulty,omitempty"`
}

func textOf(t arena.PackTask) taskText {
	return taskText{t.N, t.Task.Description, t.Task.Options, t.Task.Answers, t.Task.Topic, t.Task.Difficulty}
}

// EditTask changes the text of a question, for an admin. The changed question has a
// number of its own: rounds that were played with the old text keep it, and the
// old text is not asked again. invalid: the text breaks a limit of packs, nothing
// would change, or a judge of a league that uses the pack could not judge it.
func (s *Service) EditTask(ctx context.Context, caller arena.Caller, packID string, n int, edit arena.TaskEdit) (arena.PackTask, error) {
	if err := caller.Require("", arena.RightAdminister); err != nil {
		return arena.PackTask{}, err
	}
	leagues, err := s.o.Store.Leagues.Leagues(ctx)
	if err != nil {
		return arena.PackTask{}, err
	}
	leagues = slices.DeleteFunc(leagues, func(l arena.League) bool {
		return l.Settings.PackID != packID && l.Settings.Judge.Gold != packID || l.Status == arena.LeagueFinished
	})
	at := s.now()
	return s.o.Store.Packs.ReplaceTask(ctx, packID, n, func(t *arena.Task) error { return s.editTask(t, packID, edit, leagues) },
		func(before, after arena.PackTask) (arena.AuditEntry, error) {
			return caller.Audit(at, "edit-task", packID, textOf(before), textOf(after))
		})
}

// editTask changes a task that leagues use, as an import would have read it.
func (s *Service) editTask(t *arena.Task, packID string, edit arena.TaskEdit, leagues []arena.League) error {
	before := *t
	edit.Apply(t)
	t.Options, t.Answers = trimmed(t.Options), trimmed(t.Answers)
	if t.Description == before.Description && t.Topic == before.Topic && t.Difficulty == before.Difficulty &&
		slices.Equal(t.Options, before.Options) && slices.Equal(t.Answers, before.Answers) {
		return arena.Errorf(arena.CodeConflict, "the question has this text already")
	}
	if err := pack.Check(*t, pack.DefaultLimits()); err != nil {
		return err
	}
	for _, l := range leagues {
		if l.Settings.PackID != packID { // its gold items
			if _, _, problem := scoring.GoldPair(*t); problem != "" {
				return arena.Invalid("options", "a gold item of league %s %s", l.Slug, problem)
			}
			continue
		}
		if why := settings.FitsJudge(l.Settings.Judge, *t); why != "" {
			return arena.Invalid("answer", "the judge %s of league %s cannot judge it: %s", l.Settings.Judge.Kind, l.Slug, why)
		}
	}
	return nil
}

// trimmed returns texts without the spaces around them.
func trimmed(texts []string) []string {
	texts = slices.Clone(texts)
	for i, text := range texts {
		texts[i] = strings.TrimSpace(text)
	}
	return texts
}
