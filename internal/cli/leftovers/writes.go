package leftovers

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/command"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/report"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/vcenterconfig"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/instance"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/vcenters/real"
)

// Writes takes back what the dead sandbox of an instance directory, which may be gone, has written to real vCenters. getenv
// has the credentials where those were from the environment.
func Writes(ctx context.Context, dir string, getenv func(string) string, say func(string)) error {
	left, err := real.LeftWrites(dir)
	if err != nil || left == nil {
		return err
	}
	if left.Keep {
		say(fmt.Sprintf("%d writes to real VMs are kept, as requested", len(left.Pending)))
		return left.Forget()
	}
	for _, e := range left.Pending {
		say("takes back " + left.Words(e))
	}
	config, err := vcenterconfig.Of(left.Source, getenv)
	if err == nil {
		err = left.Revert(ctx, config)
	}
	if err != nil {
		return undone(dir, len(left.Pending), vcenterconfig.Explain(ctx, err))
	}
	return nil
}

// Unreverted says which sandboxes of a state directory that do not run have written to real vCenters and not taken back how
// much. Of most of them there is nothing else left.
func Unreverted(root string) (map[string]int, error) {
	all, err := real.Unreverted(root)
	if err != nil {
		return nil, err
	}
	for name := range all {
		dir, err := instance.Open(root, name)
		if errors.As(err, new(instance.ErrNotFound)) {
			continue
		}
		if err != nil {
			return nil, err
		}
		if _, running := dir.Running(); running {
			delete(all, name)
		}
	}
	return all, nil
}

// Words say that writes are left, and how to take them back.
func Words(name string, writes int) string {
	return fmt.Sprintf("%d writes to real VMs are not taken back: %s down --name %s does so", writes, command.Program, name)
}

// undone returns the error of writes that are not reverted: what and where, with the code and the advice of the reason,
// which otherwise would replace it.
func undone(dir string, n int, why error) error {
	cause := report.Of(why)
	again := "vsphere-sandbox down --name " + filepath.Base(dir) + "   # which tries again"
	return &report.Error{
		Code: cause.Code, Message: fmt.Sprintf("sandbox %q: %d writes to real VMs are not taken back", filepath.Base(dir), n), Err: why,
		Try: strings.TrimPrefix(cause.Try+"\n"+again, "\n"), Exit: cause.Exit,
	}
}
