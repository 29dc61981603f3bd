package storetest

import (
	"encoding/json"
	"errors"
	"slices"

	"github.com/agora-arena/arena/arena"
)

// auditedWrites: an audit entry is stored with the change that it records, or
// neither is.
func auditedWrites(f *fixture) {
	ctx := f.t.Context()
	entry := func(action string) arena.AuditEntry {
		return arena.AuditEntry{At: start, Actor: "admin", Action: action}
	}
	logged := func(want ...string) {
		f.t.Helper()
		entries, _, err := f.AuditLog(ctx, arena.AuditFilter{}, arena.Page{Limit: 100})
		f.ok(err)
		var got []string
		for _, e := range entries {
			got = append(got, e.Action)
		}
		slices.Sort(got)
		slices.Sort(want)
		f.equal(want, got)
	}
	kim := arena.Owner{ID: "ow_kim", Name: "Kim", CreatedAt: start}
	f.ok(f.CreateOwner(ctx, kim, token("to_1", "ow_kim"), entry("sign-up")))
	f.fails(arena.CodeConflict, f.CreateOwner(ctx, kim, token("to_2", "ow_kim"), entry("sign-up again")))
	f.ok(f.CreateToken(ctx, token("to_2", "ow_kim"), entry("create-token")))
	f.fails(arena.CodeConflict, f.CreateToken(ctx, token("to_2", "ow_kim"), entry("create-token again")))
	f.ok(f.RevokeToken(ctx, "ow_kim", "to_2", entry("revoke-token")))
	f.fails(arena.CodeNotFound, f.RevokeToken(ctx, "ow_kim", "to_2", entry("revoke-token again")))
	logged("sign-up", "create-token", "revoke-token")

	ant := arena.Agent{ID: "ag_ant", OwnerID: "ow_kim", Name: "ant", Protocol: arena.ProtocolAAP, CreatedAt: start}
	f.ok(f.CreateAgent(ctx, ant, entry("create-agent")))
	f.fails(arena.CodeNameTaken, f.CreateAgent(ctx, arena.Agent{ID: "ag_2", OwnerID: "ow_kim", Name: "Ant", Protocol: arena.ProtocolAAP, CreatedAt: start}, entry("create-agent again")))
	rename := func(g *arena.Agent) error { g.Name = "bee"; return nil }
	names := func(before, after arena.Agent) (arena.AuditEntry, error) {
		e := entry("update-agent")
		e.Before, e.After = json.RawMessage(`"`+before.Name+`"`), json.RawMessage(`"`+after.Name+`"`)
		return e, nil
	}
	_, _, err := f.UpdateAgent(ctx, "ag_ant", rename, func(arena.Agent, arena.Agent) (arena.AuditEntry, error) {
		return arena.AuditEntry{}, errors.New("does not encode")
	})
	f.equal(true, err != nil)
	f.equal("ant", must(f.Agent(ctx, "ag_ant"))(f).Name)
	_, _, err = f.UpdateAgent(ctx, "ag_ant", rename, names)
	f.ok(err)
	logged("sign-up", "create-token", "revoke-token", "create-agent", "update-agent")
	entries, _, err := f.AuditLog(ctx, arena.AuditFilter{Find: "update-agent"}, arena.Page{Limit: 1})
	f.ok(err)
	f.equal(`"ant" "bee"`, string(entries[0].Before)+" "+string(entries[0].After))
}
