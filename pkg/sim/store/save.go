package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/vmware/govmomi/fault"
	"github.com/vmware/govmomi/property"
	"github.com/vmware/govmomi/vapi/rest"
	"github.com/vmware/govmomi/vapi/tags"
	"github.com/vmware/govmomi/view"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/internal/vc"
	rests "github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/rest"
)

// Options configures [Save].
type Options struct {
	// Name is the vCenter's name in the folder. Default: the host in the client's URL.
	Name string
	// Scrub anonymizes the folder: names of hosts and guests, IP addresses and users are replaced, consistently within the folder
	// and across saves of the same inventory; annotations, guestinfo variables, certificates and license keys are removed. Names
	// of objects stay, except for host names in them; so do UUIDs and MAC addresses. A host whose name is a plain word ("green")
	// is renamed where the name of a host is expected.
	Scrub bool
	// Replace replaces an existing folder once the new one is complete. Without it, the folder must not exist, or be empty.
	Replace bool
	// Progress, if not nil, is called with the number of objects saved, and of all.
	Progress func(saved, all int)
}

// Summary describes a save.
type Summary struct {
	Objects, Tags, Policies, Permissions int
}

// Save saves the inventory of the vCenter of c in the folder dir, which it creates; the parent must exist. r is a REST session at
// the same vCenter; nil: without tags. A failed save leaves nothing behind.
//
// The inventory may change during the save: removed objects are left out.
func Save(ctx context.Context, c *vim25.Client, r *rest.Client, dir string, o Options) (_ *Summary, err error) {
	w, err := newWriter(dir, o.Replace)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, w.discard())
		}
	}()
	if o.Name == "" {
		o.Name = c.URL().Hostname()
	}
	if o.Progress == nil {
		o.Progress = func(int, int) {}
	}
	s := &saver{ctx: ctx, client: c, rest: r, writer: w, options: o, summary: new(Summary)}
	if err := s.save(); err != nil {
		return nil, err
	}
	return s.summary, w.commit(s.manifest)
}

// saver is one save.
type saver struct {
	ctx      context.Context
	client   *vim25.Client
	rest     *rest.Client
	writer   *writer
	options  Options
	scrubber *scrubber
	manifest manifest
	summary  *Summary
	digits   int // of the numbers of files
}

var errNoVCenter = errors.New("is an ESXi host; only vCenters can be saved")

func (s *saver) save() error {
	var instance mo.ServiceInstance
	err := property.DefaultCollector(s.client).RetrieveOne(s.ctx, vim25.ServiceInstance, []string{"content"}, &instance)
	if err != nil {
		return fmt.Errorf("service content: %w", err)
	}
	about := instance.Content.About
	if about.ApiType != apiType {
		return fmt.Errorf("%s: %w", s.client.URL().Host, errNoVCenter)
	}
	list, err := s.list(&instance.Content)
	if err != nil {
		return err
	}
	rules, err := s.access()
	if err != nil {
		return err
	}
	if s.options.Scrub {
		if s.scrubber, err = s.newScrubber(rules); err != nil {
			return err
		}
		s.options.Name = s.scrubber.text("name", s.options.Name)
	}
	s.manifest = manifest{
		Format: formatVersion, VCenter: s.options.Name, InstanceUUID: about.InstanceUuid, Version: about.Version,
		Scrubbed: s.options.Scrub,
	}
	first := types.ObjectContent{
		Obj: vim25.ServiceInstance, PropSet: []types.DynamicProperty{{Name: "content", Val: instance.Content}},
	}
	s.digits = max(4, len(fmt.Sprint(len(list))))
	if err := s.object(first); err != nil {
		return err
	}
	if err := s.objects(list); err != nil {
		return err
	}
	if err := s.tags(); err != nil {
		return fmt.Errorf("tags: %w", err)
	}
	if err := s.policies(); err != nil {
		return fmt.Errorf("storage policies: %w", err)
	}
	return s.writeAccess(rules)
}

// apiType is the API type of a vCenter.
const apiType = "VirtualCenter"

