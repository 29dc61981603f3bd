package strictjson_test

import (
	"testing"

	"github.com/agora-arena/arena/arena/strictjson"
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
