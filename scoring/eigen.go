package scoring

import "math"

// clip replaces a symmetric matrix, of which the lower half is given, by the
// nearest positive semidefinite one: its negative eigenvalues become 0. Both
// halves are set. A matrix without negative eigenvalues stays as it is, which
// Cholesky's method finds out in a small part of the time; it ignores those that
// rounding makes, relative to the largest element.
func (m matrix) clip() {
	for i := range m.size {
		for j := range i {
			m.row(j)[i] = m.row(i)[j]
		}
	}
	largest := 0.0
	for _, v := range m.v {
		largest = max(largest, math.Abs(v))
	}
	if largest == 0 {
		return
	}
	other := matrix{m.size, make([]float64, len(m.v))}
	copy(other.v, m.v)
	for i := range m.size {
		other.row(i)[i] += 1e-9 * largest
	}
	if other.factor() {
		return
	}
	values := m.eigen(other)
	clear(m.v)
	for k, value := range values {
		if value <= 0 {
			continue
		}
		vector := other.row(k)
		for i, v := range vector {
			if v *= value; v != 0 {
				addTo(m.row(i)[:i+1], vector, v)
			}
		}
	}
	for i := range m.size {
		for j := range i {
			m.row(j)[i] = m.row(i)[j]
		}
	}
}

// addTo adds a multiple of the beginning of x to y.
func addTo(y, x []float64, factor float64) {
	x = x[:len(y)]
	for i, v := range x {
		y[i] += factor * v
	}
}

// eigen returns the eigenvalues of a symmetric matrix, which it overwrites, and
// puts the eigenvectors into the rows of vectors in the same order.
//
// Householder reflections make it tridiagonal, then QL steps with implicit shifts
// make it diagonal (Martin, Reinsch and Wilkinson, "Householder's
// Tridiagonalization of a Symmetric Matrix", and Dubrulle, Martin and Wilkinson,
// "The Implicit QL Algorithm", Numerische Mathematik 11 and 12, 1968). Vectors are
// rows, because all steps then run along memory.
func (m matrix) eigen(vectors matrix) (values []float64) {
	n := m.size
	diagonal, beside, lengths := make([]float64, n), make([]float64, n), make([]float64, n)
	for i := n - 1; i > 0; i-- {
		beside[i], lengths[i] = m.reflect(i)
	}
	for i := range n {
		diagonal[i] = m.row(i)[i]
	}
	// The product of all reflections, which are I - u u'/length with u in row i.
	clear(vectors.v)
	for i := range n {
		if lengths[i] != 0 {
			u := m.row(i)[:i]
			for j := range i {
				row := vectors.row(j)[:i]
				addTo(row, u, -dot(u, row)/lengths[i])
			}
		}
		vectors.row(i)[i] = 1
	}
	copy(beside, beside[1:])
	beside[n-1] = 0
	scale := 0.0
	for i := range n {
		scale = max(scale, math.Abs(diagonal[i])+math.Abs(beside[i]))
	}
	for i := range n {
		// Fewer than two steps on average; the bound guards against NaN.
		for range 60 {
			end := i
			for end < n-1 && !(math.Abs(beside[end]) <= 0x1p-52*scale) {
				end++
			}
			if end == i {
				break
			}
			stepQL(diagonal, beside, vectors, i, end)
		}
	}
	return diagonal
}

// reflect makes row i and column i of the leading block zero, but for the element
// beside the diagonal, which it returns. It leaves the vector u of the reflection
// I - u u'/length in the row; a length of 0 means that none was needed.
func (m matrix) reflect(i int) (beside, length float64) {
	u := m.row(i)[:i]
	scale := 0.0
	for _, v := range u[:i-1] {
		scale += math.Abs(v)
	}
	if scale == 0 {
		return u[i-1], 0
	}
	scale += math.Abs(u[i-1])
	for k := range u {
		u[k] /= scale
	}
	length = dot(u, u)
	root := -math.Copysign(math.Sqrt(length), u[i-1])
	length -= u[i-1] * root
	u[i-1] -= root
	// p = A u / length from the lower half of A, then q = p - u (u'p)/(2 length)
	// and A - q u' - u q'.
	p := make([]float64, i)
	for j := range i {
		row := m.row(j)[:j+1]
		p[j] += dot(row, u)
		addTo(p[:j], row, u[j])
	}
	for j := range p {
		p[j] /= length
	}
	addTo(p, u, -dot(u, p)/(2*length))
	for j := range i {
		row, uj, pj := m.row(j)[:j+1], u[j], p[j]
		for k := range row {
			row[k] -= uj*p[k] + pj*u[k]
		}
	}
	return scale * root, length
}

// stepQL does one implicit QL step on the rows from begin to end of a tridiagonal
// matrix.
func stepQL(diagonal, beside []float64, vectors matrix, begin, end int) {
	g := (diagonal[begin+1] - diagonal[begin]) / (2 * beside[begin])
	r := math.Hypot(g, 1)
	g = diagonal[end] - diagonal[begin] + beside[begin]/(g+math.Copysign(r, g))
	sin, cos, p := 1.0, 1.0, 0.0
	for i := end - 1; i >= begin; i-- {
		f, b := sin*beside[i], cos*beside[i]
		r = math.Hypot(f, g)
		beside[i+1] = r
		if r == 0 {
			diagonal[i+1] -= p
			beside[end] = 0
			return
		}
		sin, cos = f/r, g/r
		g = diagonal[i+1] - p
		r = (diagonal[i]-g)*sin + 2*cos*b
		p = sin * r
		diagonal[i+1] = g + p
		g = cos*r - b
		x, y := vectors.row(i), vectors.row(i+1)
		y = y[:len(x)]
		for k, v := range x {
			w := y[k]
			y[k] = sin*v + cos*w
			x[k] = cos*v - sin*w
		}
	}
	diagonal[begin] -= p
	beside[begin], beside[end] = g, 0
}