// tags saves categories, tags and associations, sorted by name, because the API has no order.
func (s *saver) tags() error {
	if s.rest == nil {
		return nil
	}
	m := tags.NewManager(s.rest)
	categories, err := m.GetCategories(s.ctx)
	if err != nil {
		return err
	}
	all, err := m.GetTags(s.ctx)
	if err != nil {
		return err
	}
	slices.SortFunc(categories, func(a, b tags.Category) int { return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.ID, b.ID)) })
	slices.SortFunc(all, func(a, b tags.Tag) int {
		return cmp.Or(cmp.Compare(a.CategoryID, b.CategoryID), cmp.Compare(a.Name, b.Name), cmp.Compare(a.ID, b.ID))
	})
	var out rests.Snapshot
	for _, c := range categories {
		out.Categories = append(out.Categories, rests.Category{
			ID: c.ID, Name: c.Name, Description: c.Description, Cardinality: c.Cardinality,
			AssociableTypes: slices.Sorted(slices.Values(c.AssociableTypes)), UsedBy: c.UsedBy,
		})
	}
	var ids []string
	for _, t := range all {
		out.Tags = append(out.Tags, rests.Tag{
			ID: t.ID, CategoryID: t.CategoryID, Name: t.Name, Description: t.Description, UsedBy: t.UsedBy,
		})
		ids = append(ids, t.ID)
	}
	on := make(map[string][]vc.Ref)
	for part := range slices.Chunk(ids, 500) {
		attached, err := m.ListAttachedObjectsOnTags(s.ctx, part)
		if err != nil {
			return err
		}
		for _, a := range attached {
			for _, o := range a.ObjectIDs {
				ref := o.Reference()
				on[a.TagID] = append(on[a.TagID], vc.Ref{Type: ref.Type, Value: ref.Value})
			}
		}
	}
	for _, id := range ids {
		for _, ref := range distinct(on[id]) {
			out.Associations = append(out.Associations, rests.Association{TagID: id, Object: ref})
		}
	}
	if s.scrubber != nil {
		out = scrub(s.scrubber, out)
	}
	s.summary.Tags = len(out.Tags)
	return s.writer.json(tagsName, out)
}

// list returns the objects to save, in order: managers, the tree, parts of its objects, and snapshots.
func (s *saver) list(content *types.ServiceContent) (_ []vc.Ref, err error) {
	var all []vc.Ref
	for _, ref := range mo.References(*content) {
		if ref != content.RootFolder {
			all = append(all, ref)
		}
	}
	v, err := view.NewManager(s.client).CreateContainerView(s.ctx, content.RootFolder, nil, true)
	if err != nil {
		return nil, fmt.Errorf("inventory: %w", err)
	}
	defer func() {
		if failed := v.Destroy(s.ctx); err == nil && failed != nil {
			err = fmt.Errorf("inventory: %w", failed)
		}
	}()
	tree := []vc.Ref{content.RootFolder}
	for _, kind := range entityTypes() {
		var found []mo.ManagedEntity
		if err := s.retrieve(v, kind, []string{"name"}, &found); err != nil {
			return nil, err
		}
		for i := range found {
			if found[i].Self.Type == kind { // a kind may include others
				tree = append(tree, found[i].Self)
			}
		}
	}
	rank := make(map[string]int)
	for i, kind := range entityTypes() {
		rank[kind] = i
	}
	slices.SortFunc(tree, func(a, b vc.Ref) int {
		if d := rank[a.Type] - rank[b.Type]; d != 0 {
			return d
		}
		return compareRefs(a, b)
	})
	all = append(all, slices.Compact(tree)...)
	parts, err := s.parts(v)
	return append(all, distinct(parts)...), err
}

// parts returns the objects that belong to those of the tree.
func (s *saver) parts(v *view.ContainerView) (all []vc.Ref, err error) {
	add := func(ref *vc.Ref) {
		if ref != nil && ref.Value != "" {
			all = append(all, *ref)
		}
	}
	var computes []mo.ComputeResource
	if err := s.retrieve(v, "ComputeResource", []string{"environmentBrowser"}, &computes); err != nil {
		return nil, err
	}
	for i := range computes {
		add(computes[i].EnvironmentBrowser)
	}
	var stores []mo.Datastore
	if err := s.retrieve(v, "Datastore", []string{"browser"}, &stores); err != nil {
		return nil, err
	}
	for i := range stores {
		add(&stores[i].Browser)
	}
	var hosts []mo.HostSystem
	if err := s.retrieve(v, "HostSystem", []string{"configManager"}, &hosts); err != nil {
		return nil, err
	}
	for i := range hosts {
		m := &hosts[i].ConfigManager
		add(m.NetworkSystem)
		add(m.VirtualNicManager)
		add(m.CertificateManager)
		add(m.DatastoreSystem)
	}
	var vms []mo.VirtualMachine
	if err := s.retrieve(v, "VirtualMachine", []string{"snapshot"}, &vms); err != nil {
		return nil, err
	}
	for i := range vms {
		if vms[i].Snapshot != nil {
			snapshots(vms[i].Snapshot.RootSnapshotList, func(t *types.VirtualMachineSnapshotTree, _ *vc.Ref) { add(&t.Snapshot) })
		}
	}
	return all, nil
}

// snapshots visits a tree of snapshots, each with its parent.
func snapshots(list []types.VirtualMachineSnapshotTree, visit func(t *types.VirtualMachineSnapshotTree, above *vc.Ref)) {
	var walk func(list []types.VirtualMachineSnapshotTree, above *vc.Ref)
	walk = func(list []types.VirtualMachineSnapshotTree, above *vc.Ref) {
		for i := range list {
			visit(&list[i], above)
			walk(list[i].ChildSnapshotList, &list[i].Snapshot)
		}
	}
	walk(list, nil)
}

