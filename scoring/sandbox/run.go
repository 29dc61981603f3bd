package sandbox

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"time"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/dop251/goja"
)

// The names of the functions that metered code calls. No source can spell them, and
// they cannot be written.
const (
	nameTick  = "%tick"  // (steps, bytes): pays
	nameText  = "%text"  // (v): pays for v when it is a string
	nameAt    = "%at"    // (object, key): pays for the elements below a far index, gives the key
	nameSize  = "%size"  // (v): pays for all properties of v
	nameTrace = "%trace" // (error): pays for its stack trace

	// What operators read.
	nameWeigh  = "%weigh"  // (v): pays for v that is read as a number; gives it, of an object the value that it stands for
	nameKey    = "%key"    // (v): pays for v that names a property, and gives it
	nameOf     = "%of"     // (object, name): pays for a member that is read as a number, and gives the object
	nameOld    = "%old"    // (object, key): %at, and pays as %of
	nameSame   = "%same"   // (a, b): a === b
	nameAlike  = "%alike"  // (a, b): a == b
	nameOrder  = "%order"  // (a, b): below, above or equal to 0 as a is to b, NaN if neither
	nameSwitch = "%switch" // (v, n): pays for comparing v with n values, and gives it

	// These the library defines.
	nameRegex     = "%regex"     // (pattern, flags): makes a regular expression
	nameArguments = "%arguments" // (arguments): the same as an array
	namePrimitive = "%primitive" // (object, hint): the value that it stands for
)

// What things cost, in bytes. goja's objects are Go maps: these are measured
// and rounded up.
const (
	costObject   = 512
	costProperty = 128
	costElement  = 64
	costFunction = 1024
	costCall     = 384
	costFrame    = 256   // of a kept stack trace
	costCatch    = 8_192 // an error with its trace
	costNode     = 16    // a local variable, at most

	farIndex   = 64    // arrays grow at once up to here
	denseIndex = 4_096 // and at most to here, when what lies below is empty
)

// run is one call: an interpreter and what it has spent.
type run struct {
	vm           *goja.Runtime
	spent, limit Allowance
	longest      int64 // UTF-16 units of a string
	over         error // the first limit that was reached
	matcher      matcher
	primitives   goja.Callable // the library's

	below, level, above goja.Value // -1, 0, 1
}

func newRun(longest int64) *run {
	r := &run{vm: goja.New(), limit: Allowance{MaxSteps, MaxMemory}, longest: longest}
	r.below, r.level, r.above = r.vm.ToValue(-1), r.vm.ToValue(0), r.vm.ToValue(1)
	r.vm.SetMaxCallStackSize(MaxDepth)
	r.vm.SetTimeSource(func() time.Time { return time.Unix(946_684_800, 0).UTC() }) // 2000-01-01
	source := rand.New(rand.NewPCG(1, 2))                                           //nolint:gosec // every run must get the same numbers
	r.vm.SetRandSource(source.Float64)

	global := r.vm.GlobalObject()
	for name, f := range map[string]func(goja.FunctionCall) goja.Value{
		nameTick: r.tick, nameText: r.text, nameAt: r.at, nameSize: r.size, nameTrace: r.trace,
		nameWeigh: r.operand, nameKey: r.key, nameOf: r.of, nameOld: r.old, nameSame: r.same, nameAlike: r.alike, nameOrder: r.order, nameSwitch: r.switched,
		// Only the library sees these: it takes them and removes them.
		"bound": r.bound, "quote": r.quote, "match": r.match, "nesting": r.nesting, "weigh": r.weigh, "numbers": r.numbers,
	} {
		_ = global.DefineDataProperty(name, r.vm.ToValue(f), goja.FLAG_FALSE, flag(name[0] != '%'), goja.FLAG_FALSE)
	}
	return r
}

func flag(set bool) goja.Flag {
	if set {
		return goja.FLAG_TRUE
	}
	return goja.FLAG_FALSE
}

