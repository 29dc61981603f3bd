package main

import "testing"

func TestGarbagePercent(t *testing.T) {
	t.Parallel()
	for live, want := range map[uint64]int{
		0: 1600, 1 << 20: 1600, 4 << 20: 800, 16 << 20: 200, 31 << 20: 103, 32 << 20: 100, 1 << 40: 100,
	} {
		if got := garbagePercent(live); got != want {
			t.Errorf("with %d live bytes %d, want %d", live, got, want)
		}
	}
}
