package server

import (
	"context"

	"github.com/agora-arena/arena/arena/record"
)

// record makes and signs the record of a finished match.
func (s *Server) record(ctx context.Context, rows record.Rows) (_ record.Signed, err error) {
	if rows.Erased, err = s.store.ErasedTexts(ctx, rows.Match.ID); err != nil {
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
