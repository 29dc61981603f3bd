// Command arena is the whole of Agora Arena in one binary: the server, a demo
// that needs nothing else, and the tools of its operators.
//
// It is the only room that knows every other one. It owns the table of
// commands, the settings (defaults, file, environment, flags), the order in
// which the parts are built and closed, and the clock of the periodic jobs.
// It leaves every decision about matches, agents and leagues to the rooms
// that it joins; they declare what they need, and this room hands it in.
//
// Nothing imports it.
package main
