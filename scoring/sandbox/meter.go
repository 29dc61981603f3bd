package sandbox

import (
	"errors"
	"fmt"
	"math/big"
	"reflect"

	"github.com/dop251/goja/ast"
	"github.com/dop251/goja/token"
	"github.com/dop251/goja/unistring"
)

// meter rewrites a syntax tree so that it pays for what it does. It visits
// every node by reflection: a kind of node that goja adds later is visited
// too, at the price of any node.
type meter struct {
	trusted bool // the library: it is trusted not to ask for too much at once
	nodes   int
	most    int // nodes
	seen    map[ast.Node]bool
	open    []cost // of the scopes around the node, innermost last
	numbers map[unistring.String]bool
	err     error
}

// cost is the price of one pass through a scope.
type cost struct{ steps, bytes int64 }

// instrument meters a program, or returns an error for a part that cannot be run.
func instrument(tree *ast.Program, trusted bool, nodes int) error {
	m := &meter{trusted: trusted, most: nodes, seen: map[ast.Node]bool{}, open: []cost{{}}, numbers: numbers(tree)}
	m.fields(reflect.ValueOf(tree).Elem())
	tree.Body = prepend(tree.Body, m.open[0])
	return m.err
}

func (m *meter) refuse(format string, args ...any) {
	if m.err == nil {
		m.err = fmt.Errorf(format, args...)
	}
}

// node visits the syntax node behind a pointer.
func (m *meter) node(n ast.Node) {
	if m.seen[n] { // declarations stand in the tree and in a list of their own
		return
	}
	m.seen[n] = true
	if m.nodes++; m.nodes > m.most {
		m.refuse("the source has more than %d syntax nodes", m.most)
	}
	if m.err != nil {
		return
	}
	m.check(n)
	m.charge(n)
	scope := isScope(n)
	if scope {
		m.open = append(m.open, cost{steps: 1})
	}
	m.fields(reflect.ValueOf(n).Elem())
	if scope {
		inner := m.open[len(m.open)-1]
		m.open = m.open[:len(m.open)-1]
		m.pays(n, inner)
	}
	m.targets(n)
}

// fields visits the nodes below a node.
func (m *meter) fields(v reflect.Value) {
	for i := range v.NumField() {
		if name := v.Type().Field(i).Name; name != "DeclarationList" && name != "File" {
			m.value(v.Field(i))
		}
	}
}

func (m *meter) value(v reflect.Value) {
	switch v.Kind() {
	case reflect.Slice:
		for i := range v.Len() {
			m.value(v.Index(i))
		}
	case reflect.Struct:
		if v.CanAddr() {
			if n, ok := reflect.TypeAssert[ast.Node](v.Addr()); ok {
				m.node(n)
				return
			}
		}
		m.fields(v)
	case reflect.Pointer, reflect.Interface:
		if v.IsNil() {
			return
		}
		if n, ok := reflect.TypeAssert[ast.Node](v); ok {
			m.node(n)
			if v.Type() == reflect.TypeFor[ast.Expression]() {
				v.Set(reflect.ValueOf(m.rewritten(n.(ast.Expression))))
			}
		}
	default: // words and positions
	}
}

// check refuses what cannot be metered or would not be the same everywhere.
func (m *meter) check(n ast.Node) {
	switch n := n.(type) {
	case *ast.WithStatement:
		m.refuse("the statement with is not available")
	case *ast.AwaitExpression:
		m.refuse("await is not available")
	case *ast.FunctionLiteral:
		if n.Async {
			m.refuse("async functions are not available")
		}
	case *ast.ArrowFunctionLiteral:
		if n.Async {
			m.refuse("async functions are not available")
		}
	case *ast.NumberLiteral:
		if _, ok := n.Value.(*big.Int); ok {
			m.refuse("BigInt is not available")
		}
	case *ast.Identifier:
		if len(n.Name) > maxName {
			m.refuse("a name has more than %d bytes", maxName)
		}
	case *ast.TemplateLiteral:
		if len(n.Expressions) > maxParts {
			m.refuse("a template has more than %d expressions", maxParts)
		}
	case *ast.ObjectPattern:
		if n.Rest != nil {
			m.refuse("a rest element in an object pattern is not available")
		}
	case *ast.PropertyShort:
		if n.Name.Name == "arguments" {
			m.refuse("arguments is not available here")
		}
	case *ast.CatchStatement:
		if _, ok := n.Parameter.(*ast.Identifier); !ok && n.Parameter != nil {
			m.refuse("a pattern in a catch clause is not available")
		}
	case *ast.BadExpression, *ast.BadStatement:
		m.err = errors.New("the source cannot be read")
	}
}

