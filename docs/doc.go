// Package docs holds what is written about the arena. It owns the test that
// every row of the threat table names tests that exist; that the other pages
// say what the program does is tested where that is made. It holds no code and
// nobody imports it.
package docs
