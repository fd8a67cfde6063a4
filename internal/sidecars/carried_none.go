//go:build !release

package sidecars

// carried is empty: only a release carries the program.
func carried() []byte { return nil }
