package apply

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/vmware/govmomi/fault"
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/pbm"
	pbmtypes "github.com/vmware/govmomi/pbm/types"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/policy"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
)

// nasType returns the vSphere API's name of an NFS type; empty for other types.
func nasType(t topology.DatastoreType) types.HostFileSystemVolumeFileSystemType {
	switch t {
	case topology.NFS:
		return types.HostFileSystemVolumeFileSystemTypeNFS
	case topology.NFS41:
		return types.HostFileSystemVolumeFileSystemTypeNFS41
	}
	return ""
}

func (p *planner) missingDatastore(n *named) {
	switch n.datastore.Type {
	case topology.VSAN, topology.VVOL:
		p.cannot(n.path, "has type %s, which hosts provide and the API cannot create", n.datastore.Type)
		return
	}
	if len(p.members(n)) == 0 {
		return // no host mounts it, so no vCenter shows it
	}
	p.create(n, fmt.Sprintf("%s, %s, on %d hosts", n.datastore.Type, n.datastore.Capacity, len(p.members(n))),
		func(ctx context.Context, c *vim25.Client) (ref, error) {
			for _, key := range p.members(n) {
				host, err := p.find(key)
				if err != nil {
					return ref{}, err
				}
				if err := p.mount(ctx, c, n, host); err != nil {
					return ref{}, fmt.Errorf("host %s: %w", base(key), err)
				}
			}
			return p.child(ctx, c, dcKey(n.dc)+"/datastore", n.datastore.Name)
		})
}

// mount mounts a datastore on a host. Each host mounts an export; the first host creates a VMFS volume on the LUN with its name,
// and all others that see the LUN find it.
func (p *planner) mount(ctx context.Context, c *vim25.Client, n *named, host ref) error {
	system, err := reload[ref](ctx, c, host, "configManager.datastoreSystem")
	if err != nil {
		return err
	}
	dss := object.NewHostDatastoreSystem(c, system)
	if kind := nasType(n.datastore.Type); kind != "" {
		_, err = dss.CreateNasDatastore(ctx, types.HostNasVolumeSpec{
			RemoteHost: "nfs.sandbox.test", RemotePath: "/export/" + n.datastore.Name, LocalPath: n.datastore.Name,
			AccessMode: string(types.HostMountModeReadWrite), Type: string(kind),
		})
		if fault.Is(err, new(types.DuplicateName)) || fault.Is(err, new(types.AlreadyExists)) {
			return nil
		}
		return err
	}
	if there, err := p.child(ctx, c, dcKey(n.dc)+"/datastore", n.datastore.Name); err == nil {
		return rescan(ctx, c, host, there)
	}
	disks, err := dss.QueryAvailableDisksForVmfs(ctx)
	if err != nil {
		return err
	}
	for _, d := range disks {
		if !strings.HasSuffix(d.DisplayName, " "+n.datastore.Name) && d.DisplayName != n.datastore.Name {
			continue
		}
		options, err := dss.QueryVmfsDatastoreCreateOptions(ctx, d.DevicePath)
		if err != nil {
			return err
		}
		if len(options) == 0 {
			return fmt.Errorf("disk %s: cannot be formatted", d.CanonicalName)
		}
		spec := *options[0].Spec.(*types.VmfsDatastoreCreateSpec)
		spec.Vmfs.VolumeName = n.datastore.Name
		_, err = dss.CreateVmfsDatastore(ctx, spec)
		return err
	}
	return fmt.Errorf("sees no disk %s", n.datastore.Name)
}

// rescan makes a host search for an existing datastore.
func rescan(ctx context.Context, c *vim25.Client, host, datastore ref) error {
	mounted := func() (bool, error) {
		list, err := reload[types.ArrayOfManagedObjectReference](ctx, c, host, "datastore")
		return slices.Contains(list.ManagedObjectReference, datastore), err
	}
	if has, err := mounted(); has || err != nil {
		return err
	}
	system, err := reload[ref](ctx, c, host, "configManager.storageSystem")
	if err != nil {
		return err
	}
	if err := object.NewHostStorageSystem(c, system).RescanVmfs(ctx); err != nil {
		return err
	}
	if has, err := mounted(); has || err != nil {
		return err
	}
	return errors.New("does not see the disk under it")
}

