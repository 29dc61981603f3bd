// Package api is HTTP in, HTTP out: the routes of the public contract, their
// shapes, who may call them and how often. It is the only room that knows Gin
// (the router) and Huma (validation and OpenAPI 3.1 from typed handlers).
//
// It owns the table of routes (routes.go), the one place where errors become
// problem documents (problem.go), bearer tokens and scopes (auth.go), rate
// limits (limits.go) and the wire shapes (the *_view.go files). It leaves rows
// to store, judging of settings and packs to league, the calls to agents to
// protocol, live events to stream and the page to web: New takes each as a
// small interface or function and refuses to start without one.
//
// Only arena/server imports it. It imports arena and arena/strictjson.
package api