// pay subtracts steps and bytes from the budget. The interpreter stops before its
// next instruction when one of them is spent; no catch or finally sees it.
func (r *run) pay(steps, bytes int64) {
	r.spent.Steps += steps
	r.spent.Bytes += bytes
	switch {
	case r.spent.Steps > r.limit.Steps:
		r.stop(ErrSteps)
	case r.spent.Bytes > r.limit.Bytes:
		r.stop(ErrMemory)
	}
}

func (r *run) stop(err error) {
	if r.over == nil {
		r.over = err
	}
	r.vm.Interrupt(r.over)
}

func (r *run) tick(call goja.FunctionCall) goja.Value {
	r.pay(clamp(call.Argument(0)), clamp(call.Argument(1)))
	return goja.Undefined()
}

// clamp reads an amount from 0 to 2^40 without running anything. Any other value is
// 0, and an answer cannot refund what it has spent.
func clamp(v goja.Value) int64 {
	const most = 1 << 40
	switch n := v.Export().(type) {
	case int64:
		return max(0, min(n, most))
	case float64:
		if n > most {
			return most
		}
		if n > 0 {
			return int64(n)
		}
	}
	return 0
}

func (r *run) text(call goja.FunctionCall) goja.Value {
	v := call.Argument(0)
	if s, ok := v.(goja.String); ok {
		n := int64(s.Length())
		if n > r.longest {
			r.stop(r.tooLong())
		}
		r.pay(n>>6, costNode+2*n)
	}
	return v
}

// weigh pays for strings that a native is about to read from end to end.
func (r *run) weigh(call goja.FunctionCall) goja.Value {
	for _, v := range call.Arguments {
		if s, ok := v.(goja.String); ok {
			r.pay(int64(s.Length())>>4, 0)
		}
	}
	return goja.Undefined()
}

// How many units one step pays for, as powers of two: units of strings that are
// compared or hashed, and of strings that are read as numbers.
const (
	compares = 6
	reads    = 1 // the parser of numbers reads a text several times, and copies it
)

// operand pays for a value that an operator is about to read as a number.
func (r *run) operand(call goja.FunctionCall) goja.Value {
	return r.paid(r.primitive(call.Argument(0), "number"))
}

// numbers pays for the arguments, from one position to another, that a native is
// about to read as numbers, and returns all arguments.
func (r *run) numbers(call goja.FunctionCall) goja.Value {
	args, _ := call.Argument(0).(*goja.Object)
	end := clamp(args.Get("length"))
	if to := call.Argument(2); !goja.IsUndefined(to) {
		end = min(end, clamp(to))
	}
	for i := clamp(call.Argument(1)); i < end; i++ {
		name := strconv.FormatInt(i, 10)
		v := args.Get(name)
		if o, ok := v.(*goja.Object); ok {
			v = r.primitive(o, "number")
			_ = args.Set(name, v) // a list of the library's own
		}
		r.paid(v)
	}
	return args
}

func (r *run) paid(v goja.Value) goja.Value {
	if s, ok := v.(goja.String); ok && s.Length() > shortString {
		r.pay(int64(s.Length())>>reads, 0)
	}
	return v
}

// primitive returns the value that an object stands for, which may be a long
// string. The library converts it, so that it is metered.
func (r *run) primitive(v goja.Value, hint string) goja.Value {
	o, ok := v.(*goja.Object)
	if !ok {
		return v
	}
	if r.primitives == nil {
		r.primitives, _ = goja.AssertFunction(r.vm.GlobalObject().Get(namePrimitive))
	}
	p, err := r.primitives(goja.Undefined(), o, r.vm.ToValue(hint))
	if thrown, ok := errors.AsType[*goja.Exception](err); ok {
		panic(thrown)
	}
	if err != nil { // a limit was reached
		r.stop(reason(err))
		return goja.Undefined()
	}
	return p
}

func (r *run) key(call goja.FunctionCall) goja.Value {
	key := call.Argument(0)
	if o, ok := key.(*goja.Object); ok {
		key = o.ToString() // once: a second reading could name another property
	}
	if s, ok := key.(goja.String); ok {
		r.pay(int64(s.Length())>>compares, 0)
	}
	return key
}

