package expect

import "slices"

// ForNever makes it the statement of a never: what is said of several things is true there when it is so of one of them,
// since that is what must not be. A count of its own is left alone.
func (x *Expectation) ForNever() {
	for _, one := range slices.Concat(x.All, x.Any) {
		one.ForNever()
	}
	if r := x.Rows; r != nil && r.Count == nil && r.Exists == nil && r.several() {
		r.Count = &Count{Op: ">=", N: 1}
	}
}

// several tells whether it may be about more than one thing.
func (s *Rows) several() bool {
	return len(s.Where) > 0 || len(s.Names) > 1 || slices.ContainsFunc(s.Names, IsPattern)
}
