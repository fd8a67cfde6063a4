package machine

import (
	"context"

	kinds "github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault"
)

// Files calls f, which makes, moves or removes the files of a VM and waits for that, while no other call does so in the
// target's vCenter: a simulated one reads datastores and folders without their locks then. f must not call it again.
func Files(ctx context.Context, c *kinds.Call, f func() error) error {
	end, err := c.Turn(ctx, "files of "+c.Target.VCenter)
	if err != nil {
		return err
	}
	defer end()
	return f()
}
