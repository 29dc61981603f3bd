package sandbox_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/agora-arena/arena/scoring/sandbox"
)

// spent returns what a call of a program with these statements takes.
func spent(t *testing.T, statements string) sandbox.Allowance {
	t.Helper()
	p, err := compile("function solve() { " + statements + "; return 1 }")
	if err != nil {
		t.Fatal(err)
	}
	left := sandbox.Allowance{Steps: sandbox.MaxSteps, Bytes: sandbox.MaxMemory}
	if _, err := p.Call(`[]`, &left); err != nil && !errors.Is(err, sandbox.ErrSteps) && !errors.Is(err, sandbox.ErrMemory) {
		t.Fatal(err)
	}
	return sandbox.Allowance{Steps: sandbox.MaxSteps - left.Steps, Bytes: sandbox.MaxMemory - left.Bytes}
}

// Threat J6: what reads, compares or makes a long string pays by its length: a
// step for at most so many units, or bytes as many as it has.
func TestCall_PaidByLength(t *testing.T) {
	t.Parallel()
	const (
		units   = 60_000
		perStep = 256
	)
	// s is long and t equals it, n is a long number, o an object that stands for n.
	before := `const big = '1'.repeat(LONG), s = big + 'x', t = big + 'x', n = big + '1', o = { valueOf: () => n, toString: () => n },
		many = [s, s, s, s], k = { [s]: 1 }, f = () => k, unicode = '\u4e00' + s, other = '\u4e00' + t;
		let x, y; const p = {}; class Private { #n; down() { this.#n = n; this.#n--; } } const hidden = new Private();`
	for _, each := range []string{
		// comparing
		`s === t`, `s !== t`, `s == t`, `s != t`, `s < t`, `s <= t`, `s > t`, `s >= t`, `unicode === other`, `unicode < other`, `n == 1`, `n < 1`, `1 >= n`,
		`o == 1`, `o < 1`, `o == n`, `true == n`, `switch (s) { case t: }`, `switch (s) { case 'a': case t: }`, `[s].includes(t)`, `[s].indexOf(t)`, `[s].lastIndexOf(t)`,
		`s.localeCompare(t)`, `many.sort()`, `Object.is(s, t)`, `s.startsWith(t)`, `s.endsWith(t)`,
		// reading as a number
		`+n`, `-n`, `~n`, `n - 1`, `1 - n`, `n * 1`, `n / 1`, `n % 2`, `n ** 1`, `n | 0`, `n & 1`, `n ^ 1`, `n << 1`, `n >> 1`, `n >>> 1`, `+o`, `o - 1`, `Number(n)`, `Number(o)`,
		`parseInt(n)`, `parseFloat(n)`, `parseInt(o)`, `Number.parseFloat(n)`, `isNaN(n)`, `isFinite(o)`, `Math.max(n, 1)`, `Math.abs(o)`, `new Date(n, 1)`, `new Date(o, 1)`, `Date.UTC(o)`, `new Date().setUTCHours(n)`,
		`[1].slice(n)`, `[1].splice(o)`, `[1].fill(0, n)`, `[1].indexOf(1, o)`, `String.fromCharCode(n)`, `(1).toString(Number(n) ? 2 : 3)`, `'abc'.indexOf('c', n)`, `'abc'.charAt(o)`,
		`x = n; x++`, `x = n; --x`, `x = n; x -= 1`, `x = 1; x *= n`, `x = o; x |= 0`, `p.x = n; p.x++`, `p.x = n; p.x -= 1`, `p['x'] = n; p['x']++`, `y = 'x'; p[y] = n; p[y]--`,
		`p.x = 1; p.x %= n`, `hidden.down()`, `'abc'.at(n)`, `'abc'.slice(n)`, `[1].at(n)`, `'a,b'.split(',', n)`, `try { (1).toFixed(n) } catch {}`, `try { [].length = n } catch {}`, `try { []['length'] = n } catch {}`,
		// naming properties
		`k[s]`, `k?.[s]`, `s in k`, `delete k[s]`, `k[s] = 1`, `k[s]++`, `({ [s]: 1 })`, `const { [s]: z } = k`, `class C { [s]() {} }`, `f()[s]`, `k.hasOwnProperty(s)`, `Object.hasOwn(k, s)`, `k.hasOwnProperty(o)`, `Object.hasOwn(k, o)`,
		`k[o]`, `new Map([[s, 1]])`, `new Set([s])`, `new Map().get(s)`, `new Set().has(s)`, `Object.fromEntries([[s, 1]])`, `Object.groupBy([1], () => s)`, `Symbol(s)`,
		// making strings
		`s + 1`, `x = s; x += 'x'`, "`${s}`", `s.concat(1)`, `'' + o`, `s.slice(1)`, `s.substring(1)`, `s.substr(1)`, `'x'.repeat(LONG)`, `'x'.padEnd(LONG)`, `'x'.padStart(LONG)`, `s.trim()`,
		`s.toUpperCase()`, `s.toLowerCase()`, `s.normalize()`, `[s].join()`, `String([s])`, `String(s + 1)`, `JSON.stringify(s)`, `JSON.stringify({ [s]: 1 })`, `try { JSON.parse(s) } catch {}`,
		`JSON.parse('"' + s + '"')`, `new Error(s)`, `s.replace('1', '2')`, `s.replaceAll('x', 'y')`, `s.replace(/x/, 'y')`,
		// searching
		`s.indexOf('y')`, `s.lastIndexOf('y')`, `s.includes('y')`, `s.split('y')`, `s.split('x')`, `s.search(/y/)`, `s.match(/y/)`, `/y/.test(s)`, `s.split(/y/)`,
		// lists as long as that
		`[...s.slice(9)]`, `Array.from({ length: LONG / 8 })`, `new Array(LONG / 8).fill(0)`, `'x'.repeat(LONG).split('')`,
	} {
		t.Run(each, func(t *testing.T) {
			t.Parallel()
			once := func(length string) sandbox.Allowance {
				given := spent(t, strings.ReplaceAll(before, "LONG", length))
				all := spent(t, strings.ReplaceAll(before+each, "LONG", length))
				return sandbox.Allowance{Steps: all.Steps - given.Steps, Bytes: all.Bytes - given.Bytes}
			}
			short, long := once("8"), once("60000")
			if steps, bytes := long.Steps-short.Steps, long.Bytes-short.Bytes; steps < units/perStep && bytes < units {
				t.Errorf("a long string takes %d steps and %d bytes more than a short one", steps, bytes)
			}
		})
	}
}

