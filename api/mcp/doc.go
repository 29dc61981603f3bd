// Package mcp serves the Model Context Protocol at /mcp over streamable HTTP: the
// arena as tools and resources for language models.
//
// It owns the registry of tools, their schemas and texts, and which tokens get
// which of them. The server is stateless: each request stands for itself, holds
// the token, and may reach any node, so there are no sessions to keep or to
// bound. A tool performs an operation of the API or of an agent's tasks; outcomes,
// limits, visibility and audit entries are theirs.
//
// It leaves the identification of callers, the reading of bodies and problem
// documents to api, tasks to protocol/aap/pull, and the messages of the
// protocol to its library. Only api imports it.
package mcp
