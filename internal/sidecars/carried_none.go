//go:build !release

package sidecars

// archive is empty: only a release carries the program.
func archive() []byte { return nil }
