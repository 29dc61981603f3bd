package sandbox

import (
	"reflect"

	"github.com/dop251/goja/ast"
	"github.com/dop251/goja/token"
	"github.com/dop251/goja/unistring"
)

// numbers returns the names of variables that hold nothing but numbers, such as
// most counters of loops: let and const whose every value is one. Names count
// for the whole source. Operations on them need no price of their own.
func numbers(tree *ast.Program) map[unistring.String]bool {
	f := finder{map[unistring.String]bool{}, map[unistring.String][]ast.Expression{}, map[unistring.String]bool{}, map[*ast.Binding]bool{}}
	walk(reflect.ValueOf(tree), f.node)
	m := &meter{numbers: f.names}
	for name := range f.others {
		delete(f.names, name)
	}
	for before := -1; before != len(f.names); {
		before = len(f.names)
		for name := range f.names {
			for _, v := range f.values[name] {
				if !m.numeric(v) {
					delete(f.names, name)
				}
			}
		}
	}
	return f.names
}

type finder struct {
	names   map[unistring.String]bool             // declared by let and const
	values  map[unistring.String][]ast.Expression // that are assigned to a name
	others  map[unistring.String]bool             // names that get values elsewhere: parameters, patterns, var
	lexical map[*ast.Binding]bool
}

// walk calls see with a pointer to everything below a value that may be a node.
func walk(v reflect.Value, see func(any)) {
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			walk(v.Elem(), see)
		}
	case reflect.Slice:
		for i := range v.Len() {
			walk(v.Index(i), see)
		}
	case reflect.Struct:
		if v.CanAddr() {
			see(v.Addr().Interface())
		}
		for i := range v.NumField() {
			if f := v.Type().Field(i); f.IsExported() && f.Name != "DeclarationList" && f.Name != "File" {
				walk(v.Field(i), see)
			}
		}
	default: // words and positions
	}
}

// node notes what a node gives to names.
func (f *finder) node(n any) {
	switch n := n.(type) {
	case *ast.LexicalDeclaration:
		for _, b := range n.List {
			if name, ok := b.Target.(*ast.Identifier); ok {
				f.lexical[b], f.names[name.Name] = true, true
				if b.Initializer != nil {
					f.values[name.Name] = append(f.values[name.Name], b.Initializer)
				}
			}
		}
	case *ast.AssignExpression:
		if name, ok := n.Left.(*ast.Identifier); ok && !arithmetic(n.Operator) {
			f.values[name.Name] = append(f.values[name.Name], n.Right)
		}
	case *ast.Binding:
		if !f.lexical[n] {
			f.other(n.Target)
		}
	case *ast.ArrayPattern, *ast.ObjectPattern:
		f.other(n)
	case *ast.ParameterList:
		f.other(n.Rest)
	case *ast.CatchStatement:
		f.other(n.Parameter)
	case *ast.ForDeclaration:
		f.other(n.Target)
	case *ast.ForIntoExpression:
		f.other(n.Expression)
	case *ast.FunctionLiteral:
		f.other(n.Name)
	case *ast.ClassLiteral:
		f.other(n.Name)
	}
}

// other notes all names below a node.
func (f *finder) other(n any) {
	if n == nil {
		return
	}
	walk(reflect.ValueOf(n), func(n any) {
		if name, ok := n.(*ast.Identifier); ok {
			f.others[name.Name] = true
		}
	})
}

// arithmetic reports whether an operator makes a number of any operands.
func arithmetic(o token.Token) bool {
	switch o {
	case token.MINUS, token.MULTIPLY, token.SLASH, token.REMAINDER, token.EXPONENT, token.AND, token.OR,
		token.EXCLUSIVE_OR, token.SHIFT_LEFT, token.SHIFT_RIGHT, token.UNSIGNED_SHIFT_RIGHT:
		return true
	default:
		return false
	}
}
