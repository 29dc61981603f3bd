// Package api is HTTP in, HTTP out: the routes of the public contract, their
// shapes, who may call them and how often. It is the only package that imports
// Gin (the router) and Huma (validation and OpenAPI 3.1 from typed handlers).
//
// It owns the table of routes, bearer headers and scopes (routes.go), the one
// place where errors become problem documents (problem.go), and the wire shapes,
// the types that end in View beside the handlers that return them; those that
// several resources share are in agent_view.go, league_view.go and match_view.go.
// It leaves accounts to account, agents to registry, quotas to
// internal/quota, rows to store, the rules of settings and packs to league, live
// events to stream and the page to web. New receives each as a small interface or
// function and returns an error if one is missing.
//
// The routes of one resource share a handler type with the few parts they use
// (accountHandlers, agentHandlers …; newResources builds them): a handler
// decodes, calls its service, which stores audit entries with what they record,
// and encodes. Operations that change no rows are mounted with handleRecorded.
// API itself routes, authenticates, limits and writes problems.
//
// Only server imports it. It imports arena, api/mcp, internal/quota, visibility
// and pure packages.
package api