// charge adds a node to the innermost scope.
func (m *meter) charge(n ast.Node) {
	c := &m.open[len(m.open)-1]
	c.steps++
	switch n := n.(type) {
	case *ast.ArrayLiteral:
		c.bytes += costObject + costElement*int64(len(n.Value))
	case *ast.ObjectLiteral:
		c.bytes += costObject + costProperty*int64(len(n.Value))
	case *ast.ArrayPattern, *ast.ObjectPattern, *ast.NewExpression, *ast.TemplateLiteral:
		c.bytes += costObject
	case *ast.FunctionLiteral, *ast.ArrowFunctionLiteral, *ast.RegExpLiteral:
		c.bytes += costFunction
	case *ast.ClassLiteral:
		c.bytes += costFunction * int64(4+len(n.Body))
	case *ast.CallExpression:
		c.bytes += costCall + costNode*int64(len(n.ArgumentList))
	case *ast.DotExpression:
		c.bytes += costNode // a method of a primitive may box it
	case *ast.AssignExpression:
		if _, ok := n.Left.(*ast.Identifier); !ok {
			c.bytes += costProperty
		}
	case *ast.FieldDefinition:
		c.bytes += costProperty
	}
}

func isScope(n ast.Node) bool {
	switch n.(type) {
	case *ast.FunctionLiteral, *ast.ArrowFunctionLiteral, *ast.ClassStaticBlock, *ast.FieldDefinition,
		*ast.ForStatement, *ast.ForInStatement, *ast.ForOfStatement, *ast.WhileStatement, *ast.DoWhileStatement:
		return true
	}
	return false
}

// pays puts the price of a scope at its start: paid on every pass.
func (m *meter) pays(n ast.Node, c cost) {
	outer := &m.open[len(m.open)-1]
	switch n := n.(type) {
	case *ast.FunctionLiteral:
		c.bytes += costNode * c.steps // its variables
		n.Body.List = prepend(n.Body.List, c)
		return
	case *ast.ArrowFunctionLiteral:
		c.bytes += costNode * c.steps
		switch body := n.Body.(type) {
		case *ast.BlockStatement:
			body.List = prepend(body.List, c)
		case *ast.ExpressionBody:
			body.Expression = first(c, body.Expression)
		}
		return
	case *ast.FieldDefinition:
		if n.Initializer != nil {
			n.Initializer = first(c, n.Initializer)
		}
	case *ast.ClassStaticBlock:
		n.Block.List = prepend(n.Block.List, c)
	case *ast.ForStatement:
		n.Body = looped(n.Body, c)
	case *ast.ForInStatement:
		n.Source = call(nameSize, n.Source) // all names are listed before the first pass
		n.Body = looped(n.Body, c)
	case *ast.ForOfStatement:
		n.Body = looped(n.Body, c)
	case *ast.WhileStatement:
		n.Body = looped(n.Body, c)
	case *ast.DoWhileStatement:
		n.Body = looped(n.Body, c)
	}
	// The head of a loop runs at least once, whatever its body does.
	outer.steps += c.steps
	outer.bytes += c.bytes
}

