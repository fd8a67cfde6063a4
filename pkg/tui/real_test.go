package tui

import (
	"context"
	"slices"
	"testing"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/intent"
)

// onReal is a sandbox on real vCenters: what is not confirmed is asked about.
type onReal struct {
	*fake
	writable bool
}

func (r *onReal) Status(ctx context.Context) (api.Status, error) {
	s, err := r.fake.Status(ctx)
	s.Ground = api.Ground{Cluster: api.ClusterKind, Inventory: api.InventoryReal, Writable: r.writable}
	return s, err
}

func (r *onReal) VM(ctx context.Context, q api.VMRequest) (api.Done, error) {
	done, err := r.fake.VM(ctx, q)
	if err == nil && !q.Confirmed {
		err = &api.Error{Code: "unconfirmed", Message: q.VM + " is real: it is on again afterwards", Try: "the same with --yes"}
	}
	return done, err
}

func (d *driver) command(line string) {
	d.t.Helper()
	d.press(":")
	d.typedText(line)
	d.press("enter")
	d.until(func() bool { return d.under == 0 })
}

// What comes back unconfirmed is asked about with the sandbox's words; yes does it, and everything else leaves it.
func TestUnconfirmed(t *testing.T) {
	f := &fake{upTo: calm}
	d := drive(t, f, func(o *Options) { o.Sandbox = &onReal{fake: f, writable: true} })
	d.shows("kind, real vCenters, writable")
	asked := `vm {"action":"power-off","vm":"worker-west-1"}`
	d.command("vm power-off worker-west-1")
	d.shows("worker-west-1 is real: it is on again afterwards. Do it?")
	d.shows("$ vsphere-sandbox vm power-off worker-west-1 --yes")
	d.press("enter") // no is marked
	d.hides("is real")
	d.command("vm power-off worker-west-1")
	d.press("y")
	d.until(func() bool { return d.under == 0 })
	if want := []string{asked, asked, `vm {"action":"power-off","vm":"worker-west-1","confirmed":true}`}; !slices.Equal(f.done(), want) {
		t.Errorf("did %v", f.done())
	}
	d.hides("Do it?")
	d.shows("done")
}

// A person who has gone on to something else is not asked: the next key was meant for that.
func TestUnconfirmedTooLate(t *testing.T) {
	f := &fake{upTo: calm}
	d := drive(t, f, func(o *Options) { o.Sandbox = &onReal{fake: f} })
	d.shows("real vCenters, read-only")
	u := &intent.Unconfirmed{Ask: intent.VM{VMRequest: api.VMRequest{Action: api.Destroy, VM: "a"}}}
	d.unconfirmed(u, "", false)
	d.shows("Repeat it to confirm")
	if len(d.over) > 0 || len(f.done()) > 0 {
		t.Errorf("asks, or did %v", f.done())
	}
}