// Operators mean what they mean in JavaScript, though metered.
func TestCall_MeteredOperators(t *testing.T) {
	t.Parallel()
	for source, want := range map[string]string{
		`return ['10' < '9', 10 < '9', 'a' < 1, NaN <= NaN, null >= 0, undefined >= 0, 'b' > 'a', Infinity <= Infinity, 'é' > 'z'].map(Number).join('')`:                         `"100010111"`,
		`const a = [], d = new Date(5); return [a == '', [1] == 1, null == 0, null == undefined, '1' == 1, a == a, a == [], NaN != NaN, d == d.toString()].map(Number).join('')`: `"110111011"`,
		`let x = '4'; const was = x++; let y = { valueOf: () => 6 }; return [was, x, --y, y, '3' * '4', -'2', new Date(9) - 2, '7' - [3]]`:                                       `[4,5,5,5,12,-2,7,4]`,
		`const o = { n: '2', m: 1 }, k = 'n'; return [o.n++, o[k]--, o['n'] *= 5, (() => o)()[(() => 'm')()]++, o.m, o.n]`:                                                       `[2,3,10,1,2,10]`,
		`const s = (v) => { switch (v) { case '1': return 's'; case 1: return 'n'; default: return 'd' } }; return s('1') + s(1) + s(null)`:                                      `"snd"`,
		`const i = { toString: () => 'k' }, o = { [i]: 1 }; const { [i]: got } = o; return [o[i], i in o, got, delete o[i], 'k' in o]`:                                           `[1,true,1,true,false]`,
		`let n = 0; const o = { get x() { throw 'get' } }; try { o.x++ } catch (e) { return e }`:                                                                                 `"get"`,
		`let n = '1'; { let n = 0; n++ } return n === '1' && ((n) => n < '5')('10')`:                                                                                             `true`,
		`try { return { valueOf: () => ({}), toString: () => ({}) } - 1 } catch (e) { return e instanceof TypeError }`:                                                           `true`,
		`try { return Symbol() < 1 } catch (e) { return e instanceof TypeError }`:                                                                                                `true`,
	} {
		p, err := compile("function solve() { " + source + " }")
		if err != nil {
			t.Errorf("%s: %v", source, err)
			continue
		}
		left := sandbox.Allowance{Steps: sandbox.MaxSteps, Bytes: sandbox.MaxMemory}
		if got, err := p.Call(`[]`, &left); err != nil || got != want {
			t.Errorf("%s: %s, %v; want %s", source, got, err, want)
		}
	}
}
