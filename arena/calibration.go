package arena

// Claim is an agent's declaration with one judged answer, and whether the answer
// was right, which means that it got the whole point.
type Claim struct {
	Confidence *float64 // 0 to 1
	Tokens     *int64   // not negative
	OverTokens bool     // it exceeded the token limit of its round
	Right      bool
}

// Calibration compares an agent's declarations about its answers with the
// results. The declarations are not verified.
type Calibration struct {
	Answers int              `json:"answers"` // with a confidence
	Brier   *float64         `json:"brier"`   // mean of (confidence - right)^2, 0 is best; nil: no answers
	Bins    []CalibrationBin `json:"bins"`    // ten, of equal width
	Tokens  TokenCost        `json:"tokens"`
}

// CalibrationBin summarizes the answers with a confidence in [From, To); the
// last bin includes To.
type CalibrationBin struct {
	From           float64  `json:"from"`
	To             float64  `json:"to"`
	Count          int      `json:"count"`
	MeanConfidence *float64 `json:"mean_confidence"` // nil: no answers
	RightShare     *float64 `json:"right_share"`     // 0 to 1
}

// TokenCost is the cost of answers in declared tokens.
type TokenCost struct {
	Answers   int      `json:"answers"` // with a number of tokens
	Total     int64    `json:"total"`
	PerRight  *float64 `json:"per_right"`  // total by right answers among them; nil: none was right
	OverLimit int      `json:"over_limit"` // answers over the token limit of their round, by what was declared or by length
}