func (s *saver) retrieve(v *view.ContainerView, kind string, paths []string, dst any) error {
	err := v.Retrieve(s.ctx, []string{kind}, paths, dst)
	if err != nil && !gone(err) {
		return fmt.Errorf("%s: %w", kind, err)
	}
	return nil
}

// gone reports whether an object was removed during the save.
func gone(err error) bool {
	return err != nil && (fault.Is(err, &types.ManagedObjectNotFound{}) || errors.Is(err, errGone))
}

var errGone = errors.New("no longer there")

// answer is the answer of a method, saved under its name.
type answer struct {
	method string
	value  any
}

// methods saves what only methods return: the same answers as govc, and QueryConfigOptionDescriptor, which vcsim also loads.
func (s *saver) methods(ref vc.Ref) error {
	for _, call := range s.calls(ref) {
		a, err := call()
		if unanswered(err) {
			continue
		}
		if err != nil {
			return fmt.Errorf("%s: %s: %w", ref, a.method, err)
		}
		if s.scrubber != nil {
			a.value = scrub(s.scrubber, a.value)
		}
		if err := s.writer.xml(methodFile(ref, a.method), a.value); err != nil {
			return err
		}
	}
	return nil
}

func (s *saver) calls(ref vc.Ref) []func() (answer, error) {
	ctx, c := s.ctx, s.client
	switch ref.Type {
	case "VmwareDistributedVirtualSwitch":
		return []func() (answer, error){func() (answer, error) {
			r, err := methods.FetchDVPorts(ctx, c, &types.FetchDVPorts{This: ref})
			return answer{"FetchDVPorts", r}, err
		}}
	case "EnvironmentBrowser":
		return []func() (answer, error){
			func() (answer, error) {
				r, err := methods.QueryConfigOption(ctx, c, &types.QueryConfigOption{This: ref})
				return answer{"QueryConfigOption", r}, err
			}, func() (answer, error) {
				r, err := methods.QueryConfigOptionDescriptor(ctx, c, &types.QueryConfigOptionDescriptor{This: ref})
				if err == nil {
					for i := range r.Returnval {
						slices.SortFunc(r.Returnval[i].Host, compareRefs)
					}
				}
				return answer{"QueryConfigOptionDescriptor", r}, err
			}, func() (answer, error) {
				r, err := methods.QueryConfigTarget(ctx, c, &types.QueryConfigTarget{This: ref})
				return answer{"QueryConfigTarget", r}, err
			}, func() (answer, error) {
				r, err := methods.QueryTargetCapabilities(ctx, c, &types.QueryTargetCapabilities{This: ref})
				return answer{"QueryTargetCapabilities", r}, err
			},
		}
	case "HostNetworkSystem":
		return []func() (answer, error){func() (answer, error) {
			r, err := methods.QueryNetworkHint(ctx, c, &types.QueryNetworkHint{This: ref})
			return answer{"QueryNetworkHint", r}, err
		}}
	case "HostSystem":
		return []func() (answer, error){func() (answer, error) {
			r, err := methods.QueryTpmAttestationReport(ctx, c, &types.QueryTpmAttestationReport{This: ref})
			return answer{"QueryTpmAttestationReport", r}, err
		}}
	case "AlarmManager":
		return []func() (answer, error){func() (answer, error) { return s.alarms(ref) }}
	}
	return nil
}

// alarms saves the alarms, which the inventory does not contain.
func (s *saver) alarms(manager vc.Ref) (answer, error) {
	r, err := methods.GetAlarm(s.ctx, s.client, &types.GetAlarm{This: manager})
	if err != nil {
		return answer{"GetAlarm", r}, err
	}
	refs := distinct(r.Returnval)
	for start := 0; start < len(refs); start += batch {
		part := refs[start:min(start+batch, len(refs))]
		found, err := s.all(part)
		if err != nil {
			return answer{"GetAlarm", r}, err
		}
		for _, ref := range part {
			if content, ok := found[ref]; ok {
				if err := s.object(content); err != nil {
					return answer{"GetAlarm", r}, err
				}
			}
		}
	}
	return answer{"GetAlarm", r}, nil
}

// unanswered reports whether a failed call may be ignored: of a host that is down, an older release, or for lack of privileges.
func unanswered(err error) bool {
	return err != nil && (gone(err) ||
		fault.Is(err, &types.HostNotConnected{}) || fault.Is(err, &types.NotSupported{}) ||
		fault.Is(err, &types.NoPermission{}) || fault.Is(err, &types.MethodNotFound{}) || fault.Is(err, &types.InvalidState{}))
}
