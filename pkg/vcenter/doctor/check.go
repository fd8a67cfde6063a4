package doctor

import (
	"context"
	"errors"
	"strings"
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
	// Cluster, when set, has its nodes matched with the VMs.
	Cluster *Cluster
	// NodesOnly, with a Cluster, leaves out VMs that are none of its nodes and are not called as one of them.
	NodesOnly bool
	// Inspect, when set, is handed everything that was read of a vCenter, for more questions; it must not change it.
	Inspect func(ctx context.Context, c *vcenter.Connection, inv *inventory.Inventory)
	// OnStep, when set, is told what is being looked at, before it is; vCenters may take their time to answer.
	OnStep func(vcenter, what string)
}

// Check looks at every vCenter of a configuration, one after the other, and at what their VMs have twice. What cannot be
// looked at is a finding, too.
func Check(ctx context.Context, config *vcenter.Config, o Options) []Finding {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.OnStep == nil {
		o.OnStep = func(string, string) {}
	}
	var (
		all   []Finding
		vms   []inventory.VM
		invs  []*inventory.Inventory
		whole = true
	)
	for _, v := range config.VCenters {
		l := &list{vcenter: v.Name}
		inv := l.one(ctx, v, inventory.Categories{Region: config.Region, Zone: config.Zone}, o)
		if inv == nil {
			whole = false
		} else {
			vms, invs = append(vms, inv.VMs...), append(invs, inv)
		}
		all = append(all, l.all...)
	}
	if err := inventory.Nowhere(invs...); err != nil && len(invs) == len(config.VCenters) {
		whole = false
		l := new(list)
		l.add(Error, "inventory", err.Error(), "no VM can be looked at that is chosen by it", "check the selection, and that the account may read the datacenters")
		all = append(all, l.all...)
	}
	all = append(all, duplicates(vms)...)
	if o.Cluster != nil {
		all = append(all, o.Cluster.match(vms, whole)...)
	}
	return all
}

// one checks a vCenter, and returns what was read of it; nil when its VMs cannot be known.
func (l *list) one(ctx context.Context, v vcenter.VCenter, categories inventory.Categories, o Options) *inventory.Inventory {
	o.OnStep(v.Name, "certificate and login")
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
	l.trust(ctx, v)
	o.OnStep(v.Name, "release and clock")
	l.release(ctx, c)
	l.clock(ctx, c, o)
	o.OnStep(v.Name, "inventory")
	inv, err := inventory.Read(ctx, c, o.Selection, categories)
	if err != nil {
		l.add(Error, "inventory", err.Error(), "no VM can be looked at", "check the selection, and that the account may read the datacenters")
		return nil
	}
	if o.Inspect != nil {
		o.Inspect(ctx, c, inv)
	}
	if o.Cluster != nil && o.NodesOnly {
		inv.VMs = o.Cluster.concerned(inv.VMs)
	}
	for _, w := range inv.Warnings {
		l.add(Warning, "inventory-warning", w, "what is said of VMs below is not about all that was asked for",
			"check the selection, and that the account may read tags")
	}
	switch {
	case len(inv.VMs) == 0 && len(inv.Absent) > 0: // which another vCenter may have
		l.ok("inventory", "0 VMs: it does not have all that was chosen")
		return inv
	case len(inv.VMs) == 0:
		l.add(Warning, "inventory", "there are no such VMs that the account may see", "no node can be found", "check the selection, and grant the account ReadOnly on the datacenters")
		return inv
	}
	l.ok("inventory", "%d VMs", len(inv.VMs))
	o.OnStep(v.Name, "privileges")
	l.privileges(ctx, c, inv)
	o.OnStep(v.Name, "tags")
	l.tags(ctx, c, inv, categories)
	o.OnStep(v.Name, "VMs")
	l.machines(ctx, c, inv.VMs)
	return inv
}

// refused says why there is no session.
func (l *list) refused(err error) {
	var untrusted *vcenter.UntrustedError
	switch {
	case errors.As(err, &untrusted):
		l.add(Error, "certificate-trust", strings.TrimSuffix(untrusted.Error(), ": "+untrusted.Try), "nothing will talk to it", untrusted.Try)
	case errors.Is(err, client.ErrCertificate): // and it did not show its certificate again, or the authorities cannot be read
		l.add(Error, "certificate-trust", err.Error(), "nothing will talk to it", "check the file of authorities, and ask once more")
	case errors.Is(err, client.ErrInvalidLogin), errors.Is(err, client.ErrNoCredentials):
		l.add(Error, "login", err.Error(), "nothing can be asked", "check user and password; a user is written with its domain, such as cpi@vsphere.local")
	default:
		l.add(Error, "login", err.Error(), "nothing can be asked", "check that the account has a permission anywhere in the inventory, and that this is a vCenter")
	}
}
