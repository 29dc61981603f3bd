package server

import (
	"context"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/league/game"
	"github.com/agora-arena/arena/record"
	"github.com/agora-arena/arena/visibility"
)

// record makes and signs the record of a finished match.
func (s *Server) record(ctx context.Context, rows record.Rows) (_ record.Signed, err error) {
	if rows.Erased, err = s.store.Matches.ErasedTexts(ctx, rows.Match.ID); err != nil {
		return record.Signed{}, err
	}
	r, err := record.New(s.url, rows)
	if err != nil {
		return record.Signed{}, err
	}
	return record.Sign(r, s.keys.SignRecord)
}

// recordOf returns the signed record of a match whose log is short enough.
func (s *Server) recordOf(ctx context.Context, matchID string, maxEvents int64) (record.Signed, error) {
	rows, err := s.visible.RecordRows(ctx, matchID, maxEvents)
	if err != nil {
		return record.Signed{}, err
	}
	return s.record(ctx, rows)
}

// notation returns the games of a match as people write them down.
func (s *Server) notation(ctx context.Context, m visibility.Match, league string, rounds []visibility.ClosedRound) (arena.Notation, error) {
	closed := make([]arena.ClosedGame, len(rounds))
	for i, r := range rounds {
		closed[i] = r.Game
	}
	return game.Notation(ctx, s.games, m.Row(), league, s.url+"/m/"+m.ID, closed)
}
