//go:build unix

package e2e

import (
	"net/http"
	"net/url"
	"testing"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/internal/apiclient"
	"github.com/agora-arena/arena/store/storetest"
)

// The tokens of an owner that one node deletes are rejected by the other node at
// once, which has just accepted them. Without Redis the nodes share the database only.
func deletedOwner(t *testing.T, server *storetest.Server) {
	t.Helper()
	c := newCluster(t, server, 2, "ARENA_REDIS_URL=")
	one, two := c.node(0), c.node(1)
	agent := one.puller("Ada")
	var me struct {
		ID   string `json:"owner_id"`
		Name string `json:"name"`
	}
	other := apiclient.New(two.url, "")
	tokens := map[string]*apiclient.Client{"/v1/me": other.As(agent.owner.Token), "/v1/agents/" + agent.id + "/tasks?wait=0": other.As(agent.key)}
	two.call(tokens["/v1/me"], http.MethodGet, "/v1/me", nil, &me)
	for path, token := range tokens {
		two.call(token, http.MethodGet, path, nil, nil)
	}
	one.call(one.admin, http.MethodDelete, "/v1/admin/owners/"+me.ID+"?confirm="+url.QueryEscape(me.Name), nil, nil)
	for path, token := range tokens {
		two.refused(token, http.MethodGet, path, nil, http.StatusUnauthorized, string(arena.CodeUnauthorized))
	}
}
