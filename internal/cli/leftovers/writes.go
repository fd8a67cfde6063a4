package leftovers

import (
	"context"
	"fmt"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/vcenterconfig"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox"
)

// Writes takes back what the dead sandbox of an instance directory, which may be gone, has written to real vCenters. getenv
// has the credentials where those were from the environment.
func Writes(ctx context.Context, dir string, getenv func(string) string, say func(string)) error {
	left, err := sandbox.LeftWrites(dir)
	if err != nil || left == nil {
		return err
	}
	for _, e := range left.Pending {
		say("takes back " + left.Words(e))
	}
	config, err := vcenterconfig.Of(left.Source, getenv)
	if err == nil {
		err = left.Revert(ctx, config)
	}
	if err != nil {
		return fmt.Errorf("%d writes to real VMs are not taken back: %w", len(left.Pending), vcenterconfig.Explain(ctx, err))
	}
	return nil
}
