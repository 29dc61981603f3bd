package sandbox

import (
	"slices"
	"strings"
	"testing"

	"github.com/dop251/goja"
)

// The claim of doc.go: whatever an answer can get hold of, it is never a
// native function. A native may loop, or call itself, and never come past the
// meter.
func TestLibrary_NoNativeInReach(t *testing.T) {
	t.Parallel()
	e, err := New()
	if err != nil {
		t.Fatal(err)
	}
	p, err := e.Compile(`function solve() { return [arguments, (() => arguments)()] }`, "solve")
	if err != nil {
		t.Fatal(err)
	}
	r := newRun(MaxString)
	// Kept from before: the library takes them away.
	if _, err := r.vm.RunString(`const kept = { R: Reflect, text: Function.prototype.toString, hasInstance: Symbol.hasInstance }`); err != nil {
		t.Fatal(err)
	}
	if _, err := r.vm.RunProgram(e.library); err != nil {
		t.Fatal(err)
	}
	solve, err := r.vm.RunProgram(p.answer)
	if err != nil {
		t.Fatal(err)
	}
	call, _ := goja.AssertFunction(solve)
	args, err := call(goja.Undefined())
	if err != nil {
		t.Fatal(err)
	}
	if err := r.vm.Set("given", args); err != nil {
		t.Fatal(err)
	}
	v, err := r.vm.RunString(`(() => {
		const { R, text, hasInstance } = kept, seen = new Map(), found = [], queue = [];
		const add = (path, v) => {
			if (v === null || typeof v !== 'object' && typeof v !== 'function' || seen.has(v)) return;
			seen.set(v, path);
			queue.push([path, v]);
		};
		const harmless = R.getPrototypeOf(add); // Function.prototype: gives undefined
		add('global', globalThis);
		// What syntax alone gives.
		add('function', function () {}); add('arrow', () => {}); add('generator', function* () {});
		add('generator object', (function* () {})()); add('array', []); add('regex', globalThis['%regex']('x', 'g'));
		add('class', class { static x = 1 });
		add('string iterator', ''[Symbol.iterator]()); add('map iterator', new Map().entries());
		add('set iterator', new Set().values()); add('array iterator', [].values()); add('date', new Date());
		try { null.x } catch (e) { add('thrown', e) }
		try { noSuchName } catch (e) { add('thrown name', e) }
		for (const v of [1, '', true, Symbol()]) add('boxed ' + typeof v, R.getPrototypeOf(Object(v)));
		while (queue.length) {
			const [path, v] = queue.pop();
			if (typeof v === 'function' && v !== harmless && R.apply(text, v, []).includes('[native code]')) found.push(path);
			add(path + '.__proto__', R.getPrototypeOf(v));
			for (const key of R.ownKeys(v)) {
				if (key === hasInstance) continue; // no answer can name it
				const d = R.getOwnPropertyDescriptor(v, key);
				add(path + '.' + String(key), d.value);
				add(path + '.get ' + String(key), d.get);
				add(path + '.set ' + String(key), d.set);
			}
		}
		return found.join('\n');
	})()`)
	if err != nil {
		t.Fatal(err)
	}
	// They pay, and give back what they are given, undefined, or how two values
	// compare. For an object they call the library.
	harmless := []string{
		"global.%tick", "global.%text", "global.%at", "global.%size", "global.%trace",
		"global.%weigh", "global.%key", "global.%of", "global.%old", "global.%same", "global.%alike", "global.%order", "global.%switch",
	}
	natives := strings.Split(v.String(), "\n")
	for _, path := range natives {
		if !slices.Contains(harmless, path) {
			t.Errorf("%s is native", path)
		}
	}
	if len(natives) < len(harmless) {
		t.Errorf("the walk has not even seen the meter: %q", natives)
	}
}
