// Package snapshot records what a vCenter shows of its inventory, so that tests can check that a fault was reverted.
//
// For tests only. Floor 2, inside pkg/sim/fault.
package snapshot

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/vmware/govmomi"
	"github.com/vmware/govmomi/find"
	"github.com/vmware/govmomi/property"
	"github.com/vmware/govmomi/vapi/rest"
	"github.com/vmware/govmomi/vapi/tags"
	"github.com/vmware/govmomi/view"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault/faulttest"
)

// shown maps what a vCenter shows to a text, by its place ("VM worker-1 runtime.powerState").
type shown map[string]string

// Of returns what the vCenter shows, as text by place ("VM worker-1 runtime.powerState"). It leaves out what changes all the
// time: times, versions, tasks. Without a REST client it leaves out tags.
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
				if ctrl, ok := d.(types.BaseVirtualController); ok { // the order has no meaning
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

// put adds all parts of a value.
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

// World is a faulttest.World with snapshots. Its methods fail the test on an error.
type World struct {
	*faulttest.World
	t       sim.TB
	clients map[string]*govmomi.Client // one for each vCenter
	rest    map[string]*rest.Client
}

// Start runs the vCenters of a topology until the test ends.
func Start(t sim.TB, source string) World {
	t.Helper()
	return On(t, faulttest.Start(t, source))
}

// On returns a World around an existing one.
func On(t sim.TB, w *faulttest.World) World {
	return World{w, t, map[string]*govmomi.Client{}, map[string]*rest.Client{}}
}

// Client returns the administrator's session, always the same.
func (w World) Client(vc string) *govmomi.Client {
	w.t.Helper()
	if w.clients[vc] == nil {
		w.clients[vc] = w.World.Client(vc)
	}
	return w.clients[vc]
}

// REST returns the administrator's session, always the same.
func (w World) REST(vc string) *rest.Client {
	w.t.Helper()
	if w.rest[vc] == nil {
		w.rest[vc] = w.World.REST(vc)
	}
	return w.rest[vc]
}

// Shown returns what all vCenters show; see [Of].
func (w World) Shown() map[string]string {
	w.t.Helper()
	all := map[string]string{}
	for _, vc := range w.VCenters() {
		s, err := Of(w.t.Context(), w.Client(vc.Name()).Client, w.REST(vc.Name()))
		if err != nil {
			w.t.Fatal(err)
		}
		for k, v := range s {
			all[vc.Name()+": "+k] = v
		}
	}
	return all
}

// WaitUnchanged waits until the vCenters show what they did before, checking after each event.
func (w World) WaitUnchanged(before map[string]string) {
	w.t.Helper()
	var different []string
	w.until(func() bool { different = diff(before, w.Shown()); return len(different) == 0 }, func() {
		w.t.Helper()
		w.t.Fatal("not as before:\n" + strings.Join(different, "\n"))
	})
}

// Until waits until f returns true, checking after each event.
func (w World) Until(what string, f func() bool) {
	w.t.Helper()
	w.until(f, func() {
		w.t.Helper()
		w.t.Fatal("in vain: " + what)
	})
}

func (w World) until(f func() bool, vain func()) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), 10*time.Second)
	defer cancel()
	for {
		seen := w.Events.Last()
		if f() {
			return
		}
		if _, _, err := w.Events.Wait(ctx, seen, 0); errors.Is(err, context.DeadlineExceeded) {
			vain()
		} else if err != nil {
			w.t.Fatal(err)
		}
	}
}

// Caused lists the kinds of the events that the event caused.
func (w World) Caused(seq uint64) (kinds []string) {
	events, _ := w.Events.Read(seq, 0)
	for _, e := range events {
		if e.Cause == seq {
			kinds = append(kinds, e.Kind)
		}
	}
	return kinds
}

// Ref returns the object at a path.
func (w World) Ref(vc, path string) types.ManagedObjectReference {
	w.t.Helper()
	found, err := find.NewFinder(w.Client(vc).Client, true).ManagedObjectList(w.t.Context(), path)
	if err != nil || len(found) != 1 {
		w.t.Fatal(fmt.Sprintf("%s: %d objects, %v", path, len(found), err))
	}
	return found[0].Object.Reference()
}

// Get reads properties of an object into dst.
func (w World) Get(vc string, ref types.ManagedObjectReference, dst any, paths ...string) {
	w.t.Helper()
	if err := property.DefaultCollector(w.Client(vc).Client).RetrieveOne(w.t.Context(), ref, paths, dst); err != nil {
		w.t.Fatal(err)
	}
}

// diff lists the differences.
func diff(before, now map[string]string) []string {
	var lines []string
	for k, v := range before {
		if n, ok := now[k]; !ok {
			lines = append(lines, fmt.Sprintf("%s: was %q, is not", k, v))
		} else if n != v {
			lines = append(lines, fmt.Sprintf("%s: was %q, is %q", k, v, n))
		}
	}
	for k, n := range now {
		if _, ok := before[k]; !ok {
			lines = append(lines, fmt.Sprintf("%s: was not, is %q", k, n))
		}
	}
	slices.Sort(lines)
	return lines
}
