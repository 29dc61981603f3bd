package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/internal/apiclient"
	"github.com/agora-arena/arena/internal/plaintext"
	"github.com/agora-arena/arena/internal/strictjson"
	"github.com/agora-arena/arena/internal/token"
	"github.com/agora-arena/arena/league/game"
	"github.com/agora-arena/arena/league/game/catalog"
	"github.com/agora-arena/arena/record"
	"github.com/agora-arena/arena/server"
)

// VerifyCmd is `arena verify`.
type VerifyCmd struct {
	Files []string `arg:"" name:"file" placeholder:"FILE" help:"The answer of GET /v1/matches/{id}/record; - for standard input. With --board, the files of arena export too."`
	Board bool     `help:"Compute the table of a league again from its exported files, and compare."`
	JWKS  string   `name:"jwks" placeholder:"URL|FILE" help:"The arena's key set, or where it is: …/.well-known/jwks.json."`
	Game  string   `placeholder:"URL|FILE" help:"The source of an uploaded game, or where it is: …/v1/games/NAME?sha256=HASH."`
}

// Help describes what is checked.
func (c *VerifyCmd) Help() string {
	return `Checks the signed record of a match without asking the arena: the canonical form,
the hash chain over the log, every commitment, the receipts against the log,
the points against the verdicts, the rating changes against each other, and the
signature. Games are played again from the seed and the answers, and every move,
position and point is compared. Names the first place that is wrong and exits
with 1. Lists texts that were erased.

    curl -s $A/v1/matches/m_…/record > match.json
    curl -s $A/.well-known/jwks.json > keys.json
    arena verify match.json --jwks keys.json

Take the keys from where you trust the arena, never from who gave you the record.
The record of an uploaded game has the hash of its source and not the source itself:

    arena verify match.json --jwks keys.json --game nim.js

With --board, computes places, settlements, ratings and the refit of a league again
from matches.jsonl, answers.jsonl and ratings.jsonl of arena export, compares them
with standings.json and with the signed records among the files, and prints the table:

    arena export trivia --url $A
    arena verify --board trivia/*.json* match.json --jwks keys.json`
}

// The most that is read of a file or of a key set.
const (
	maxRecordFile = 256 << 20
	maxKeySet     = 1 << 20
	maxGameFile   = 2 << 20 // as JSON, a source may have twice its size
)

// Run checks and prints.
func (c *VerifyCmd) Run(app *App) error {
	var keys []byte
	var err error
	if c.JWKS != "" {
		if keys, err = readFrom(app.Ctx, "--jwks", c.JWKS, maxKeySet); err != nil {
			return err
		}
	}
	source := ""
	if c.Game != "" {
		if source, err = c.source(app.Ctx); err != nil {
			return err
		}
	}
	if c.Board {
		return c.board(app, keys, source)
	}
	for _, file := range c.Files {
		r, signature, replayed, err := c.record(app, file, keys, source)
		if err != nil {
			return err
		}
		if _, err := io.WriteString(app.Stdout, goodLines(r, signature, replayed)); err != nil {
			return err
		}
	}
	return nil
}

// record verifies the record of a file.
func (c *VerifyCmd) record(app *App, file string, keys []byte, source string) (r record.Record, signature record.Signature, replayed int, err error) {
	data, err := c.read(app, file)
	if err != nil {
		return r, signature, 0, err
	}
	r, err = record.Verify(data, func(payload []byte, s record.Signature) error {
		if signature = s; keys == nil {
			return errors.New("everything else is good, but the signature was not checked: give the arena's keys with --jwks")
		}
		return token.VerifyRecord(keys, payload, s)
	}, func(r record.Record) (err error) {
		replayed, err = c.replay(app, r, source)
		return err
	})
	if err == nil && r.Match.ScriptSHA256 != "" && c.Game == "" {
		err = fmt.Errorf("everything else is good, but the game %s was not played again: give its source with --game; it is at %s/v1/games/%[1]s?sha256=%[3]s",
			plaintext.Terminal(r.Match.Game), plaintext.Terminal(r.Arena), plaintext.Terminal(r.Match.ScriptSHA256))
	}
	if err != nil {
		err = fmt.Errorf("%s: %w", file, err)
	}
	return r, signature, replayed, err
}

