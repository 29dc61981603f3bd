// Package vitals reports the health of an arena as facts with a level, as one node
// sees them. The admin page shows them as text, the metrics have the same figures.
package vitals
