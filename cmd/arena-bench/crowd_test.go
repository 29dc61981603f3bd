package main

import (
	"encoding/binary"
	"fmt"
	"testing"

	"pgregory.net/rapid"
)

// However the bytes of a stream are cut, the crowd sees every event once, and
// sees what is missing.
func TestViewer_Take(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var stream []byte
		events, wrong, seq := int64(0), int64(0), int64(0)
		for range rapid.IntRange(1, 20).Draw(t, "frames") {
			text := `{"type":"viewers","count":3}`
			for line := range rapid.IntRange(0, 3).Draw(t, "lines") {
				if line == 0 {
					text = ""
				} else {
					text += "\n"
				}
				step := rapid.SampledFrom([]int64{1, 1, 1, 1, 2, 0}).Draw(t, "step")
				if seq > 0 && step != 1 {
					wrong++
				}
				if seq += step; seq == 0 {
					seq = 1
				}
				events++
				text += fmt.Sprintf(`{"seq":%d,"type":"thinking","sent":1790000000000000000}`, seq)
			}
			if len(text) < 126 {
				stream = append(stream, 0x81, byte(len(text)))
			} else {
				stream = binary.BigEndian.AppendUint16(append(stream, 0x81, 126), uint16(len(text)))
			}
			stream = append(stream, text...)
		}
		v := &viewer{audience: &audience{}}
		for len(stream) > 0 {
			n := rapid.IntRange(1, len(stream)).Draw(t, "cut")
			v.take(stream[:n])
			stream = stream[n:]
		}
		r := v.audience.report()
		if r.Events != events || r.Wrong != wrong || v.seq.Load() != seq && events > 0 {
			t.Fatalf("%d events, %d out of order, the last %d; want %d, %d, %d", r.Events, r.Wrong, v.seq.Load(), events, wrong, seq)
		}
		if events > 0 && r.Delay.P50 <= 0 {
			t.Fatalf("delay %+v", r.Delay)
		}
	})
}

func TestHistogram(t *testing.T) {
	t.Parallel()
	var h histogram
	for ms := range int64(1000) {
		h.add((ms+1)*1_000_000, 1)
	}
	got := h.take()
	for name, pair := range map[string][2]float64{"p50": {got.P50, 500}, "p99": {got.P99, 990}, "worst": {got.Worst, 1000}} {
		if off := pair[0] / pair[1]; off < 0.96 || off > 1.04 {
			t.Errorf("%s is %.1f ms, want %.1f", name, pair[0], pair[1])
		}
	}
	if got := h.take(); got != (spread{}) {
		t.Errorf("a second look gives %+v", got)
	}
}
