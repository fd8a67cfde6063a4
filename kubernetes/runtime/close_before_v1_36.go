//go:build before_v1_36

package runtime

// Close implements the CRI. There is no connection.
func (r *Runtime) Close() error { return nil }
