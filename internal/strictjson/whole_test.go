package strictjson_test

import (
	"strings"
	"testing"

	"github.com/agora-arena/arena/internal/strictjson"
)

func TestWhole(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]strictjson.Whole{
		"150": 150, "150.0": 150, "1.5e2": 150, "1500E-1": 150, "-0": 0, "-0.0": 0, "0e9": 0, "-3.00": -3,
		"9007199254740993": 9007199254740993, "9223372036854775807": 1<<63 - 1, "9007199254740992.0": 1 << 53,
	} {
		var got struct {
			N *strictjson.Whole `json:"n"`
		}
		if err := strictjson.Unmarshal([]byte(`{"n":`+text+`}`), &got); err != nil || got.N == nil || *got.N != want {
			t.Errorf("%s: %v, %v; want %d", text, got.N, err, want)
		}
	}
	var absent struct {
		N *strictjson.Whole `json:"n"`
		M strictjson.Whole  `json:"m"`
	}
	if err := strictjson.Unmarshal([]byte(`{"n":null,"m":null}`), &absent); err != nil || absent.N != nil || absent.M != 0 {
		t.Errorf("null: %+v, %v", absent, err)
	}
	for _, text := range []string{"1.5", "1e-1", "9223372036854775808", "1e400", "1e300", "9007199254740994.0", `"5"`, `"5.0"`, "true", "[]", "{}", "1.", "01"} {
		var n strictjson.Whole
		if err := strictjson.Unmarshal([]byte(text), &n); err == nil {
			t.Errorf("%s was read as %d", text, n)
		}
	}
}

func TestUnmarshalWhole(t *testing.T) {
	t.Parallel()
	type body struct {
		N int            `json:"n"`
		P *int64         `json:"p"`
		F float64        `json:"f"`
		M map[string]int `json:"m"`
		S []int          `json:"s"`
	}
	var got body
	err := strictjson.UnmarshalWhole([]byte(`{"n":5.0,"p":1e1,"f":0.5,"m":{"a":2.0},"s":[1,2.0]}`), &got)
	if err != nil || got.N != 5 || *got.P != 10 || got.F != 0.5 || got.M["a"] != 2 || got.S[1] != 2 {
		t.Errorf("%+v, %v", got, err)
	}
	for text, says := range map[string]string{
		`{"n":5.5}`: `"/n" must be a whole number in range, not 5.5`, `{"p":1e300}`: `"/p" must be a whole number`,
		`{"n":"5.0"}`: "text", `{"n":5.0,"x":1}`: "unknown member", `{"n":5.0,"n":5}`: "duplicate", `{"N":5.0}`: "unknown member",
	} {
		if err := strictjson.UnmarshalWhole([]byte(text), &body{}); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v, want %s", text, err, says)
		}
	}
}