// of pays for the old value of a member. A getter is called once more.
func (r *run) of(call goja.FunctionCall) goja.Value {
	if o, ok := call.Argument(0).(*goja.Object); ok {
		r.member(o, call.Argument(1))
	}
	return call.Argument(0)
}

func (r *run) old(call goja.FunctionCall) goja.Value {
	key := r.at(call)
	switch o, ok := call.Argument(0).(*goja.Object); {
	case ok:
		r.member(o, key)
	case goja.IsNull(call.Argument(0)): // an object that cannot be named twice
		r.pay(MaxString>>10, 0)
	}
	return key
}

func (r *run) member(o *goja.Object, key goja.Value) {
	var v goja.Value
	if symbol, ok := key.(*goja.Symbol); ok {
		v = o.GetSymbol(symbol)
	} else {
		v = o.Get(key.String())
	}
	if v != nil {
		r.paid(r.primitive(v, "number"))
	}
}

// pair pays for comparing two values that are no objects.
func (r *run) pair(a, b goja.Value, units func(a, b int) int) {
	s, is := a.(goja.String)
	t, too := b.(goja.String)
	if is && too {
		r.pay(int64(units(s.Length(), t.Length()))>>compares, 0)
		return
	}
	r.paid(a)
	r.paid(b)
}

// equalUnits returns how many units of two strings are compared for equality:
// of strings of different lengths, none.
func equalUnits(a, b int) int {
	if a == b {
		return a
	}
	return 0
}

func (r *run) same(call goja.FunctionCall) goja.Value {
	a, b := call.Argument(0), call.Argument(1)
	if s, ok := a.(goja.String); ok {
		if t, ok := b.(goja.String); ok {
			r.pair(s, t, equalUnits)
		}
	}
	return r.vm.ToValue(a.StrictEquals(b))
}

func (r *run) alike(call goja.FunctionCall) goja.Value {
	a, b := call.Argument(0), call.Argument(1)
	_, object := a.(*goja.Object)
	_, objects := b.(*goja.Object)
	if object != objects && !goja.IsNull(a) && !goja.IsNull(b) && !goja.IsUndefined(a) && !goja.IsUndefined(b) {
		a, b = r.primitive(a, "default"), r.primitive(b, "default")
	}
	r.pair(a, b, equalUnits)
	return r.vm.ToValue(a.Equals(b))
}

func (r *run) order(call goja.FunctionCall) goja.Value {
	a := r.primitive(call.Argument(0), "number")
	b := r.primitive(call.Argument(1), "number")
	r.pair(a, b, func(a, b int) int { return min(a, b) })
	if s, ok := a.(goja.String); ok {
		if t, ok := b.(goja.String); ok {
			return r.vm.ToValue(s.CompareTo(t))
		}
	}
	switch x, y := a.ToFloat(), b.ToFloat(); {
	case x < y:
		return r.below
	case x > y:
		return r.above
	case x == y:
		return r.level
	}
	return goja.NaN()
}

func (r *run) switched(call goja.FunctionCall) goja.Value {
	if s, ok := call.Argument(0).(goja.String); ok {
		r.pay(int64(s.Length())>>compares*clamp(call.Argument(1)), 0)
	}
	return call.Argument(0)
}

// bound stops the run before it makes a string of more units than allowed.
func (r *run) bound(call goja.FunctionCall) goja.Value {
	if clamp(call.Argument(0)) > r.longest {
		r.stop(r.tooLong())
	}
	return goja.Undefined()
}

func (r *run) tooLong() error {
	if r.longest == MaxString {
		return ErrString
	}
	return fmt.Errorf("a string of more than %d characters", r.longest)
}

