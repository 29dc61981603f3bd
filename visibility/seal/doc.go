// Package seal splits an event of a sealed match into what anyone may read
// now and what stays hidden until its round closes (docs/rules.md, section 5), and
// commits to the hidden part so that not even the arena can change it
// afterwards.
//
// It is pure. match/engine seals outcomes with it, stream seals agents'
// events. It keeps nothing: the hidden part travels in arena.Event.Hidden and
// is stored beside the row.
package seal
