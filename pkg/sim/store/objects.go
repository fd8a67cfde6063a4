package store

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/vmware/govmomi/pbm"
	pbmtypes "github.com/vmware/govmomi/pbm/types"
	"github.com/vmware/govmomi/property"
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
	"github.com/vmware/govmomi/vim25/xml"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/internal/vc"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/inventory"
)

// batch is the number of objects in a request.
const batch = 50

// objects saves the objects, in order.
func (s *saver) objects(list []vc.Ref) error {
	for start := 0; start < len(list); start += batch {
		refs := list[start:min(start+batch, len(list))]
		found, err := s.all(refs)
		if err != nil {
			return err
		}
		for _, ref := range refs {
			if content, ok := found[ref]; ok {
				if err := s.object(content); err != nil {
					return err
				}
			}
		}
		s.options.Progress(start+len(refs), len(list))
	}
	return nil
}

// all returns all properties of the objects that exist.
func (s *saver) all(refs []vc.Ref) (map[vc.Ref]types.ObjectContent, error) {
	content, err := s.ask(refs)
	if gone(err) && len(refs) > 1 {
		// A missing object fails the whole request.
		for _, ref := range refs {
			one, err := s.ask([]vc.Ref{ref})
			if err != nil && !gone(err) {
				return nil, err
			}
			content = append(content, one...)
		}
		err = nil
	}
	if err != nil && !gone(err) {
		return nil, err
	}
	found := make(map[vc.Ref]types.ObjectContent, len(content))
	for _, c := range content {
		found[vc.Ref{Type: c.Obj.Type, Value: c.Obj.Value}] = c
	}
	return found, nil
}

func (s *saver) ask(refs []vc.Ref) ([]types.ObjectContent, error) {
	spec := types.PropertyFilterSpec{}
	kinds := make(map[string]bool)
	for _, ref := range refs {
		spec.ObjectSet = append(spec.ObjectSet, types.ObjectSpec{Obj: ref})
		if !kinds[ref.Type] {
			kinds[ref.Type] = true
			spec.PropSet = append(spec.PropSet, properties(ref.Type))
		}
	}
	content, err := mo.RetrievePropertiesEx(s.ctx, s.client, types.RetrievePropertiesEx{
		This:    property.DefaultCollector(s.client).Reference(),
		SpecSet: []types.PropertyFilterSpec{spec},
	})
	if err != nil {
		return nil, fmt.Errorf("%s …: %w", refs[0], err)
	}
	return content, nil
}

// properties returns what to save of objects of a type: as in govc, no license keys.
func properties(kind string) types.PropertySpec {
	switch kind {
	case "LicenseManager":
		return types.PropertySpec{Type: kind, PathSet: []string{"licenseAssignmentManager"}}
	case "ServiceManager":
		return types.PropertySpec{Type: kind}
	}
	return types.PropertySpec{Type: kind, All: new(true)}
}

// passing reports whether a property is transient: sessions, tasks and views.
func passing(name string) bool {
	switch name {
	case "recentTask", "sessionList", "currentSession", "viewList", "latestEvent", "filter":
		return true
	}
	return false
}

// object writes an object and the answers of its methods.
func (s *saver) object(content types.ObjectContent) error {
	content.MissingSet = nil // unreadable for the user
	content.PropSet = slices.DeleteFunc(content.PropSet, func(p types.DynamicProperty) bool { return passing(p.Name) })
	slices.SortFunc(content.PropSet, func(a, b types.DynamicProperty) int { return strings.Compare(a.Name, b.Name) })
	if content.Obj.Type == "OptionManager" {
		hideOptions(content.PropSet)
	}
	if err := s.writer.xml(fmt.Sprintf("%0*d-%s%s", s.digits, s.summary.Objects, content.Obj.Encode(), objectExt), s.scrubbed(content)); err != nil {
		return err
	}
	s.summary.Objects++
	return s.methods(content.Obj)
}

