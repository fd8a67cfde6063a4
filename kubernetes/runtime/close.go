//go:build !before_v1_36

package runtime

import "context"

// Close implements the CRI. There is no connection.
func (r *Runtime) Close(context.Context) error { return nil }