// targets makes writing to a computed member pay, wherever it may stand, and
// puts the price of a caught error into its clause.
func (m *meter) targets(n ast.Node) {
	switch n := n.(type) {
	case *ast.AssignExpression:
		m.targetOf(n.Left, arithmetic(n.Operator))
	case *ast.UnaryExpression:
		if n.Operator == token.INCREMENT || n.Operator == token.DECREMENT {
			m.targetOf(n.Operand, true)
		}
	case *ast.ForIntoExpression:
		m.target(n.Expression)
	case *ast.Binding:
		m.target(n.Target)
	case *ast.ArrayPattern:
		for _, e := range n.Elements {
			m.target(e)
		}
		m.target(n.Rest)
	case *ast.ObjectPattern:
		for _, p := range n.Properties {
			if keyed, ok := p.(*ast.PropertyKeyed); ok {
				m.target(keyed.Value)
				if keyed.Computed {
					keyed.Key = m.key(keyed.Key)
				}
			}
		}
	case *ast.MethodDefinition:
		if n.Computed {
			n.Key = m.key(n.Key)
		}
	case *ast.FieldDefinition:
		if n.Computed {
			n.Key = m.key(n.Key)
		}
	case *ast.SwitchStatement:
		compared := int64(0)
		for _, c := range n.Body {
			if c.Test != nil && !m.plain(c.Test) {
				compared++
			}
		}
		if !m.trusted && compared > 0 && !m.plain(n.Discriminant) {
			n.Discriminant = call(nameSwitch, n.Discriminant, number(compared))
		}
	case *ast.ObjectLiteral:
		for _, p := range n.Value {
			if spread, ok := p.(*ast.SpreadElement); ok {
				spread.Expression = call(nameSize, spread.Expression)
			}
			if keyed, ok := p.(*ast.PropertyKeyed); ok && keyed.Computed {
				keyed.Key = call(nameAt, &ast.NullLiteral{Literal: "null"}, keyed.Key)
			}
		}
	case *ast.CatchStatement:
		var caught ast.Expression = &ast.NullLiteral{Literal: "null"}
		if n.Parameter != nil {
			caught = n.Parameter
		}
		pay := &ast.ExpressionStatement{Expression: call(nameTrace, caught)}
		n.Body.List = append([]ast.Statement{pay}, n.Body.List...)
	}
}

func (m *meter) target(n ast.Expression) { m.targetOf(n, false) }

// targetOf is target. An updated member also pays for its old value, which is
// read as a number.
func (m *meter) targetOf(n ast.Expression, updated bool) {
	updated = updated && !m.trusted
	if d, ok := n.(*ast.DotExpression); ok && updated {
		if _, super := d.Left.(*ast.SuperExpression); !super {
			d.Left = call(nameOf, d.Left, &ast.StringLiteral{Literal: d.Identifier.Name.String(), Value: d.Identifier.Name})
		}
	}
	b, ok := n.(*ast.BracketExpression)
	if !ok {
		return
	}
	if read, ok := called(b.Member, nameKey); ok {
		b.Member = read.ArgumentList[0]
	}
	switch key := b.Member.(type) {
	case *ast.NumberLiteral:
		if i, ok := key.Value.(int64); ok && i <= farIndex && !updated {
			return
		}
	case *ast.StringLiteral:
		if !updated && len(key.Value) <= maxName && (key.Value == "" || key.Value[0] > '9') {
			return
		}
	case *ast.CallExpression:
		if _, ok := called(key, nameAt); ok {
			return // a binding inside a pattern is met twice
		}
	}
	// The object is named a second time where that changes nothing; elsewhere
	// the key pays as for an empty array.
	var object ast.Expression = &ast.NullLiteral{Literal: "null"}
	if repeatable(b.Left) {
		object = b.Left
	}
	name := unistring.String(nameAt)
	if updated {
		name = nameOld
	}
	b.Member = call(name, object, b.Member)
}

// called returns a call of a function of the meter.
func called(e ast.Expression, name unistring.String) (*ast.CallExpression, bool) {
	c, ok := e.(*ast.CallExpression)
	if !ok {
		return nil, false
	}
	f, ok := c.Callee.(*ast.Identifier)
	return c, ok && f.Name == name
}