// hideOptions removes passwords and the simulator's settings.
func hideOptions(set []types.DynamicProperty) {
	for i, p := range set {
		all, ok := p.Val.(types.ArrayOfOptionValue)
		if !ok {
			continue
		}
		all.OptionValue = slices.DeleteFunc(slices.Clone(all.OptionValue), func(o types.BaseOptionValue) bool {
			key := strings.ToLower(o.GetOptionValue().Key)
			return strings.HasPrefix(key, "vcsim.") || strings.Contains(key, "password") || strings.Contains(key, "secret")
		})
		set[i].Val = all
	}
}

// scrubbed returns the value to write.
func (s *saver) scrubbed(content types.ObjectContent) types.ObjectContent {
	if s.scrubber == nil {
		return content
	}
	return scrub(s.scrubber, content)
}

// forget drops references to objects of the tree that were not saved: an inventory may change during the save, and the user may
// not be allowed to read everything. vcsim requires that references are valid. [Load] has checked mandatory ones.
func (in *installer) forget() {
	for _, o := range in.order {
		if !isEntity(o.ref.Type) {
			continue
		}
		if e, ok := o.obj.(mo.Entity); ok {
			e.Entity().RecentTask = nil
		}
		in.prune(o, reflect.ValueOf(o.obj))
	}
}

// prune checks a value, but not behind interfaces, such as devices: clients follow their references, vcsim does not.
func (in *installer) prune(o *item, v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() {
			return
		}
		if ref, ok := reflect.TypeAssert[*vc.Ref](v); ok {
			if in.lost(o, *ref) && v.CanSet() {
				v.SetZero()
			}
			return
		}
		in.prune(o, v.Elem())
	case reflect.Slice:
		if refs, ok := reflect.TypeAssert[[]vc.Ref](v); ok {
			in.pruneList(o, v, refs)
			return
		}
		if v.Type().Elem().Kind() == reflect.Struct || v.Type().Elem().Kind() == reflect.Pointer {
			for i := range v.Len() {
				in.prune(o, v.Index(i))
			}
		}
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[vc.Ref]() {
			return
		}
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				in.prune(o, v.Field(i))
			}
		}
	}
}

func (in *installer) pruneList(o *item, v reflect.Value, refs []vc.Ref) {
	kept := refs[:0]
	for _, ref := range refs {
		if !in.lost(o, ref) {
			kept = append(kept, ref)
		}
	}
	if v.CanSet() {
		v.Set(reflect.ValueOf(kept))
	}
}

// lost reports whether the reference is to a missing object of the tree.
func (in *installer) lost(o *item, ref vc.Ref) bool {
	if !isEntity(ref.Type) || in.objects[ref] != nil || ref.Value == "ha-host" { // a host's name for itself
		return false
	}
	in.note("%s %s refers to %s %s, which is not in the folder", o.ref.Type, o.ref.Value, ref.Type, ref.Value)
	return true
}

// build creates the object of vcsim.
func (o *item) build() (err error) {
	defer func() {
		if r := recover(); r != nil { // of govmomi, for a value of the wrong type
			err = fmt.Errorf("%s %s: %v", o.ref.Type, o.ref.Value, r)
		}
	}()
	o.raw.MissingSet = nil
	v, err := mo.ObjectContentToType(o.raw, true)
	if err != nil {
		return err
	}
	o.raw = types.ObjectContent{}
	o.obj = simulated(v.(mo.Reference))
	return nil
}