// at pays for a new property. An array allocates all elements below a
// new one, up to denseIndex when they are holes; a neighbour that is there
// shows that the space is.
func (r *run) at(call goja.FunctionCall) goja.Value {
	key := call.Argument(1)
	if _, symbol := key.(*goja.Symbol); symbol {
		r.pay(0, costProperty)
		return key
	}
	if o, ok := key.(*goja.Object); ok {
		key = o.ToString() // once: a second reading could name another element
	}
	bytes := int64(costProperty)
	if i, ok := index(key); ok && i > farIndex {
		o, _ := call.Argument(0).(*goja.Object)
		if o == nil || o.ClassName() == "Array" && !neighbours(o, i) {
			bytes += 16 * min(i, 2*denseIndex)
		}
	} else if s, ok := key.(goja.String); ok {
		bytes += 2 * int64(s.Length())
		r.pay(int64(s.Length())>>compares, 0)
		if s.String() == "length" { // of an array: its value is read as a number
			r.pay(MaxString>>reads, 0)
		}
	}
	r.pay(0, bytes)
	return key
}

func index(key goja.Value) (int64, bool) {
	switch k := key.Export().(type) {
	case int64:
		return k, true
	case float64:
		return int64(k), k == float64(int64(k))
	case string:
		i, err := strconv.ParseInt(k, 10, 64)
		return i, err == nil
	}
	return 0, false
}

func neighbours(array *goja.Object, i int64) bool {
	for _, near := range [...]int64{i, i - 1, i + 1} {
		if v := array.Get(strconv.FormatInt(near, 10)); v != nil {
			return true
		}
	}
	return false
}

func (r *run) size(call goja.FunctionCall) goja.Value {
	v := call.Argument(0)
	switch o := v.(type) {
	case goja.String:
		r.pay(int64(o.Length()), costProperty*int64(o.Length()))
	case *goja.Object:
		n := int64(len(o.GetOwnPropertyNames()))
		r.pay(n, costProperty*n)
	}
	return v
}

// trace pays for an error: it keeps every frame of the stack, and its text
// holds the message once more. It returns the error.
func (r *run) trace(call goja.FunctionCall) goja.Value {
	v := call.Argument(0)
	frames := int64(len(r.vm.CaptureCallStack(0, nil)))
	bytes := costCatch + costFrame*frames
	if o, ok := v.(*goja.Object); ok && o.ClassName() == "Error" {
		if message, ok := o.Get("message").(goja.String); ok {
			bytes += 4 * int64(message.Length())
		}
	}
	r.pay(frames, bytes)
	return v
}

// quote returns a string as JSON.stringify writes it.
func (r *run) quote(call goja.FunctionCall) goja.Value {
	s, ok := call.Argument(0).(goja.String)
	if !ok {
		return goja.Undefined()
	}
	r.pay(int64(s.Length())>>1, 8*int64(s.Length()))
	if r.over != nil {
		return goja.Undefined()
	}
	return r.vm.ToValue(quoted(s))
}

// quoted writes the escapes of ECMAScript: the short ones, \u for other
// control characters and for lone surrogates, everything else as it is.
func quoted(s goja.String) string {
	b := append(make([]byte, 0, s.Length()+2), '"')
	for i := 0; i < s.Length(); i++ {
		c := rune(s.CharAt(i))
		if i := strings.IndexRune("\"\\\b\f\n\r\t", c); i >= 0 {
			b = append(b, '\\', "\"\\bfnrt"[i])
			continue
		}
		if utf16.IsSurrogate(c) && i+1 < s.Length() {
			if pair := utf16.DecodeRune(c, rune(s.CharAt(i+1))); pair != utf8.RuneError {
				b = utf8.AppendRune(b, pair)
				i++
				continue
			}
		}
		if c < ' ' || utf16.IsSurrogate(c) {
			b = fmt.Appendf(b, `\u%04x`, c)
			continue
		}
		b = utf8.AppendRune(b, c)
	}
	return string(append(b, '"'))
}

// nesting returns how deep brackets nest in a text, to be asked before a parser
// that calls itself for each.
func (r *run) nesting(call goja.FunctionCall) goja.Value {
	return r.vm.ToValue(nesting(call.Argument(0).String()))
}

func nesting(s string) int {
	deepest, now := 0, 0
	for i := range len(s) {
		switch s[i] {
		case '[', '{', '(':
			now++
			deepest = max(deepest, now)
		case ']', '}', ')':
			now--
		}
	}
	return deepest
}
