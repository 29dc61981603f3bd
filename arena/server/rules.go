package server

import (
	"time"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/league/format"
	"github.com/agora-arena/arena/league/pack"
)

// seasonTable is the table of a running season.
func seasonTable(s arena.Season, pairings []arena.Pairing) []arena.TableRow {
	return format.Table(format.State{Season: s, Pairings: pairings, Now: time.Now()})
}

// readPack reads a task pack within the limits of an import.
func readPack(in arena.PackImport) (arena.PackContents, error) {
	return pack.Read(pack.Source{Format: in.Format, Map: in.Map, Data: in.Data}, pack.DefaultLimits())
}
