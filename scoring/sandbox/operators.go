package sandbox

import (
	"github.com/dop251/goja/ast"
	"github.com/dop251/goja/token"
	"github.com/dop251/goja/unistring"
)

// operated makes an operator pay for the strings that it compares or reads as
// numbers or keys.
func (m *meter) operated(x *ast.BinaryExpression) ast.Expression {
	switch {
	case arithmetic(x.Operator):
		x.Left, x.Right = m.operand(x.Left), m.operand(x.Right)
	case x.Operator == token.IN:
		if _, private := x.Left.(*ast.PrivateIdentifier); !private {
			x.Left = m.key(x.Left)
		}
	case x.Operator == token.STRICT_EQUAL, x.Operator == token.STRICT_NOT_EQUAL:
		if !m.plain(x.Left) && !m.plain(x.Right) {
			return negated(call(nameSame, x.Left, x.Right), x.Operator == token.STRICT_NOT_EQUAL)
		}
	case x.Operator == token.EQUAL, x.Operator == token.NOT_EQUAL:
		if !short(x.Left) && !short(x.Right) && !(m.plain(x.Left) && m.plain(x.Right)) {
			return negated(call(nameAlike, x.Left, x.Right), x.Operator == token.NOT_EQUAL)
		}
	case x.Operator == token.LESS, x.Operator == token.LESS_OR_EQUAL, x.Operator == token.GREATER, x.Operator == token.GREATER_OR_EQUAL:
		if !m.plain(x.Left) || !m.plain(x.Right) {
			x.Left, x.Right = call(nameOrder, x.Left, x.Right), number(0)
		}
	}
	return x
}

func negated(e ast.Expression, not bool) ast.Expression {
	if not {
		return &ast.UnaryExpression{Operator: token.NOT, Operand: e}
	}
	return e
}

// updated puts the price of the old value before an operator that reads it as a
// number. Members pay through targetOf.
func (m *meter) updated(e, target ast.Expression) ast.Expression {
	switch t := target.(type) {
	case *ast.Identifier:
		if m.numbers[t.Name] {
			return e
		}
	case *ast.PrivateDotExpression:
		if !repeatable(t) {
			return e
		}
	default:
		return e
	}
	return &ast.SequenceExpression{Sequence: []ast.Expression{call(nameWeigh, target), e}}
}

// operand makes an expression pay before an operator reads it as a number.
func (m *meter) operand(e ast.Expression) ast.Expression {
	if m.plain(e) {
		return e
	}
	return call(nameWeigh, e)
}

// key makes an expression pay that names a property.
func (m *meter) key(e ast.Expression) ast.Expression {
	for _, paid := range []unistring.String{nameText, nameKey, nameAt, nameOld} {
		if _, ok := called(e, paid); ok {
			return e
		}
	}
	if m.trusted || m.plain(e) {
		return e
	}
	return call(nameKey, e)
}

// isLength reports whether an expression is a member called length.
func isLength(e ast.Expression) bool {
	switch x := e.(type) {
	case *ast.DotExpression:
		return x.Identifier.Name == "length"
	case *ast.BracketExpression:
		s, ok := x.Member.(*ast.StringLiteral)
		return ok && s.Value == "length"
	}
	return false
}

const shortString = 64 // units: reading it costs no more than a step

// short reports whether an expression is null, undefined or a short string: any
// value is compared with it by == at the price of a step.
func short(e ast.Expression) bool {
	switch x := e.(type) {
	case *ast.NullLiteral:
		return true
	case *ast.StringLiteral:
		return len(x.Value) <= shortString
	case *ast.Identifier:
		return x.Name == "undefined"
	}
	return false
}

// plain reports whether an expression is neither a long string nor an object,
// which may become one, whatever its variables are.
func (m *meter) plain(e ast.Expression) bool {
	switch x := e.(type) {
	case *ast.BooleanLiteral, *ast.UnaryExpression:
		return true
	case *ast.BinaryExpression:
		switch x.Operator {
		case token.PLUS:
			return m.numeric(x)
		case token.LOGICAL_AND, token.LOGICAL_OR, token.COALESCE:
			return m.plain(x.Left) && m.plain(x.Right)
		default:
			return true
		}
	case *ast.ConditionalExpression:
		return m.plain(x.Consequent) && m.plain(x.Alternate)
	case *ast.SequenceExpression:
		return m.plain(x.Sequence[len(x.Sequence)-1])
	case *ast.CallExpression:
		_, same := called(x, nameSame)
		_, alike := called(x, nameAlike)
		return same || alike
	}
	return short(e) || m.numeric(e)
}

// numeric reports whether an expression is a number whatever its variables
// are: adding two of them makes no string.
func (m *meter) numeric(e ast.Expression) bool {
	switch x := e.(type) {
	case *ast.NumberLiteral:
		return true
	case *ast.Identifier:
		return m.numbers[x.Name]
	case *ast.UnaryExpression:
		switch x.Operator {
		case token.MINUS, token.PLUS, token.BITWISE_NOT, token.INCREMENT, token.DECREMENT:
			return true
		default:
		}
	case *ast.BinaryExpression:
		return arithmetic(x.Operator) || x.Operator == token.PLUS && m.numeric(x.Left) && m.numeric(x.Right)
	}
	return false
}
