package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/agora-arena/arena/arena/record"
	"github.com/agora-arena/arena/arena/token"
	"github.com/agora-arena/arena/league/game"
)

// VerifyCmd is `arena verify`.
type VerifyCmd struct {
	File string `arg:"" placeholder:"FILE" help:"The answer of GET /v1/matches/{id}/record; - for standard input."`
	JWKS string `name:"jwks" placeholder:"URL|FILE" help:"The arena's key set, or where it is: …/.well-known/jwks.json."`
}

// Help describes what is checked.
func (c *VerifyCmd) Help() string {
	return `Checks the signed record of a match without asking the arena: the canonical form,
the hash chain over the log, every commitment, the receipts against the answers,
the points against the verdicts, the rating changes against each other, and the
signature. Games are played again from the seed and the answers, and every move,
position and point is compared. Names the first place that is wrong and exits
with 1. Lists texts that were erased.

    curl -s $A/v1/matches/m_…/record > match.json
    curl -s $A/.well-known/jwks.json > keys.json
    arena verify match.json --jwks keys.json

Take the keys from where you trust the arena, never from who gave you the record.`
}

// The most that is read of a file or of a key set.
const (
	maxRecordFile = 256 << 20
	maxKeySet     = 1 << 20
)

// Run checks and prints.
func (c *VerifyCmd) Run(app *App) error {
	data, err := c.read(app)
	if err != nil {
		return err
	}
	var keys []byte
	if c.JWKS != "" {
		if keys, err = readKeySet(app.Ctx, c.JWKS); err != nil {
			return err
		}
	}
	var signature record.Signature
	replayed := 0
	r, err := record.Verify(data, func(payload []byte, s record.Signature) error {
		if signature = s; keys == nil {
			return errors.New("everything else is good, but the signature was not checked: give the arena's keys with --jwks")
		}
		return token.VerifyRecord(keys, payload, s)
	}, func(r record.Record) (err error) {
		replayed, err = game.Verify(app.Ctx, game.Builtin{}, r)
		return err
	})
	if err != nil {
		return fmt.Errorf("%s: %w", c.File, err)
	}
	_, err = fmt.Fprintf(app.Stdout, "good: match %s of %s in league %s, finished %s\n  %d rounds, %d seats, %d events; signed with key %s (%s)\n%s%s",
		r.Match.MatchID, r.Arena, r.Match.League, r.Match.FinishedAt, len(r.Rounds), len(r.Seats), len(r.Log), signature.KID, signature.Alg, gamesLine(r, replayed), erasedLines(r.Erased))
	return err
}

// gamesLine returns how many rounds of games were played again; "" if the match
// asked questions.
func gamesLine(r record.Record, replayed int) string {
	switch {
	case r.Match.Series == nil:
		return ""
	case replayed < len(r.Rounds):
		return fmt.Sprintf("  %s: played %d rounds again; answers of round %d were erased\n", r.Match.Game, replayed, replayed+1)
	default:
		return fmt.Sprintf("  %s: played all games again, every move and point is right\n", r.Match.Game)
	}
}

// erasedLines returns a line for each agent whose texts were erased.
func erasedLines(erased map[string]int) string {
	var b strings.Builder
	for _, agent := range slices.Sorted(maps.Keys(erased)) {
		whose := "of agent " + agent
		if agent == "" {
			whose = "of more than one agent"
		}
		fmt.Fprintf(&b, "  erased: %d texts %s\n", erased[agent], whose)
	}
	return b.String()
}

func (c *VerifyCmd) read(app *App) ([]byte, error) {
	in := app.Stdin
	if c.File != "-" {
		f, err := os.Open(c.File)
		if err != nil {
			return nil, fmt.Errorf("read the record: %w", err)
		}
		defer f.Close() //nolint:errcheck // only read from
		in = f
	}
	return readAtMost(in, "the record", maxRecordFile)
}

// readKeySet reads a file, or an address.
func readKeySet(ctx context.Context, where string) ([]byte, error) {
	if !strings.HasPrefix(where, "http://") && !strings.HasPrefix(where, "https://") {
		data, err := os.ReadFile(where) //nolint:gosec // G304: who calls names the file
		if err != nil {
			return nil, fmt.Errorf("--jwks: %w", err)
		}
		return data, nil
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, where, nil)
	if err != nil {
		return nil, fmt.Errorf("--jwks: %w", err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, fmt.Errorf("--jwks: %w", err)
	}
	defer resp.Body.Close() //nolint:errcheck // only read from
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("--jwks: %s answered %s", where, resp.Status)
	}
	return readAtMost(resp.Body, "--jwks", maxKeySet)
}

func readAtMost(r io.Reader, what string, most int64) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, most+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("%s: %w", what, err)
	case int64(len(data)) > most:
		return nil, fmt.Errorf("%s: over %d MiB", what, most>>20)
	}
	return data, nil
}
