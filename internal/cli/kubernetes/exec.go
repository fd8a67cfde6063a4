package kubernetes

import (
	"context"
	"os"
	"syscall"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/iostreams"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
)

// Program returns the path of the Kubernetes program for a sandbox: its own, else, as on kind, the one here that is nearest to
// the cluster's release. The zero Status means the built-in program.
func Program(ctx context.Context, streams *iostreams.Streams, s api.Status) (string, error) {
	if s.KubernetesProgram != "" {
		return s.KubernetesProgram, nil
	}
	p, err := finder(streams).Nearest(ctx, s.KubernetesVersion)
	return p.Path, Explain(err)
}

// Exec makes this process the Kubernetes program with these arguments: signals, terminal and exit status are that program's. It
// returns only with an error.
func Exec(program string, args ...string) error {
	return &os.PathError{Op: "exec", Path: program, Err: syscall.Exec(program, append([]string{program}, args...), os.Environ())}
}
