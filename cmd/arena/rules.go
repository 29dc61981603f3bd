package main

import (
	"time"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/league/format"
)

// seasonTable is the table of a running season.
func seasonTable(s arena.Season, pairings []arena.Pairing) []arena.TableRow {
	return format.Table(format.State{Season: s, Pairings: pairings, Now: time.Now()})
}
