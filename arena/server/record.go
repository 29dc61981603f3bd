package server

import (
	"context"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/arena/record"
)

// record makes and signs the record of a finished match.
func (s *Server) record(ctx context.Context, m arena.Match, rounds []arena.Round, answers []arena.Answer, log []arena.Event) (record.Signed, error) {
	erased, err := s.store.ErasedTexts(ctx, m.ID)
	if err != nil {
		return record.Signed{}, err
	}
	r, err := record.New(s.url, record.Rows{Match: m, Rounds: rounds, Answers: answers, Events: log, Erased: erased})
	if err != nil {
		return record.Signed{}, err
	}
	return record.Sign(r, s.keys.SignRecord)
}
