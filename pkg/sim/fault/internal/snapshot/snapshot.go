// Package snapshot writes down what a vCenter shows of its inventory, so that tests can tell whether all is as it was.
//
// For tests only. Floor 2, inside pkg/sim/fault.
package snapshot

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/vmware/govmomi/vapi/rest"
	"github.com/vmware/govmomi/vapi/tags"
	"github.com/vmware/govmomi/view"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
)

// shown is what a vCenter shows: each value as text, by where it is ("VM worker-1 runtime.powerState").
type shown map[string]string

// Of returns what the vCenter shows, each value as text by where it is ("VM worker-1 runtime.powerState"). Left out is
// what changes for ever: times, versions, tasks. REST may be nil: there are no tags, then.
func Of(ctx context.Context, c *vim25.Client, r *rest.Client) (map[string]string, error) {
	all := shown{}
	v, err := view.NewManager(c).CreateContainerView(ctx, c.ServiceContent.RootFolder, nil, true)
	if err != nil {
		return nil, err
	}
	defer func() { _ = v.Destroy(ctx) }()
	var vms []mo.VirtualMachine
	if err := v.Retrieve(ctx, []string{"VirtualMachine"}, []string{
		"name", "parent", "runtime", "summary.runtime", "summary.overallStatus", "overallStatus", "guest", "datastore", "network",
		"resourcePool", "config.uuid", "config.instanceUuid", "config.name", "config.files", "config.hardware", "config.template",
	}, &vms); err != nil {
		return nil, err
	}
	for _, m := range vms {
		m.Runtime.BootTime, m.Summary.Runtime.BootTime = nil, nil
		if m.Config != nil {
			for _, d := range m.Config.Hardware.Device {
				if ctrl, ok := d.(types.BaseVirtualController); ok { // an order that means nothing
					slices.Sort(ctrl.GetVirtualController().Device)
				}
			}
			slices.SortStableFunc(m.Config.Hardware.Device, func(a, b types.BaseVirtualDevice) int {
				return cmp.Compare(a.GetVirtualDevice().Key, b.GetVirtualDevice().Key)
			})
		}
		all.put("VM "+m.Name, m)
	}
	var hosts []mo.HostSystem
	if err := v.Retrieve(ctx, []string{"HostSystem"}, []string{
		"name", "parent", "runtime.connectionState", "runtime.powerState", "runtime.inMaintenanceMode", "runtime.standbyMode",
		"overallStatus", "summary.overallStatus", "vm", "datastore", "network",
	}, &hosts); err != nil {
		return nil, err
	}
	for _, m := range hosts {
		sortRefs(m.Vm)
		all.put("Host "+m.Name, m)
	}
	var clusters []mo.ClusterComputeResource
	if err := v.Retrieve(ctx, []string{"ClusterComputeResource"}, []string{"name", "summary", "overallStatus", "host", "datastore"}, &clusters); err != nil {
		return nil, err
	}
	for _, m := range clusters {
		all.put("Cluster "+m.Name, m)
	}
	var datastores []mo.Datastore
	if err := v.Retrieve(ctx, []string{"Datastore"}, []string{"name", "host", "summary", "info", "overallStatus", "vm"}, &datastores); err != nil {
		return nil, err
	}
	for _, m := range datastores {
		sortRefs(m.Vm)
		if m.Info != nil {
			m.Info.GetDatastoreInfo().Timestamp = nil
		}
		all.put("Datastore "+m.Name, m)
	}
	if r == nil {
		return all, nil
	}
	return all, readTags(ctx, r, all)
}

func readTags(ctx context.Context, c *rest.Client, all shown) error {
	m := tags.NewManager(c)
	categories, err := m.GetCategories(ctx)
	if err != nil {
		return err
	}
	for _, cat := range categories {
		all.put("Category "+cat.Name, cat)
	}
	list, err := m.GetTags(ctx)
	if err != nil {
		return err
	}
	ids := make([]string, len(list))
	for i, t := range list {
		ids[i] = t.ID
		all.put("Tag "+t.CategoryID+"/"+t.Name, t)
	}
	if len(ids) == 0 {
		return nil
	}
	attached, err := m.GetAttachedObjectsOnTags(ctx, ids)
	if err != nil {
		return err
	}
	for _, a := range attached {
		var on []string
		for _, o := range a.ObjectIDs {
			on = append(on, o.Reference().String())
		}
		slices.Sort(on)
		all.put("Tag "+a.Tag.CategoryID+"/"+a.Tag.Name+" on", on)
	}
	return nil
}

// put writes down all that is in a value.
func (s shown) put(name string, v any) {
	b, err := json.Marshal(v)
	if err != nil {
		s[name] = err.Error()
		return
	}
	var plain any
	if err := json.Unmarshal(b, &plain); err != nil {
		s[name] = err.Error()
		return
	}
	s.flat(name+" ", plain)
}

func (s shown) flat(name string, v any) {
	switch v := v.(type) {
	case nil:
	case map[string]any:
		for k, e := range v {
			s.flat(name+"."+k, e)
		}
	case []any:
		for i, e := range v {
			s.flat(fmt.Sprintf("%s[%d]", name, i), e)
		}
	default:
		s[name] = fmt.Sprint(v)
	}
}

func sortRefs(l []types.ManagedObjectReference) {
	slices.SortFunc(l, func(a, b types.ManagedObjectReference) int { return strings.Compare(a.Value, b.Value) })
}
