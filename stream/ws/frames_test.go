package ws

import "testing"

func TestFrames_Unfinished(t *testing.T) {
	t.Parallel()
	var b []byte
	ends := map[int]int{} // offset of each byte -> end of its frame
	for _, size := range []int{0, 1, 125, 126, 65535, 65536, 3} {
		from := len(b)
		b = append(appendFrameHeader(b, frameText, size), make([]byte, size)...)
		for i := from + 1; i <= len(b); i++ {
			ends[i] = len(b)
		}
	}
	for n := range len(b) + 1 {
		if n > 300 && n%97 != 0 && n < len(b)-20 {
			continue
		}
		want := 0
		if n > 0 {
			want = ends[n] - n
		}
		if got := len(unfinished(b, n)); got != want {
			t.Fatalf("after %d bytes %d are missing, want %d", n, got, want)
		}
	}
}
