package expect

import "slices"

// ForNever makes it the statement of a never: a statement about several things is true if it is true of one of them, as none may
// be. It keeps an explicit count.
func (x *Expectation) ForNever() {
	for _, one := range slices.Concat(x.All, x.Any) {
		one.ForNever()
	}
	if r := x.Rows; r != nil && r.Count == nil && r.Exists == nil && r.several() {
		r.Count = &Count{Op: ">=", N: 1}
	}
}

// several reports whether it may be about more than one thing.
func (s *Rows) several() bool {
	return len(s.Where) > 0 || len(s.Names) > 1 || slices.ContainsFunc(s.Names, IsPattern)
}
