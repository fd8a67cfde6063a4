//go:build !release

package programs

// archive is empty: only a release carries the program.
func archive() []byte { return nil }
