// Package testneed decides whether a test may do without a program that the machine
// lacks: it owns the meaning of ARENA_TEST_REQUIRE, and imports the standard library
// alone. It leaves how a program is found and started to the packages that run it.
package testneed
