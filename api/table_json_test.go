package api

import (
	"bytes"
	"reflect"
	"testing"
	"time"

	"github.com/agora-arena/arena/arena"
)

// TestStandingsView_appendJSON: what is written by hand is what encoding/json
// writes, with each member there and with each one absent.
func TestStandingsView_appendJSON(t *testing.T) {
	t.Parallel()
	full := standingView{Recent: []arena.MilliElo{1_500_000, -5, 0}}
	set(t, reflect.ValueOf(&full).Elem())
	odd := full
	odd.Name, odd.OwnerName, odd.Version = "é\u2028<b>&\"\\\x01\x7f", "\xff", "plain <&>"
	odd.Fit = &fitView{Rating: -1}
	table := standingsView{Items: []standingView{full, {Recent: []arena.MilliElo{}}, odd}}
	set(t, reflect.ValueOf(&table).Elem())
	for name, v := range map[string]standingsView{"full": table, "empty": {Items: []standingView{}}} {
		var want, got bytes.Buffer
		if err := encodeJSON(&want, v); err != nil {
			t.Fatal(err)
		}
		if err := writeJSON(&got, v); err != nil {
			t.Fatal(err)
		}
		if want.String() != got.String() {
			t.Errorf("%s:\nwant %s got %s", name, &want, &got)
		}
	}
}

// set returns every member that is zero a value, so that a new one is not
// forgotten.
func set(t *testing.T, v reflect.Value) {
	t.Helper()
	for i := range v.NumField() {
		f := v.Field(i)
		if !f.IsZero() {
			continue
		}
		switch f.Interface().(type) {
		case *jsonTime:
			at := jsonTime(time.Date(2020, 1, 2, 3, 4, 5, 6_000_000, time.UTC))
			f.Set(reflect.ValueOf(&at))
			continue
		case *[2]int:
			f.Set(reflect.ValueOf(&[2]int{3, 7}))
			continue
		case []arena.FitPair:
			f.Set(reflect.ValueOf([]arena.FitPair{{Better: "ag_b", Worse: "ag_a"}}))
			continue
		case [][3]string:
			f.Set(reflect.ValueOf([][3]string{{"ag_a", "ag_b", "ag_c"}}))
			continue
		case *fitView, *gameTallyView, *firstMoversView, *firstMoverView, *tiersView, *arena.MilliElo:
			f.Set(reflect.New(f.Type().Elem()))
			f = f.Elem()
		}
		switch f.Kind() {
		case reflect.Struct:
			set(t, f)
		case reflect.String:
			f.SetString("word")
		case reflect.Bool:
			f.SetBool(true)
		case reflect.Float64:
			f.SetFloat(0.125)
		case reflect.Int, reflect.Int64:
			f.SetInt(1_234_500 + int64(i))
		default:
			t.Fatalf("no value for a member of type %s", f.Type())
		}
	}
}