// goodLines describes a good record. Whoever signed it has chosen its texts.
func goodLines(r record.Record, s record.Signature, replayed int) string {
	lines := []string{
		fmt.Sprintf("good: match %s of %s in league %s, finished %s", r.Match.MatchID, r.Arena, r.Match.League, r.Match.FinishedAt),
		fmt.Sprintf("%d rounds, %d seats, %d events; signed with key %s (%s)", len(r.Rounds), len(r.Seats), len(r.Log), s.KID, s.Alg),
	}
	switch {
	case r.Match.Series == nil: // it asked questions
	case replayed < len(r.Rounds):
		lines = append(lines, fmt.Sprintf("%s: played %d rounds again; answers of round %d were erased", r.Match.Game, replayed, replayed+1))
	default:
		lines = append(lines, r.Match.Game+": played all games again, every move and point is right")
	}
	for _, agent := range slices.Sorted(maps.Keys(r.Erased)) {
		whose := "of agent " + agent
		if agent == "" {
			whose = "of more than one agent"
		}
		lines = append(lines, fmt.Sprintf("erased: %d texts %s", r.Erased[agent], whose))
	}
	for i, line := range lines {
		lines[i] = plaintext.Terminal(line)
	}
	return strings.Join(lines, "\n  ") + "\n"
}

// replay replays the games of a record and returns the number of rounds. source is
// the source of an uploaded game; without it, such games are skipped.
func (c *VerifyCmd) replay(app *App, r record.Record, source string) (rounds int, err error) {
	hash := catalog.Hash(source)
	switch {
	case r.Match.Series == nil, r.Match.ScriptSHA256 != "" && c.Game == "":
		return 0, nil
	case r.Match.ScriptSHA256 != "" && r.Match.ScriptSHA256 != hash:
		return 0, &record.FaultError{Pointer: "/record/match/script_sha256", Reason: fmt.Sprintf("is %q; the source that --game names has %s", r.Match.ScriptSHA256, hash)}
	}
	pool, err := server.NewScripts(slog.New(slog.DiscardHandler), nil)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, pool.Close()) }()
	games, err := catalog.New(pool, gameFile{source, hash})
	if err != nil {
		return 0, err
	}
	return game.Verify(app.Ctx, games, r)
}

// gameFile is the only uploaded game of a catalog.
type gameFile struct{ source, hash string }

// GameScript returns the game.
func (g gameFile) GameScript(_ context.Context, name, hash string) (arena.GameScript, error) {
	if hash != g.hash {
		return arena.GameScript{}, arena.Errorf(arena.CodeNotFound, "the only game here is the one of --game")
	}
	return arena.GameScript{Name: name, SHA256: hash, Source: g.source}, nil
}

// GameScripts returns none: the record names the game.
func (gameFile) GameScripts(context.Context) ([]arena.GameScript, error) { return nil, nil }

// source returns the source that --game names. The arena returns it as a member of
// an object.
func (c *VerifyCmd) source(ctx context.Context) (string, error) {
	data, err := readFrom(ctx, "--game", c.Game, maxGameFile)
	if err != nil {
		return "", err
	}
	var answer struct {
		Source string `json:"source"`
	}
	if err := strictjson.UnmarshalOpen(data, &answer, "source"); err == nil && answer.Source != "" {
		return answer.Source, nil
	}
	return string(data), nil
}

func (c *VerifyCmd) read(app *App, file string) ([]byte, error) {
	in := app.Stdin
	if file != "-" {
		f, err := os.Open(file) //nolint:gosec // G304: who calls names the file
		if err != nil {
			return nil, fmt.Errorf("read the record: %w", err)
		}
		defer f.Close() //nolint:errcheck // only read from
		in = f
	}
	return readAtMost(in, "the record", maxRecordFile)
}

// readFrom reads a file, or an address, that a flag names.
func readFrom(ctx context.Context, flag, where string, most int64) ([]byte, error) {
	if !strings.HasPrefix(where, "http://") && !strings.HasPrefix(where, "https://") {
		data, err := os.ReadFile(where) //nolint:gosec // G304: who calls names the file
		if err != nil {
			return nil, fmt.Errorf("%s: %w", flag, err)
		}
		return data, nil
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, where, nil)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", flag, err)
	}
	resp, err := apiclient.New(where, "").HTTP.Do(req)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", flag, err)
	}
	defer resp.Body.Close() //nolint:errcheck // only read from
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s: %s answered %s", flag, where, resp.Status)
	}
	return readAtMost(resp.Body, flag, most)
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