// simulated returns the object with vcsim's methods, if it has any. vcsim creates the managers itself, which only copy some
// properties.
func simulated(obj mo.Reference) mo.Reference {
	switch m := obj.(type) {
	case *mo.Folder:
		return &simulator.Folder{Folder: *m}
	case *mo.Datacenter:
		return &simulator.Datacenter{Datacenter: *m}
	case *mo.StoragePod:
		return &simulator.StoragePod{StoragePod: *m}
	case *mo.Datastore:
		return &simulator.Datastore{Datastore: *m}
	case *mo.ClusterComputeResource:
		return &simulator.ClusterComputeResource{ClusterComputeResource: *m}
	case *mo.HostSystem:
		return &simulator.HostSystem{HostSystem: *m}
	case *mo.ResourcePool:
		return &simulator.ResourcePool{ResourcePool: *m}
	case *mo.VirtualApp:
		return &simulator.VirtualApp{VirtualApp: *m}
	case *mo.VirtualMachine:
		return &simulator.VirtualMachine{VirtualMachine: *m, DataSets: make(map[string]*simulator.DataSet)}
	case *mo.VirtualMachineSnapshot:
		return &simulator.VirtualMachineSnapshot{VirtualMachineSnapshot: *m, DataSets: make(map[string]*simulator.DataSet)}
	case *mo.DistributedVirtualSwitch:
		return &simulator.DistributedVirtualSwitch{DistributedVirtualSwitch: *m}
	case *mo.VmwareDistributedVirtualSwitch:
		return &simulator.DistributedVirtualSwitch{DistributedVirtualSwitch: m.DistributedVirtualSwitch}
	case *mo.DistributedVirtualPortgroup:
		return &simulator.DistributedVirtualPortgroup{DistributedVirtualPortgroup: *m}
	case *mo.EnvironmentBrowser:
		return &simulator.EnvironmentBrowser{EnvironmentBrowser: *m}
	case *mo.HostDatastoreBrowser:
		return &simulator.HostDatastoreBrowser{HostDatastoreBrowser: *m}
	case *mo.HostDatastoreSystem:
		return &simulator.HostDatastoreSystem{HostDatastoreSystem: *m}
	case *mo.HostNetworkSystem:
		return &simulator.HostNetworkSystem{HostNetworkSystem: *m}
	case *mo.HostVirtualNicManager:
		return &simulator.HostVirtualNicManager{HostVirtualNicManager: *m}
	case *mo.HostCertificateManager:
		return &simulator.HostCertificateManager{HostCertificateManager: *m}
	case *mo.Alarm:
		return &simulator.Alarm{Alarm: *m}
	}
	return obj
}

// policySet is the file of storage policies.
type policySet struct {
	XMLName xml.Name                  `xml:"policies"`
	Profile []pbmtypes.BasePbmProfile `xml:"profile,typeattr"`
}

// policies saves the storage policies.
func (s *saver) policies() error {
	c, err := pbm.NewClient(s.ctx, s.client)
	if err != nil {
		return err
	}
	storage := pbmtypes.PbmProfileResourceType{ResourceType: string(pbmtypes.PbmProfileResourceTypeEnumSTORAGE)}
	ids, err := c.QueryProfile(s.ctx, storage, string(pbmtypes.PbmProfileCategoryEnumREQUIREMENT))
	if err != nil {
		return err
	}
	if len(ids) == 0 {
		return nil
	}
	profiles, err := c.RetrieveContent(s.ctx, ids)
	if err != nil {
		return err
	}
	slices.SortFunc(profiles, func(a, b pbmtypes.BasePbmProfile) int {
		p, q := a.GetPbmProfile(), b.GetPbmProfile()
		return cmp.Or(cmp.Compare(p.Name, q.Name), cmp.Compare(p.ProfileId.UniqueId, q.ProfileId.UniqueId))
	})
	if s.scrubber != nil {
		profiles = scrub(s.scrubber, profiles)
	}
	s.summary.Policies = len(profiles)
	return s.writer.xml(policiesName, &policySet{Profile: profiles})
}

// decodePolicies parses the file of policies, whose types have a prefix.
func decodePolicies(data []byte, set *policySet) (line int, err error) {
	known := types.TypeFunc()
	d := xml.NewDecoder(bytes.NewReader(data))
	d.TypeFunc = func(name string) (reflect.Type, bool) {
		if t, ok := known("pbm:" + strings.TrimPrefix(name, "pbm:")); ok {
			return t, ok
		}
		return known(name)
	}
	err = d.Decode(set)
	return lineAt(data, d.InputOffset()), err
}

var errNoProfiles = errors.New("vCenter has no storage policy service")

// RestorePolicies creates the missing storage policies with their saved identifiers.
func (l *Loaded) RestorePolicies(profiles inventory.Profiles) error {
	if len(l.policies) == 0 {
		return nil
	}
	if profiles == nil {
		return errNoProfiles
	}
	for _, p := range l.policies {
		p, ok := p.(*pbmtypes.PbmCapabilityProfile)
		if !ok {
			continue // not a policy for datastores
		}
		if err := profiles.Restore(p); err != nil {
			return err
		}
	}
	return nil
}
