package doctor

import (
	"context"
	"errors"
	"time"

	client "github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/vcenter"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/vcenter"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/vcenter/inventory"
)

// Options of [Check]. UserAgent is mandatory.
type Options struct {
	// UserAgent is sent with every request.
	UserAgent string
	// Selection says which VMs are, or are to be, nodes; the zero value means all.
	Selection inventory.Selection
	// Patience bounds every call. Default: that of package vcenter.
	Patience time.Duration
	// Now is this machine's clock. Default: the real one.
	Now func() time.Time
}

// Check looks at every vCenter of a configuration, one after the other, and at what their VMs have twice. What cannot be
// looked at is a finding, too.
func Check(ctx context.Context, config *vcenter.Config, o Options) []Finding {
	if o.Now == nil {
		o.Now = time.Now
	}
	var (
		all []Finding
		vms []inventory.VM
	)
	for _, v := range config.VCenters {
		l := &list{vcenter: v.Name}
		vms = append(vms, l.one(ctx, v, inventory.Categories{Region: config.Region, Zone: config.Zone}, o)...)
		all = append(all, l.all...)
	}
	return append(all, duplicates(vms)...)
}

// one checks a vCenter, and returns its VMs.
func (l *list) one(ctx context.Context, v vcenter.VCenter, categories inventory.Categories, o Options) []inventory.VM {
	if !l.certificate(ctx, v, o) {
		return nil
	}
	c, err := v.Connect(ctx, vcenter.Options{UserAgent: o.UserAgent, Patience: o.Patience})
	if err != nil {
		l.refused(err)
		return nil
	}
	defer c.Close()
	l.ok("login", "%v lets us in", v)
	l.release(ctx, c)
	l.clock(ctx, c, o)
	inv, err := inventory.Read(ctx, c, o.Selection, categories)
	if err != nil {
		l.add(Error, "inventory", err.Error(), "no VM can be looked at", "check the selection, and that the account may read the datacenters")
		return nil
	}
	if len(inv.VMs) == 0 {
		l.add(Warning, "inventory", "there are no such VMs that the account may see", "no node can be found", "check the selection, and grant the account ReadOnly on the datacenters")
		return nil
	}
	l.ok("inventory", "%d VMs", len(inv.VMs))
	l.privileges(ctx, c, inv)
	l.tags(ctx, c, inv, categories)
	l.machines(ctx, c, inv.VMs)
	return inv.VMs
}

// refused says why there is no session.
func (l *list) refused(err error) {
	var untrusted *vcenter.UntrustedError
	switch {
	case errors.As(err, &untrusted):
		l.add(Error, "certificate-trust", err.Error(), "nothing will talk to it", untrusted.Try)
	case errors.Is(err, client.ErrInvalidLogin), errors.Is(err, client.ErrNoCredentials):
		l.add(Error, "login", err.Error(), "nothing can be asked", "check user and password; a user is written with its domain, such as cpi@vsphere.local")
	default:
		l.add(Error, "login", err.Error(), "nothing can be asked", "check that the account has a permission anywhere in the inventory, and that this is a vCenter")
	}
}
