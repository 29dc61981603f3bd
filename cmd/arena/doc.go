// Command arena is Agora Arena in one binary: the server, a self-contained demo,
// and the operators' tools.
//
// It is the only package that may import all others. It owns the table of
// commands, the settings (defaults, file, environment, flags), the order in
// which the parts are created and closed, and the schedule of the periodic jobs.
// The packages that it connects make all decisions about matches, agents and
// leagues. They declare their dependencies as interfaces.
//
// Nothing imports it.
package main
