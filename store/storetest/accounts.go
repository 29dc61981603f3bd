package storetest

import (
	"context"
	"crypto/sha256"
	"fmt"
	"sync"
	"time"

	"github.com/agora-arena/arena/arena"
)

func createOwner(f *fixture) {
	ctx := f.t.Context()
	o := f.owner("Kim")
	f.equal(o, must(f.Owner(ctx, o.ID))(f))
	f.equal([]arena.Token{token("to_Kim", o.ID)}, must(f.Tokens(ctx, o.ID))(f))

	f.ok(f.CreateOwner(ctx, arena.Owner{ID: "ow_2", Name: "Kim", CreatedAt: start}, token("to_2", "ow_2")))
	// A token that cannot be stored leaves no owner behind.
	f.fails(arena.CodeConflict, f.CreateOwner(ctx, arena.Owner{ID: "ow_3", Name: "Lee", CreatedAt: start}, token("to_Kim", "ow_3")))
	_, err := f.Owner(ctx, "ow_3")
	f.fails(arena.CodeNotFound, err)
}

// Threat A1: issuer and subject together are one person, and one alone nobody.
func identities(f *fixture) {
	ctx := f.t.Context()
	_, err := f.OwnerOf(ctx, "https://a.example", "1")
	f.fails(arena.CodeNotFound, err)

	kim := arena.Owner{ID: "ow_kim", Name: "Kim", CreatedAt: start}
	f.equal("ow_kim", must(f.AdoptOwner(ctx, kim, "https://a.example", "1"))(f))
	f.equal(kim, must(f.Owner(ctx, "ow_kim"))(f))
	lee := arena.Owner{ID: "ow_lee", Name: "Lee", CreatedAt: start}
	f.equal("ow_kim", must(f.AdoptOwner(ctx, lee, "https://a.example", "1"))(f))
	_, err = f.Owner(ctx, "ow_lee") // the loser leaves nothing behind
	f.fails(arena.CodeNotFound, err)
	f.equal("ow_lee", must(f.AdoptOwner(ctx, lee, "https://b.example", "1"))(f))
	f.equal("ow_kim", must(f.OwnerOf(ctx, "https://a.example", "1"))(f))
	f.equal("ow_lee", must(f.OwnerOf(ctx, "https://b.example", "1"))(f))
	for _, other := range []string{"", "2", "1 ", "A"} {
		_, err = f.OwnerOf(ctx, "https://a.example", other)
		f.fails(arena.CodeNotFound, err)
	}
}

func tokens(f *fixture) {
	ctx := f.t.Context()
	f.owner("a")
	f.owner("b")
	second := token("to_second", "ow_a")
	f.ok(f.CreateToken(ctx, second))
	f.fails(arena.CodeConflict, f.CreateToken(ctx, second))
	f.fails(arena.CodeNotFound, f.CreateToken(ctx, token("to_nobody", "ow_nobody")))

	admin := token("to_admin", "")
	admin.Scope = arena.ScopeAdmin
	f.ok(f.CreateToken(ctx, admin))
	f.equal([]arena.Token{admin}, must(f.AdminTokens(ctx))(f))
	f.equal([]arena.Token{token("to_a", "ow_a"), second}, must(f.Tokens(ctx, "ow_a"))(f))

	// Threat A1: the owner is part of the question.
	f.fails(arena.CodeNotFound, f.RevokeToken(ctx, "ow_b", second.ID))
	f.fails(arena.CodeNotFound, f.RevokeToken(ctx, "", second.ID))
	f.fails(arena.CodeNotFound, f.RevokeToken(ctx, "ow_a", admin.ID))
	f.ok(f.RevokeToken(ctx, "ow_a", second.ID))
	f.fails(arena.CodeNotFound, f.RevokeToken(ctx, "ow_a", second.ID))
	f.equal([]arena.Token{token("to_a", "ow_a")}, must(f.Tokens(ctx, "ow_a"))(f))
	_, err := f.TokenByHash(ctx, second.Hash)
	f.fails(arena.CodeNotFound, err)

	f.ok(f.RevokeToken(ctx, "", admin.ID))
	f.equal(0, len(must(f.AdminTokens(ctx))(f)))
}

func tokenByHash(f *fixture) {
	ctx := f.t.Context()
	f.owner("a")
	want := token("to_a", "ow_a")
	_, err := f.TokenByHash(ctx, sha256.Sum256([]byte("other")))
	f.fails(arena.CodeNotFound, err)

	want.LastUsedAt = start
	f.equal(want, must(f.TokenByHash(ctx, want.Hash))(f))
	f.clock.advance(59 * time.Second)
	f.equal(want, must(f.TokenByHash(ctx, want.Hash))(f))
	f.equal([]arena.Token{want}, must(f.Tokens(ctx, "ow_a"))(f))
	f.clock.advance(time.Second)
	want.LastUsedAt = start.Add(time.Minute)
	f.equal(want, must(f.TokenByHash(ctx, want.Hash))(f))
	f.equal([]arena.Token{want}, must(f.Tokens(ctx, "ow_a"))(f))
}

func key(kid string, at time.Time) arena.SigningKey {
	return arena.SigningKey{KID: kid, Alg: "ES256", Private: []byte{0, 1, 255}, CreatedAt: at, SignsFrom: at.Add(time.Minute)}
}

func signingKeys(f *fixture) {
	ctx := f.t.Context()
	older, newer := key("older", start), key("newer", start.Add(time.Hour))
	f.equal(0, len(must(f.SigningKeys(ctx))(f)))
	f.ok(f.AddSigningKey(ctx, older, nil))
	f.ok(f.AddSigningKey(ctx, newer, map[string]time.Time{"older": start.Add(2 * time.Hour)}))
	older.ExpiresAt = start.Add(2 * time.Hour)
	f.equal([]arena.SigningKey{older, newer}, must(f.SigningKeys(ctx))(f))

	f.fails(arena.CodeConflict, f.AddSigningKey(ctx, newer, nil))
	f.fails(arena.CodeNotFound, f.AddSigningKey(ctx, key("third", start), map[string]time.Time{"none": start}))
	f.equal(2, len(must(f.SigningKeys(ctx))(f)))
}

func firstSigningKey(f *fixture) {
	ctx := f.t.Context()
	nodes := []interface {
		FirstSigningKey(context.Context, arena.SigningKey) ([]arena.SigningKey, error)
	}{f, f.another()}
	var wg sync.WaitGroup
	got := make([][]arena.SigningKey, 8)
	errs := make([]error, len(got))
	for i := range got {
		wg.Go(func() {
			k := key(fmt.Sprintf("k%d", i), start)
			got[i], errs[i] = nodes[i%2].FirstSigningKey(ctx, k)
		})
	}
	wg.Wait()
	for i := range got {
		f.ok(errs[i])
		f.equal(1, len(got[i]))
		f.equal(got[0], got[i])
	}
}
