package kind

import (
	"context"
	"fmt"
	"os"
)

// Logs writes what the runtime and the nodes have logged into dir, which is made, a folder for each node. Nodes that do not
// run are left out. The files are for their owner only: Kubernetes logs no secrets, but programs in pods may.
func (c *Cluster) Logs(ctx context.Context, dir string) error {
	if c.rt == nil {
		return fmt.Errorf("cluster %s: has not been made", c.Name())
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	collected := make(chan error, 1)
	l := &logger{say: func(string, ...any) {}}
	go func() { collected <- c.provider(l).CollectLogs(c.Name(), dir) }()
	select {
	case err := <-collected:
		if entries, e := os.ReadDir(dir); err != nil && e == nil && len(entries) > 0 {
			return nil // some program or other is missing in every image
		}
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
