//go:build !linux

package trim

// unmapCode does nothing: the system does it when memory is short.
func unmapCode() {}
