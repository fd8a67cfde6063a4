package runtime

import (
	"context"
	"strings"
)

// List returns the names of all containers, running or not, that have the label with that value.
func (r *Runtime) List(ctx context.Context, label, value string) ([]string, error) {
	return r.names(ctx, "ps", "--all", "--filter", "label="+label+"="+value, "--format", "{{.Names}}")
}

// names returns the lines of a command's output that are not empty.
func (r *Runtime) names(ctx context.Context, args ...string) ([]string, error) {
	out, err := r.Output(ctx, args...)
	if err != nil {
		return nil, err
	}
	return strings.Fields(string(out)), nil
}
