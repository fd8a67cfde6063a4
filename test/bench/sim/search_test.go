package sim

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"slices"
	"time"

	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/view"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/mo"
	"golang.org/x/sync/errgroup"
)

const (
	alone   = 1000 // searches of one client
	clients = 16   // that search at a time
	each    = 500  // searches of each
)

// order is what a process of clients is asked to do.
type order struct {
	URL   string // with user and password
	CA    string // file
	UUIDs []string
}

// searches measures FindByUuid. The clients run in a separate process, as real ones do: otherwise their garbage, more
// than half of all, would slow the vCenter down.
func searches(ctx context.Context, v *vcenter, note func(string, float64)) error {
	c, err := v.login(ctx)
	if err != nil {
		return err
	}
	o := order{URL: v.url.String(), CA: v.ca}
	if o.UUIDs, err = uuidsOf(ctx, c); err != nil {
		return err
	}
	text, err := json.Marshal(o)
	if err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, self, "-child", "clients")
	cmd.Stdin, cmd.Stderr = bytes.NewReader(text), os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("clients: %w", err)
	}
	var found figures
	if err := json.Unmarshal(out, &found); err != nil {
		return fmt.Errorf("clients: %w", err)
	}
	for _, f := range found {
		note(f.Name, f.Value)
	}
	return nil
}

// beClients is that process.
func beClients() error {
	var o order
	if err := json.NewDecoder(os.Stdin).Decode(&o); err != nil {
		return err
	}
	u, err := url.Parse(o.URL)
	if err != nil {
		return err
	}
	ctx := context.Background()
	// Do not measure its garbage collection or threads: it shares the cores with the vCenter.
	debug.SetGCPercent(-1)
	runtime.GOMAXPROCS(max(1, runtime.NumCPU()/2))
	v := &vcenter{url: u, ca: o.CA}
	all := make([]*vim25.Client, clients)
	for i := range all { // before anything is measured: a login costs more than many searches
		if all[i], err = v.login(ctx); err != nil {
			return err
		}
	}
	one, err := find(ctx, all[0], o.UUIDs, 0, alone)
	if err != nil {
		return err
	}
	crowd := make([][]float64, clients)
	g, ctx := errgroup.WithContext(ctx)
	for i, c := range all {
		g.Go(func() (err error) {
			crowd[i], err = find(ctx, c, o.UUIDs, i, each)
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	many := slices.Concat(crowd...)
	return json.NewEncoder(os.Stdout).Encode(figures{
		{search, percentile(one, 50)}, {crowd50, percentile(many, 50)}, {crowd99, percentile(many, 99)},
	})
}

// find searches n times, for another VM each time, and returns how long it took, in seconds. The first search, which
// may open a connection, is not counted.
func find(ctx context.Context, c *vim25.Client, uuids []string, offset, n int) ([]float64, error) {
	index := object.NewSearchIndex(c)
	times := make([]float64, 0, n)
	for i := range n + 1 {
		uuid := uuids[(offset+i*7919)%len(uuids)]
		begin := time.Now()
		r, err := index.FindByUuid(ctx, nil, uuid, true, nil)
		if err != nil {
			return nil, err
		}
		if r == nil {
			return nil, fmt.Errorf("UUID %s is not found", uuid)
		}
		if i > 0 {
			times = append(times, time.Since(begin).Seconds())
		}
	}
	return times, nil
}

func uuidsOf(ctx context.Context, c *vim25.Client) ([]string, error) {
	cv, err := view.NewManager(c).CreateContainerView(ctx, c.ServiceContent.RootFolder, []string{"VirtualMachine"}, true)
	if err != nil {
		return nil, err
	}
	var vms []mo.VirtualMachine
	if err := cv.Retrieve(ctx, []string{"VirtualMachine"}, []string{"config.uuid"}, &vms); err != nil {
		return nil, err
	}
	uuids := make([]string, len(vms))
	for i, vm := range vms {
		uuids[i] = vm.Config.Uuid
	}
	return uuids, cv.Destroy(ctx)
}

func percentile(values []float64, p int) float64 {
	slices.Sort(values)
	return values[min(len(values)-1, len(values)*p/100)]
}
