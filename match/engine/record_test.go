package engine_test

import (
	"bytes"
	"testing"
	"time"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/internal/strictjson"
	"github.com/agora-arena/arena/record"
)

const seedSalt = "AAECAwQFBgcICQoLDA0ODw"

// record returns the file of a match's record and the payload of its signature.
func (b *bench) record(id string) (rows record.Rows, file, payload []byte) {
	b.t.Helper()
	var err error
	rows.Match, err = b.store.Matches.Match(b.t.Context(), id)
	b.ok(err)
	rows.Rounds, err = b.store.Matches.Rounds(b.t.Context(), id)
	b.ok(err)
	rows.Answers, err = b.store.Matches.Answers(b.t.Context(), id)
	b.ok(err)
	rows.Events, err = b.store.Matches.EventsAfter(b.t.Context(), id, 0, 1000)
	b.ok(err)
	rows.Erased, err = b.store.Matches.ErasedTexts(b.t.Context(), id)
	b.ok(err)
	file, payload = b.signed(rows)
	return rows, file, payload
}

// signed returns the file of a record and the payload of its signature.
func (b *bench) signed(rows record.Rows) (file, payload []byte) {
	b.t.Helper()
	made, err := record.New("https://arena.example", rows)
	b.ok(err)
	signed, err := record.Sign(made, func(data []byte) (record.Signature, error) {
		payload = data
		return record.Signature{Alg: "none"}, nil
	})
	b.ok(err)
	file, err = strictjson.CanonicalOf(signed)
	b.ok(err)
	return file, payload
}

// The record of a match that was played verifies. Erasing an agent's texts from
// the storage, before or after its log is packed, leaves the signed part of the
// record as it was, and nothing of the texts.
func TestEngine_record_after_erasure(t *testing.T) {
	t.Parallel()
	b := newBench(t, right, wrong)
	n := b.node("n1")
	m, e := b.due("m_1")
	_, err := n.Create(t.Context(), m, e)
	b.ok(err)
	b.over("m_1")
	rows, file, signed := b.record("m_1")
	verify := func(file []byte) record.Record {
		t.Helper()
		r, err := record.Verify(file, func(payload []byte, _ record.Signature) error {
			if !bytes.Equal(payload, signed) {
				t.Errorf("the signed part changed:\n%s\n%s", signed, payload)
			}
			return nil
		})
		b.ok(err)
		return r
	}
	if r := verify(file); r.Format != record.Format || r.Match.Seed != "7" || r.Match.SeedSalt != seedSalt || r.Match.RulesVersion != arena.RulesVersion {
		t.Errorf("%+v", r)
	}
	for i, packed := range []bool{false, true} {
		if packed {
			archived, err := b.store.Matches.ArchiveMatches(t.Context(), time.Now().Add(time.Hour), 10)
			if b.ok(err); archived != 1 {
				t.Fatalf("%d logs packed", archived)
			}
			rows, _, _ = b.record("m_1")
		}
		erasure, err := record.NewErasure(rows, agentID(i))
		b.ok(err)
		b.ok(b.store.Matches.EraseTexts(t.Context(), erasure))
		if rows, file, _ = b.record("m_1"); bytes.Contains(file, []byte(`"text":"`+agentID(i)+`"`)) {
			t.Errorf("the name of agent %d is left: %s", i, file)
		}
		if r := verify(file); r.Erased[agentID(i)] < 10 {
			t.Errorf("packed %v: erased %v", packed, r.Erased)
		}
	}
	for _, text := range []string{`"salt":`, `"text":`} {
		if bytes.Contains(file, []byte(text)) {
			t.Errorf("%s is left: %s", text, file)
		}
	}
}
