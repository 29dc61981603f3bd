package server

import (
	"time"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/league/format"
	"github.com/agora-arena/arena/scoring"
)

// fitsJudge says why a judge could find no answer to a task right.
func fitsJudge(spec arena.JudgeSpec, task arena.Task) string {
	wrong := scoring.CheckTask(spec, task)
	if len(wrong) == 0 {
		return ""
	}
	return wrong[0].Field + " " + wrong[0].Message
}

// seasonTable is the table of a running season.
func seasonTable(s arena.Season, pairings []arena.Pairing) []arena.TableRow {
	return format.Table(format.State{Season: s, Pairings: pairings, Now: time.Now()})
}
