package scoring

import "math"

// matrix is a square matrix in row-major order. Its size is a multiple of four,
// because the operations process four rows at a time: each loaded row is used
// for four independent sums.
type matrix struct {
	size int
	v    []float64
}

// newMatrix returns a zero matrix with at least n rows.
func newMatrix(n int) matrix {
	size := (n + 3) / 4 * 4
	return matrix{size: size, v: make([]float64, size*size)}
}

func (m matrix) row(i int) []float64 { return m.v[i*m.size : (i+1)*m.size : (i+1)*m.size] }

// dot returns the product of two rows of one length.
func dot(x, y []float64) float64 {
	y = y[:len(x)]
	sum := 0.0
	for k, v := range x {
		sum += v * y[k]
	}
	return sum
}

// dot4 returns the products of x and the beginnings of four rows.
func dot4(x, a, b, c, d []float64) (sa, sb, sc, sd float64) {
	a, b, c, d = a[:len(x)], b[:len(x)], c[:len(x)], d[:len(x)]
	for k, v := range x {
		sa += v * a[k]
		sb += v * b[k]
		sc += v * c[k]
		sd += v * d[k]
	}
	return sa, sb, sc, sd
}

// factor replaces a symmetric matrix, of which the lower half is given, by its
// Cholesky factor L, with L L' equal to the matrix. It reports whether the matrix
// is positive definite.
func (m matrix) factor() bool {
	for i := 0; i < m.size; i += 4 {
		a, b, c, d := m.row(i), m.row(i+1), m.row(i+2), m.row(i+3)
		for j := range i {
			row := m.row(j)
			sa, sb, sc, sd := dot4(row[:j], a, b, c, d)
			a[j] = (a[j] - sa) / row[j]
			b[j] = (b[j] - sb) / row[j]
			c[j] = (c[j] - sc) / row[j]
			d[j] = (d[j] - sd) / row[j]
		}
		for k := i; k < i+4; k++ {
			row := m.row(k)
			for j := i; j < k; j++ {
				row[j] = (row[j] - dot(row[:j], m.row(j))) / m.row(j)[j]
			}
			square := row[k] - dot(row[:k], row)
			if !(square > 0) { // or not a number
				return false
			}
			row[k] = math.Sqrt(square)
		}
	}
	return true
}

// solve replaces y by the solution x of L L' x = y.
func (m matrix) solve(y []float64) {
	for i := range y {
		row := m.row(i)
		y[i] = (y[i] - dot(row[:i], y)) / row[i]
	}
	for i := len(y) - 1; i >= 0; i-- {
		row := m.row(i)
		y[i] /= row[i]
		for j, l := range row[:i] {
			y[j] -= l * y[i]
		}
	}
}

// inverse returns the inverse of L L', both halves, and overwrites L.
func (m matrix) inverse() matrix {
	// Row i of t is column i of the inverse of L.
	t := newMatrix(m.size)
	for i := 0; i < m.size; i += 4 {
		a, b, c, d := t.row(i), t.row(i+1), t.row(i+2), t.row(i+3)
		for k := i; k < i+4; k++ {
			row := m.row(k)
			for j := i; j < k; j++ {
				t.row(j)[k] = -dot(row[i:k], t.row(j)[i:]) / row[k]
			}
			t.row(k)[k] = 1 / row[k]
		}
		for k := i + 4; k < m.size; k++ {
			row := m.row(k)
			sa, sb, sc, sd := dot4(row[i:k], a[i:], b[i:], c[i:], d[i:])
			a[k], b[k], c[k], d[k] = -sa/row[k], -sb/row[k], -sc/row[k], -sd/row[k]
		}
	}
	for i := 0; i < m.size; i += 4 {
		a, b, c, d := t.row(i), t.row(i+1), t.row(i+2), t.row(i+3)
		for k := i; k < m.size; k++ {
			row := m.row(k)
			sa, sb, sc, sd := dot4(t.row(k)[k:], a[k:], b[k:], c[k:], d[k:])
			row[i], row[i+1], row[i+2], row[i+3] = sa, sb, sc, sd
			m.row(i)[k], m.row(i + 1)[k], m.row(i + 2)[k], m.row(i + 3)[k] = sa, sb, sc, sd
		}
	}
	return m
}

// forms returns b' M b for each row b of rows. Only the lower half of the
// symmetric M is used.
func (m matrix) forms(rows matrix) []float64 {
	sums := make([]float64, m.size)
	for i := 0; i < m.size; i += 4 {
		a, b, c, d := rows.row(i), rows.row(i+1), rows.row(i+2), rows.row(i+3)
		for k := range m.size {
			row := m.row(k)
			sa, sb, sc, sd := dot4(row[:k], a, b, c, d)
			sums[i] += a[k] * (2*sa + row[k]*a[k])
			sums[i+1] += b[k] * (2*sb + row[k]*b[k])
			sums[i+2] += c[k] * (2*sc + row[k]*c[k])
			sums[i+3] += d[k] * (2*sd + row[k]*d[k])
		}
	}
	return sums
}

// multiply sets m to a b', whose elements are the products of rows of both.
func (m matrix) multiply(a, b matrix) {
	for i := 0; i < m.size; i += 4 {
		r0, r1, r2, r3 := a.row(i), a.row(i+1), a.row(i+2), a.row(i+3)
		for j := range m.size {
			s0, s1, s2, s3 := dot4(b.row(j), r0, r1, r2, r3)
			m.row(i)[j], m.row(i + 1)[j], m.row(i + 2)[j], m.row(i + 3)[j] = s0, s1, s2, s3
		}
	}
}
