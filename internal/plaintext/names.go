package plaintext

import (
	"strings"
	"unicode"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// NameKeys returns the forms under which a name is unique: two names that share
// one of them look alike. The first ignores case. The others are skeletons as in
// Unicode TS 39, with a table of the letters and signs that look like Latin ones:
// one ignores case, too, one compares the names in capitals, and one minds case, and
// so takes a capital I for a small l. All of them follow NFKC and ignore spaces and
// invisible characters.
func NameKeys(name string) []string {
	name = strings.Map(drop, name)
	plain := strings.Map(drop, norm.NFKC.String(name))
	look := strings.Map(drop, norm.NFKC.String(latin.Replace(name))) // NFKC makes a sigma of the lunate one, which looks like a C
	fold := func(s string) string { return norm.NFKC.String(cases.Fold().String(s)) }
	return []string{
		"case " + fold(plain),
		"fold " + fold(latin.Replace(fold(latin.Replace(look)))),
		"caps " + fold(latin.Replace(strings.ToUpper(look))),
		"look " + strings.ReplaceAll(latin.Replace(look), "I", "l"),
	}
}

// drop removes spaces and the invisible characters that names may hold.
func drop(r rune) rune {
	if unicode.IsSpace(r) || unicode.In(r, unicode.Cf, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector) || r == '\u2800' {
		return -1
	}
	return r
}

// latin replaces characters by the Latin ones that they look like. It never
// changes.
var latin = strings.NewReplacer(lookalikes()...)

// lookalikes returns pairs of a character and the text that it looks like.
func lookalikes() (pairs []string) {
	for to, from := range map[string]string{
		"a": "аɑα⍺", "b": "Ьƅ", "c": "сϲᴄⲥꮯ", "d": "ԁ", "e": "еҽ℮ꬲ", "f": "ẝꞙꬵք", "g": "ɡᶃƍց", "h": "һհ", "i": "іιɩıɪⲓ⍳", "j": "јϳ", "k": "кκⲕᴋĸ",
		"l": "1|ӏӀǀ∣ןװﺍاƖ", "n": "ոռ", "o": "оοσօסᴏⲟჿꬽ०০੦૦௦౦೦൦๐໐၀۵٥", "p": "рρϱⲣ⍴", "q": "ԛգզ", "r": "гᴦⲅꭇꭈ", "s": "ѕƽꜱꮪ", "u": "υսʋᴜꭎꭒꞟ", "v": "νѵטᴠ∨⋁ꮩ",
		"w": "ԝѡաɯᴡꮃ", "x": "х×⨯᙮ᕁ", "y": "уγүყɣʏỿꭚᶌ", "z": "ᴢꮓ",
		"A": "ΑАᎪᗅꓮ", "B": "ΒВᏴᗷꓐʙꞴ", "C": "СϹᏟⲤꓚ", "D": "ᎠᗞᗪꓓᎴ", "E": "ΕЕᎬ⋿ⴹꓰ", "F": "Ϝᖴꓝ", "G": "ԌᏀᏳꓖ", "H": "ΗНᎻᕼⲎꓧ", "I": "ΙІⲒꓲ", "J": "ЈͿᎫᒍꓙ", "K": "ΚКᏦⲔꓗ",
		"L": "ᏞᒪⳐꓡ", "M": "ΜМϺᎷᗰⲘꓟ", "N": "ΝⲚꓠ", "O": "0ΟОՕⲞⵔꓳ", "P": "ΡРᏢᑭⲢꓑ", "Q": "Ԛⵕ", "R": "ᎡᏒᖇꓣ", "S": "ЅՏᏕᏚꓢ", "T": "ΤТᎢⲦꓔ⊤", "U": "Սᑌሀ∪ꓴ", "V": "ѴⴸᏙᐯꓦ",
		"W": "ԜᎳᏔꓪ", "X": "ΧХⲬⵝꓫ᙭╳", "Y": "ΥУҮᎩᎽⲨꓬ", "Z": "ΖᏃꓜ",
		"rn": "m", "-": "‐‑‒–—−﹣⁃➖", "'": "’‘`´ʹʻʼʽˈ׳", `"`: "“”״", ".": "․۰٠", "/": "⁄∕╱", ":": "ː։׃：∶",
	} {
		for _, r := range from {
			pairs = append(pairs, string(r), to)
		}
	}
	return pairs
}
