package plaintext

// maxCompared is the length of the longest text that Distance compares, in bytes.
const maxCompared = 64

// Distance returns how many bytes must be added, removed or replaced to make b of
// a (the Levenshtein distance). If there are more than limit, or a text is longer
// than 64 bytes, it returns a number above limit.
func Distance(a, b string, limit int) int {
	if len(a) > maxCompared || len(b) > maxCompared || len(a)-len(b) > limit || len(b)-len(a) > limit {
		return limit + 1
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, diagonal+1)
		}
	}
	return row[len(b)]
}
