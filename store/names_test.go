package store_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/store"
)

// Agents that had one name before names were unique keep it, and no other agent
// gets it. The first token of the setting is still the configured one.
func TestMigrate_SharedNames(t *testing.T) {
	t.Parallel()
	for engine, database := range engines() {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			ctx := t.Context()
			s := openPlain(t, database(t, true))
			migrateTo(t, s, engine, 15)
			loadSQL(t, s, engine, "testdata/schema_1.sql")
			for _, statement := range []string{
				`UPDATE agents SET name = 'ANT', name_key = 'ant' WHERE id = 'ag_2'`,
				`UPDATE tokens SET name = 'ARENA_ADMIN_TOKEN' WHERE owner_id IS NULL`,
			} {
				_, err := s.Writer().ExecContext(ctx, statement)
				check(t, err)
			}
			check(t, s.Migrate(ctx))
			if g, err := s.Agent(ctx, "ag_2"); err != nil || g.Name != "ANT" {
				t.Errorf("%+v, %v", g, err)
			}
			if tokens, err := s.AdminTokens(ctx); err != nil || len(tokens) == 0 || !tokens[0].Configured {
				t.Errorf("%+v, %v", tokens, err)
			}
			third := arena.Agent{ID: "ag_9", OwnerID: "ow_2", Name: "Аnt", Protocol: "aap", CreatedAt: time.UnixMilli(1)} // Cyrillic
			if err := s.CreateAgent(ctx, third); arena.CodeOf(err) != arena.CodeNameTaken {
				t.Errorf("a third agent of the name: %v", err)
			}
			update := func(id string, change func(*arena.Agent)) {
				t.Helper()
				_, _, err := s.UpdateAgent(ctx, id, func(g *arena.Agent) error { change(g); return nil })
				check(t, err)
			}
			update("ag_2", func(g *arena.Agent) { g.Version = "7" }) // it plays on under its name
			update("ag_1", func(g *arena.Agent) { g.Name = "Anthony" })
			check(t, s.Migrate(ctx)) // as at the next start: the name is now the second's
			if err := s.CreateAgent(ctx, third); arena.CodeOf(err) != arena.CodeNameTaken {
				t.Errorf("a third agent of the name: %v", err)
			}
			update("ag_2", func(g *arena.Agent) { g.Name = "Bee" })
			check(t, s.CreateAgent(ctx, third))
		})
	}
}

// Nodes that start together on a database of before claim each name once.
func TestMigrate_NamesTogether(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	url := postgres.get(t).EmptyDatabase(t)
	s := openPlain(t, url)
	migrateTo(t, s, "Postgres", 15)
	loadSQL(t, s, "Postgres", "testdata/schema_1.sql")
	check(t, s.Migrate(ctx))
	for i := range 50 {
		check(t, s.CreateAgent(ctx, arena.Agent{
			ID: fmt.Sprintf("ag_1%02d", i), OwnerID: "ow_2", Name: fmt.Sprintf("Agent %d", i), Protocol: "aap", CreatedAt: time.UnixMilli(int64(i)),
		}))
	}
	nodes := make([]*store.Store, 3)
	for i := range nodes {
		nodes[i] = openPlain(t, url)
		check(t, nodes[i].ClaimNames(ctx)) // it is connected
	}
	_, err := s.Writer().ExecContext(ctx, `DELETE FROM agent_names WHERE agent_id LIKE 'ag_1__'`)
	check(t, err)
	errs := make([]error, len(nodes))
	var wg sync.WaitGroup
	for i, node := range nodes {
		wg.Go(func() { errs[i] = node.ClaimNames(ctx) }) // as the end of Migrate does
	}
	wg.Wait()
	check(t, errors.Join(errs...))
	var claimed int
	check(t, s.Reader().QueryRowContext(ctx, `SELECT count(DISTINCT agent_id) FROM agent_names WHERE agent_id LIKE 'ag_1__'`).Scan(&claimed))
	if claimed != 50 {
		t.Errorf("%d of 50 agents have claimed their names", claimed)
	}
}
