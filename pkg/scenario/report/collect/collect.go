package collect

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/scenario/report/artifacts"
)

// Sandbox fetches what the nth sandbox of the run can tell now; of its events those after a Seq. What cannot be had does
// not keep the rest from being fetched. The directory's mask knows the sandbox's secrets already.
func Sandbox(ctx context.Context, d *artifacts.Dir, n int, c *api.Client, after uint64) error {
	status, err := c.Status(ctx)
	if err != nil {
		return err
	}
	var errs []error
	errs = append(errs,
		d.JSON(name("inventory", n, "status", "json"), status),
		inventory(ctx, d, n, c),
		logs(d, n, status),
		c.Events(ctx, after, false, func(e event.Event, lost uint64) error { return d.Event(n, api.EventLine{Event: e, Lost: lost}) }),
		objects(ctx, d, n, status),
		recording(ctx, d, n, c),
	)
	return errors.Join(errs...)
}

// name is that of a file of the nth sandbox.
func name(folder string, n int, what, ext string) string {
	return fmt.Sprintf("artifacts/%s/%d-%s.%s", folder, n, artifacts.FileName(what), ext)
}

func inventory(ctx context.Context, d *artifacts.Dir, n int, c *api.Client) error {
	save := func(what string, v any, err error) error {
		if err != nil {
			return fmt.Errorf("%s: %w", what, err)
		}
		return d.JSON(name("inventory", n, what, "json"), v)
	}
	var errs []error
	keep := func(err error) { errs = append(errs, err) }
	vcenters, err := c.VCenters(ctx)
	keep(save("vcenters", vcenters, err))
	datacenters, err := c.Datacenters(ctx)
	keep(save("datacenters", datacenters, err))
	hosts, err := c.Hosts(ctx)
	keep(save("hosts", hosts, err))
	vms, err := c.VMs(ctx)
	keep(save("vms", vms, err))
	zones, err := c.Zones(ctx)
	keep(save("zones", zones, err))
	nodes, err := c.Nodes(ctx)
	keep(save("nodes", nodes, err))
	calls, err := c.Calls(ctx)
	keep(save("calls", calls, err))
	return errors.Join(errs...)
}

// logs copies those that stand beside the components' and the sandbox's own.
func logs(d *artifacts.Dir, n int, status api.Status) error {
	folders := []string{filepath.Join(status.Dir, "logs")}
	for _, c := range status.Components {
		if c.Log != "" && !slices.Contains(folders, filepath.Dir(c.Log)) {
			folders = append(folders, filepath.Dir(c.Log))
		}
	}
	var errs []error
	for _, folder := range folders {
		errs = append(errs, Logs(d, n, folder))
	}
	return errors.Join(errs...)
}

// Logs copies the logs in a folder, as those of the nth sandbox: for one that cannot be asked.
func Logs(d *artifacts.Dir, n int, folder string) error {
	files, err := filepath.Glob(filepath.Join(folder, "*.log"))
	errs := []error{err}
	for _, path := range files {
		errs = append(errs, copyLog(d, name("logs", n, strings.TrimSuffix(filepath.Base(path), ".log"), "log"), path))
	}
	return errors.Join(errs...)
}

func copyLog(d *artifacts.Dir, name, path string) error {
	f, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil // it was replaced just now
	}
	if err != nil {
		return err
	}
	defer f.Close() // only read from
	return d.Copy(name, f)
}
