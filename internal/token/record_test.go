package token

import (
	"encoding/base64"
	"strings"
	"testing"

	"github.com/agora-arena/arena/record"
)

// Threats E6 and E7 for the signatures of records.
func TestVerifyRecord(t *testing.T) {
	t.Parallel()
	c := newClock()
	k := open(t, &rows{}, c, ES256)
	set := served(t, k).Body.Bytes()
	payload := []byte(`{"format":"x"}`)
	good, err := k.SignRecord(payload)
	if err != nil {
		t.Fatal(err)
	}
	if err := VerifyRecord(set, payload, good); err != nil {
		t.Errorf("a good signature: %v", err)
	}
	key := k.ring.Load().keys[0]
	signed := func(header string) record.Signature {
		head := b64(header)
		sig, err := key.method.Sign(head+"."+base64.RawURLEncoding.EncodeToString(payload), key.signer)
		if err != nil {
			t.Fatal(err)
		}
		return record.Signature{Alg: ES256, KID: key.KID, Value: head + ".." + b64(string(sig))}
	}
	kid := `"kid":"` + key.KID + `"`
	for name, s := range map[string]record.Signature{
		"typ of a task token": signed(`{"alg":"ES256",` + kid + `,"typ":"` + typ + `"}`),
		"crit":                signed(`{"alg":"ES256",` + kid + `,"typ":"` + recordTyp + `","crit":["b64"],"b64":false}`),
		"no kid":              signed(`{"alg":"ES256","typ":"` + recordTyp + `"}`),
		"alg none":            {Alg: "none", KID: key.KID, Value: b64(`{"alg":"none",`+kid+`,"typ":"`+recordTyp+`"}`) + ".."},
		"another alg outside": {Alg: EdDSA, KID: good.KID, Value: good.Value},
		"another kid outside": {Alg: good.Alg, KID: "key_x", Value: good.Value},
		"payload inside":      {Alg: good.Alg, KID: good.KID, Value: strings.Replace(good.Value, "..", "."+b64(string(payload))+".", 1)},
		"a task token":        {Alg: good.Alg, KID: good.KID, Value: sign(t, k, c)},
		"padded":              {Alg: good.Alg, KID: good.KID, Value: good.Value + "="},
		"no signature":        {Alg: good.Alg, KID: good.KID, Value: strings.SplitAfter(good.Value, "..")[0]},
		"empty":               {},
	} {
		if err := VerifyRecord(set, payload, s); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	if err := VerifyRecord(set, []byte(`{"format":"y"}`), good); err == nil {
		t.Error("another payload was accepted")
	}
	if err := VerifyRecord([]byte("no"), payload, good); err == nil {
		t.Error("a key set that is none was accepted")
	}
	if err := VerifyRecord(served(t, open(t, &rows{}, c, ES256)).Body.Bytes(), payload, good); err == nil {
		t.Error("another arena's keys were accepted")
	}
}
