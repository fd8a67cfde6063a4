package doctor

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/vmware/govmomi/session"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/shorten"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/privilege"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/vcenter"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/vcenter/inventory"
)

// need is a set of privileges that an account needs on objects.
type need struct {
	id, noun   string
	privileges []string
	on         []types.ManagedObjectReference
	level      Level
	why, try   string
}

// needs returns the privileges for the cloud provider and the driver, by object.
func needs(inv *inventory.Inventory) []need {
	var roots, vms, hosts, datastores []types.ManagedObjectReference
	for ref, o := range inv.Tree {
		switch {
		case ref.Type == "Folder" && o.Parent.Value == "":
			roots = append(roots, ref)
		case ref.Type == "Datastore":
			datastores = append(datastores, ref)
		case ref.Type == "HostSystem":
			hosts = append(hosts, ref)
		}
	}
	for _, vm := range inv.VMs {
		vms = append(vms, vm.Ref)
	}
	var reading []string // required privileges that every role has
	for _, p := range privilege.Always() {
		if p.Need != privilege.Neither {
			reading = append(reading, p.ID)
		}
	}
	return []need{
		{
			"privileges-ccm", "VM", reading, vms, Error,
			"the cloud provider does not find the node", "grant the account ReadOnly on the datacenter, propagating",
		},
		{
			"privileges-hosts", "host", reading, hosts, Error,
			"neither zones nor shared datastores are found", "grant the account ReadOnly on the datacenter, propagating",
		},
		{
			"privileges-csi-search", "root folder", privilege.Search().IDs(), roots, Error,
			"the CSI driver can make and find no volume", "grant a role with them on the root folder, not propagating",
		},
		{
			"privileges-csi-vm", "VM", privilege.Attach().IDs(), vms, Error,
			"the CSI driver can attach no volume to the node", "grant a role with them on the VMs' folder, propagating",
		},
		{
			"privileges-csi-datastore", "datastore", privilege.Volumes().IDs(), datastores, Warning,
			"the CSI driver can make no volume there", "grant a role with it on each datastore that is to hold volumes",
		},
	}
}

// privileges checks the account's privileges.
func (l *list) privileges(ctx context.Context, c *vcenter.Connection, inv *inventory.Inventory) {
	for _, n := range needs(inv) {
		if len(n.on) == 0 {
			l.add(n.level, n.id, "there is no "+n.noun+" that the account may see", n.why, n.try)
			continue
		}
		lacking, on, err := denied(ctx, c, n)
		switch {
		case err != nil:
			l.add(Warning, n.id, "cannot be asked: "+err.Error(), "what the account may do is not known",
				"look at its roles in the vSphere Client: it needs "+strings.Join(n.privileges, ", "))
		case len(on) > 0:
			var where []string
			for _, ref := range on {
				if o := inv.Tree[ref]; o != nil {
					where = append(where, o.Name)
				}
			}
			slices.Sort(where)
			l.add(n.level, n.id, fmt.Sprintf("the account lacks %s on %d of %d: %s %s", strings.Join(lacking, ", "), len(on), len(n.on), n.noun, shorten.List(where, shown)), n.why, n.try)
		default:
			l.ok(n.id, "the account has %s (%s: %d)", strings.Join(n.privileges, ", "), n.noun, len(n.on))
		}
	}
}

// denied returns the objects with missing privileges, and those privileges.
func denied(ctx context.Context, c *vcenter.Connection, n need) (lacking []string, on []types.ManagedObjectReference, err error) {
	for some := range slices.Chunk(n.on, 500) {
		err = c.Do(ctx, func(ctx context.Context, vim *vim25.Client) error {
			who, err := session.NewManager(vim).UserSession(ctx)
			if err == nil && who == nil {
				err = errors.New("session is gone")
			}
			if err != nil {
				return err
			}
			if vim.ServiceContent.AuthorizationManager == nil {
				return errors.New("it has no authorization manager")
			}
			res, err := methods.HasPrivilegeOnEntities(ctx, vim, &types.HasPrivilegeOnEntities{
				This: *vim.ServiceContent.AuthorizationManager, Entity: some, SessionId: who.Key, PrivId: n.privileges,
			})
			if err != nil {
				return err
			}
			for _, entity := range res.Returnval {
				full := true
				for _, p := range entity.PrivAvailability {
					if !p.IsGranted {
						full = false
						if !slices.Contains(lacking, p.PrivId) {
							lacking = append(lacking, p.PrivId)
						}
					}
				}
				if !full {
					on = append(on, entity.Entity)
				}
			}
			return nil
		})
		if err != nil {
			return nil, nil, err
		}
	}
	return lacking, on, nil
}

// release checks the release of the vCenter.
func (l *list) release(ctx context.Context, c *vcenter.Connection) {
	err := c.Do(ctx, func(_ context.Context, vim *vim25.Client) error { return l.about(vim.ServiceContent.About) })
	if err != nil {
		l.add(Error, "version", err.Error(), "its release is not known", "see that it is a vCenter, and ask once more")
	}
}

// about reports what a release lacks.
func (l *list) about(about types.AboutInfo) error {
	short, err := vcenter.ShortcomingOf(about)
	if err != nil {
		return err
	}
	is := fmt.Sprintf("is %s %s build %s, API %s", about.Name, about.Version, about.Build, about.ApiVersion)
	switch {
	case short == nil:
		l.ok("version", "%s", is)
	case short.Serious:
		l.add(Error, "version", is, short.Why, short.Try)
	default:
		l.add(Warning, "version", is, short.Why, short.Try)
	}
	return nil
}

// A larger difference of clocks makes timestamps misleading; beyond five minutes single sign-on refuses tokens.
const (
	skewed  = 5 * time.Second
	refused = 5 * time.Minute
)

// clock compares the vCenter's clock with the local one at the middle of the call.
func (l *list) clock(ctx context.Context, c *vcenter.Connection, o Options) {
	err := c.Do(ctx, func(ctx context.Context, vim *vim25.Client) error {
		before := o.Now()
		there, err := methods.GetCurrentTime(ctx, vim)
		if err != nil {
			return err
		}
		took := o.Now().Sub(before)
		skew := there.Sub(before.Add(took / 2)).Round(time.Millisecond)
		// The uncertainty of half the call is not skew.
		switch beyond := skew.Abs() - took/2; {
		case beyond > refused:
			l.add(Error, "clock", fmt.Sprintf("its clock is off by %v", skew.Round(time.Second)), "tokens of single sign-on are refused, certificates may be", "set both clocks by NTP")
		case beyond > skewed:
			l.add(Warning, "clock", fmt.Sprintf("its clock is off by %v", skew), "its events and our logs do not go together", "set both clocks by NTP")
		default:
			l.ok("clock", "its clock is right to %v", max(skew.Abs(), took/2).Round(time.Millisecond))
		}
		return nil
	})
	if err != nil {
		l.add(Error, "clock", err.Error(), "its time is not known", "see that it is a vCenter that is up, and ask once more")
	}
}
