//go:build !release

package programs

// sources is empty: only a release carries them.
func sources() []byte { return nil }
