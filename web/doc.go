// Package web holds the page that people watch and serves it.
//
// It owns the single-page app (TypeScript and Svelte in src/, built by Vite
// into dist/, which is never committed) and the HTTP handler that serves the
// built files from inside the binary. It leaves the API, the stream and the
// security headers of a whole response to others: the app talks to them as
// any other client does, over the public contract.
//
// It imports the standard library only; server mounts its handler.
package web