// repeatable reports whether an expression may be evaluated twice: names,
// this, and members of such.
func repeatable(e ast.Expression) bool {
	switch e := e.(type) {
	case *ast.Identifier, *ast.ThisExpression, *ast.NumberLiteral, *ast.StringLiteral:
		return true
	case *ast.DotExpression:
		return repeatable(e.Left)
	case *ast.PrivateDotExpression:
		return repeatable(e.Left)
	case *ast.BracketExpression:
		return repeatable(e.Left) && repeatable(e.Member)
	case *ast.CallExpression:
		for _, name := range []unistring.String{nameKey, nameWeigh} {
			if c, ok := called(e, name); ok {
				return repeatable(c.ArgumentList[0])
			}
		}
	case *ast.BinaryExpression:
		return e.Operator != token.PLUS && repeatable(e.Left) && repeatable(e.Right)
	}
	return false
}

// rewritten puts the price of a string around what may make or read one, passes
// regular expressions to RE2, and an array for arguments.
func (m *meter) rewritten(e ast.Expression) ast.Expression {
	switch x := e.(type) {
	case *ast.BinaryExpression:
		if x.Operator == token.PLUS && !m.numeric(x) {
			return call(nameText, x)
		}
		if !m.trusted {
			return m.operated(x)
		}
	case *ast.AssignExpression:
		if x.Operator == token.PLUS {
			return call(nameText, x)
		}
		if m.trusted {
			break
		}
		if arithmetic(x.Operator) {
			x.Right = m.operand(x.Right)
			return m.updated(x, x.Left)
		}
		if isLength(x.Left) { // of an array: a number
			x.Right = m.operand(x.Right)
		}
	case *ast.UnaryExpression:
		if m.trusted {
			break
		}
		switch x.Operator {
		case token.MINUS, token.PLUS, token.BITWISE_NOT:
			x.Operand = m.operand(x.Operand)
		case token.INCREMENT, token.DECREMENT:
			return m.updated(x, x.Operand)
		default:
		}
	case *ast.BracketExpression:
		x.Member = m.key(x.Member)
	case *ast.TemplateLiteral:
		if x.Tag == nil {
			return call(nameText, x)
		}
	case *ast.RegExpLiteral:
		return call(nameRegex, literal(x.Pattern), literal(x.Flags))
	case *ast.Identifier:
		if x.Name == "arguments" { // the object carries a native iterator
			return call(nameArguments, x)
		}
	}
	return e
}

func literal(s string) ast.Expression {
	return &ast.StringLiteral{Literal: s, Value: unistring.NewFromString(s)}
}

func call(name unistring.String, args ...ast.Expression) *ast.CallExpression {
	return &ast.CallExpression{Callee: &ast.Identifier{Name: name}, ArgumentList: args}
}

func number(n int64) ast.Expression { return &ast.NumberLiteral{Literal: fmt.Sprint(n), Value: n} }

func tick(c cost) ast.Expression {
	return call(nameTick, number(c.steps), number(c.bytes))
}

func first(c cost, e ast.Expression) ast.Expression {
	return &ast.SequenceExpression{Sequence: []ast.Expression{tick(c), e}}
}

func looped(body ast.Statement, c cost) ast.Statement {
	return &ast.BlockStatement{List: prepend([]ast.Statement{body}, c)}
}

// prepend puts the price in front of a body, behind its directives.
func prepend(body []ast.Statement, c cost) []ast.Statement {
	at := 0
	for ; at < len(body); at++ {
		e, ok := body[at].(*ast.ExpressionStatement)
		if !ok {
			break
		}
		if _, ok := e.Expression.(*ast.StringLiteral); !ok {
			break
		}
	}
	out := make([]ast.Statement, 0, len(body)+1)
	out = append(out, body[:at]...)
	out = append(out, &ast.ExpressionStatement{Expression: tick(c)})
	return append(out, body[at:]...)
}