func (p *planner) datastoreDiffers(n *named, live *entity) {
	capacity := topology.Bytes(get[int64](live, "summary.capacity"))
	if capacity != n.datastore.Capacity {
		p.cannot(n.path, "has a capacity of %s, and disks are not changed: %s is wanted", capacity, n.datastore.Capacity)
	}
	if before := p.before[n.key]; before != nil && before.datastore != nil {
		if before.datastore.Type != n.datastore.Type {
			p.cannot(n.path, "is %s, and stays so: %s is wanted", before.datastore.Type, n.datastore.Type)
		}
		if before.datastore.Used != n.datastore.Used {
			p.cannot(n.path, "used: is what it was at the start (%s), and %s is wanted", before.datastore.Used, n.datastore.Used)
		}
	}
	var now, add, keep []ref
	for _, m := range get[types.ArrayOfDatastoreHostMount](live, "host").DatastoreHostMount {
		now = append(now, m.Key)
	}
	for _, key := range p.members(n) {
		if o := p.byKey[key]; o == nil {
			continue
		} else if keep = append(keep, o.ref); !slices.Contains(now, o.ref) {
			add = append(add, o.ref)
		}
	}
	if len(add) > 0 {
		p.step(Change, n.kind, n.path, "mount on "+p.names(add), func(ctx context.Context, c *vim25.Client) error {
			for _, host := range add {
				if err := p.mount(ctx, c, n, host); err != nil {
					return err
				}
			}
			return nil
		})
	}
	if off := less(p.stay(now), keep); len(off) > 0 {
		p.cannot(n.path, "is mounted on %s, and is not taken from hosts", p.names(off))
	}
}

// readPolicies reads the storage policies, by name.
func readPolicies(ctx context.Context, c *vim25.Client) (map[string]*pbmtypes.PbmCapabilityProfile, error) {
	client, err := pbm.NewClient(ctx, c)
	if err != nil {
		return nil, err
	}
	ids, err := client.QueryProfile(ctx, policy.Storage(), string(pbmtypes.PbmProfileCategoryEnumREQUIREMENT))
	if err != nil || len(ids) == 0 {
		return nil, err
	}
	list, err := client.RetrieveContent(ctx, ids)
	if err != nil {
		return nil, err
	}
	all := make(map[string]*pbmtypes.PbmCapabilityProfile, len(list))
	for _, one := range list {
		if p, ok := one.(*pbmtypes.PbmCapabilityProfile); ok {
			all[p.Name] = p
		}
	}
	return all, nil
}

// storagePolicies plans missing and changed storage policies.
func (p *planner) storagePolicies() {
	for i := range p.want.Policies {
		spec := policy.Spec(&p.want.Policies[i])
		live := p.profiles[spec.Name]
		if live == nil {
			p.policyStep(Create, spec.Name, rules(&p.want.Policies[i]), func(ctx context.Context, c *pbm.Client) error {
				_, err := c.CreateProfile(ctx, spec)
				return err
			})
			continue
		}
		var what []string
		update := pbmtypes.PbmCapabilityProfileUpdateSpec{}
		if spec.Description != "" && spec.Description != live.Description {
			update.Description = spec.Description
			what = append(what, "description")
		}
		if !policy.Same(spec.Constraints, live.Constraints) {
			update.Constraints = spec.Constraints
			what = append(what, rules(&p.want.Policies[i]))
		}
		if len(what) > 0 {
			p.policyStep(Change, spec.Name, strings.Join(what, ", "), func(ctx context.Context, c *pbm.Client) error {
				return c.UpdateProfile(ctx, live.ProfileId, update)
			})
		}
	}
}

// rules describes the rules of a policy.
func rules(p *topology.Policy) string {
	var all []string
	for _, tag := range p.Tags {
		all = append(all, tag.Category+"/"+tag.Name)
	}
	var kinds []string
	for _, kind := range p.Types {
		kinds = append(kinds, string(kind))
	}
	if len(kinds) > 0 {
		all = append(all, strings.Join(kinds, " or "))
	}
	return strings.Join(all, " and ")
}

func (p *planner) policyStep(op Op, name, what string, run func(context.Context, *pbm.Client) error) {
	p.step(op, KindPolicy, name, what, func(ctx context.Context, c *vim25.Client) error {
		client, err := pbm.NewClient(ctx, c)
		if err != nil {
			return err
		}
		return run(ctx, client)
	})
}

// removePolicies plans the removal of storage policies that only the previous topology had or, with Prune, of all that the
// topology does not name. A vCenter refuses to remove one in use, and the step fails.
func (p *planner) removePolicies() {
	var had []string
	for _, t := range p.opts.before() {
		if v := vcenterOf(t, p.want.Name); v != nil {
			for i := range v.Policies {
				had = append(had, v.Policies[i].Name)
			}
		}
	}
	for _, name := range slices.Sorted(mapKeys(p.profiles)) {
		live := p.profiles[name]
		wanted := slices.ContainsFunc(p.want.Policies, func(w topology.Policy) bool { return w.Name == name })
		if wanted || policy.BuiltIn(live) || !p.opts.Prune && !slices.Contains(had, name) {
			continue
		}
		p.policyStep(Remove, name, "", func(ctx context.Context, c *pbm.Client) error {
			outcomes, err := c.DeleteProfile(ctx, []pbmtypes.PbmProfileId{live.ProfileId})
			for _, o := range outcomes {
				if err == nil && o.Fault != nil {
					err = fmt.Errorf("%T: %s", o.Fault.Fault, o.Fault.LocalizedMessage)
				}
			}
			return err
		})
	}
}
