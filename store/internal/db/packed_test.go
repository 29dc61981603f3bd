package db

import (
	"encoding/base64"
	"encoding/json"
	"slices"
	"testing"
)

// aRequest is a request of a league that packed.txt does not know.
const aRequest = `{"version":"1.0","league":"capitals","match_id":"m_06h9c4t2v8w1x5y7z3q0r6s2e4","round":3,"total_rounds":8,` +
	`"task":{"description":"Which of these is the capital of Mongolia?","input_format":"string","output_format":"string",` +
	`"options":["Astana","Ulaanbaatar","Bishkek","Tashkent"]},"time_limit_seconds":20,"max_tokens":200,"rules":["only_one_answer"],` +
	`"opponent_count":1,"task_id":"tk_5fq8m1v3x7z9","attempt":1,"deadline":"2026-12-01T09:30:12.250Z",` +
	`"previous":{"outcome":"answered","correct":"Vienna","points":1,"measured_ms":412}}`

// asPacked is aRequest as the first version that packed stored it.
const asPacked = `AY8EaksCHGNhcGl0YWxzRk0CXGg5YzR0MnY4dzF4NXk3ejNxMHI2czJlNFllADM+ZQIAOGZlAixpY2ggb2YgdGhlc2UeNDkNfCwgb2YgTW9uZ29saWH+dwKgQXN0YW5hIiwi` +
	`VWxhYW5iYWF0YXIiLCJCaXNoa2VrIiwiVGFzaGtlbnRiQAI+tRAAMv5AAiw1ZnE4bTF2M3g3ejl+TAI8Mi0wMVQwOTozMDoxMi4yNRUAKBBWaWVubjJzBkFQXVAQNDEyfX0=`

// What was stored must stay readable, packed by the first version or not at all.
func TestPacked(t *testing.T) {
	t.Parallel()
	packed := Pack([]byte(aRequest))
	if len(packed) > len(aRequest)/2 {
		t.Errorf("%d bytes were packed into %d", len(aRequest), len(packed))
	}
	first, err := base64.StdEncoding.DecodeString(asPacked)
	if err != nil {
		t.Fatal(err)
	}
	for _, stored := range [][]byte{packed, first, []byte(aRequest)} {
		var got []byte
		if err := (packedBytesInto{&got}).Scan(slices.Clone(stored)); err != nil || string(got) != aRequest {
			t.Errorf("of %q was read %q (%v)", stored, got, err)
		}
	}
	text, err := PackedText(json.RawMessage(aRequest))
	if err != nil {
		t.Fatal(err)
	}
	for _, stored := range []string{text, asPacked, aRequest} {
		var got json.RawMessage
		if err := IntoPacked(&got).Scan(stored); err != nil || string(got) != aRequest {
			t.Errorf("of %q was read %q (%v)", stored, got, err)
		}
	}
}

func TestPacked_none(t *testing.T) {
	t.Parallel()
	got := []byte("before")
	if err := (packedBytesInto{&got}).Scan(nil); err != nil || got != nil {
		t.Errorf("NULL: %q, %v", got, err)
	}
	if b := Pack(nil); b != nil {
		t.Errorf("nothing was packed into %q", b)
	}
	kept := 7
	if err := IntoPacked(&kept).Scan(""); err != nil || kept != 7 {
		t.Errorf("the empty text: %d, %v", kept, err)
	}
}

func TestPacked_damaged(t *testing.T) {
	t.Parallel()
	var b []byte
	if err := (packedBytesInto{&b}).Scan([]byte{packedMark, 'x'}); err == nil {
		t.Error("damaged bytes were read")
	}
	var v any
	for _, text := range []string{packedText + "!", packedText, asPacked[:40]} {
		if err := IntoPacked(&v).Scan(text); err == nil {
			t.Errorf("%q was read", text)
		}
	}
}
