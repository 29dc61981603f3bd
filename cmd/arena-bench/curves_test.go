package main

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"
	"time"
)

// A picture is well-formed, and has each line with its last value.
func TestCurve_draw(t *testing.T) {
	t.Parallel()
	v := curve{title: "A & B", x: "agents", y: "KB", loads: []int{10, 100, 10_000}, lines: []string{"arena", "bare <server>"}}
	picture := v.draw([][]float64{{3, 5, 7}, {20, 30, 41.5}}, time.Unix(0, 0))
	for d := xml.NewDecoder(bytes.NewReader(picture)); ; {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatalf("%v\n%s", err, picture)
		}
	}
	for _, want := range []string{">A &amp; B<", ">10,000<", ">arena: 7<", ">bare &lt;server&gt;: 41.5<", ">50<"} {
		if !strings.Contains(string(picture), want) {
			t.Errorf("%q is missing in\n%s", want, picture)
		}
	}
}

func TestTickStep(t *testing.T) {
	t.Parallel()
	for most, want := range map[float64]float64{0.9: 0.2, 6: 1, 7: 2, 41.5: 10, 560: 100} {
		if got := tickStep(most); got != want {
			t.Errorf("up to %g: steps of %g, want %g", most, got, want)
		}
	}
}
