// Package vitals says how well an arena runs: facts with a level, as one node
// sees them. The admin page puts them into words, the metrics have the same
// figures.
package vitals
