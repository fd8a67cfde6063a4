package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/property"
	"github.com/vmware/govmomi/vapi/tags"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
)

// Snapshot holds all that a client sees of a VM, by the path of the property. For a VM that is gone it has only "gone" and the
// searches.
type Snapshot map[string]string

// seen lists the properties of a portrait.
func seen() []string {
	return []string{
		"name", "parent", "config", "summary.config", "summary.guest", "summary.runtime", "summary.customValue", "guest", "guestHeartbeatStatus",
		"runtime", "resourcePool", "network", "datastore", "customValue", "value", "layoutEx.file", "snapshot",
	}
}

// differs lists the properties that no fault restores.
func differs() []string {
	return []string{
		"config.modified", "config.changeVersion", "runtime.bootTime", "summary.runtime.bootTime",
		"runtime.cleanPowerOff", "summary.runtime.cleanPowerOff",
	}
}

// Snapshot returns a portrait of the VM.
func (b *VM) Snapshot(t T) Snapshot {
	t.Helper()
	p, err := b.look(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func (b *VM) look(ctx context.Context) (Snapshot, error) {
	p := Snapshot{}
	if err := b.search(ctx, p); err != nil {
		return nil, err
	}
	vm, err := b.find(ctx)
	if err != nil {
		return nil, err
	}
	if vm == nil {
		p["gone"] = "true"
		return p, nil
	}
	var b2 bytes.Buffer
	view := map[string]any{
		"name": vm.Name, "parent": vm.Parent, "config": vm.Config, "summary.config": vm.Summary.Config, "summary.guest": vm.Summary.Guest,
		"summary.runtime": vm.Summary.Runtime, "summary.customValue": vm.Summary.CustomValue, "guest": vm.Guest,
		"guestHeartbeatStatus": vm.GuestHeartbeatStatus, "runtime": vm.Runtime, "resourcePool": vm.ResourcePool, "network": vm.Network,
		"datastore": vm.Datastore, "customValue": vm.CustomValue, "value": vm.Value, "snapshot": vm.Snapshot,
	}
	if vm.LayoutEx != nil {
		view["layoutEx.file"] = vm.LayoutEx.File
	}
	if err := types.NewJSONEncoder(&b2).Encode(view); err != nil {
		return nil, err
	}
	var all map[string]any
	if err := json.Unmarshal(b2.Bytes(), &all); err != nil {
		return nil, err
	}
	p.flatten("", all)
	for _, path := range differs() {
		delete(p, path)
	}
	if p["tags"], err = b.tags(ctx, vm.Self); err != nil {
		return nil, err
	}
	return p, b.lists(ctx, p, vm)
}

// flatten adds a JSON value, property by property.
func (p Snapshot) flatten(path string, v any) {
	switch v := v.(type) {
	case map[string]any:
		for k, v := range v {
			switch k {
			case "_typeName":
			case "_value":
				p.flatten(path, v)
			default:
				p.flatten(strings.TrimPrefix(path+"."+k, "."), v)
			}
		}
	case []any:
		for i, v := range v {
			p.flatten(fmt.Sprintf("%s[%d]", path, i), v)
		}
	case nil:
	default:
		p[path] = fmt.Sprint(v)
	}
}

// find reads the VM by its reference, or else the VM at its path.
func (b *VM) find(ctx context.Context) (*mo.VirtualMachine, error) {
	pc := property.DefaultCollector(b.client.Client)
	var vm mo.VirtualMachine
	err := pc.RetrieveOne(ctx, b.Ref, seen(), &vm)
	if err == nil {
		return &vm, nil
	}
	if !strings.Contains(err.Error(), "has already been deleted") {
		return nil, err
	}
	found, err := object.NewSearchIndex(b.client.Client).FindByInventoryPath(ctx, b.Path)
	if err != nil || found == nil {
		return nil, err
	}
	b.Ref = found.Reference()
	return &vm, pc.RetrieveOne(ctx, b.Ref, seen(), &vm)
}

// search records what searches for the VM's original identity find.
func (b *VM) search(ctx context.Context, p Snapshot) error {
	s := object.NewSearchIndex(b.client.Client)
	for name, find := range map[string]func() ([]object.Reference, error){
		"search.uuid": func() ([]object.Reference, error) { return s.FindAllByUuid(ctx, nil, b.uuid, true, nil) },
		"search.instanceUuid": func() ([]object.Reference, error) {
			return s.FindAllByUuid(ctx, nil, b.instance, true, new(true))
		},
		"search.hostName": func() ([]object.Reference, error) { return s.FindAllByDnsName(ctx, nil, b.hostname, true) },
		"search.ip":       func() ([]object.Reference, error) { return s.FindAllByIp(ctx, nil, b.ip, true) },
	} {
		found, err := find()
		if err != nil {
			return err
		}
		var names []string
		for _, f := range found {
			name, err := object.NewCommon(b.client.Client, f.Reference()).ObjectName(ctx)
			if err != nil {
				return err
			}
			names = append(names, name)
		}
		slices.Sort(names)
		p[name] = strings.Join(names, " ")
	}
	return nil
}

func (b *VM) tags(ctx context.Context, ref types.ManagedObjectReference) (string, error) {
	attached, err := tags.NewManager(b.rest).GetAttachedTags(ctx, ref)
	var names []string
	for _, t := range attached {
		names = append(names, t.Name)
	}
	slices.Sort(names)
	return strings.Join(names, " "), err
}

// lists records how often the host, pool and datastores list the VM.
func (b *VM) lists(ctx context.Context, p Snapshot, vm *mo.VirtualMachine) error {
	pc := property.DefaultCollector(b.client.Client)
	refs := slices.Clone(vm.Datastore)
	for _, r := range []*types.ManagedObjectReference{vm.Runtime.Host, vm.ResourcePool} {
		if r != nil {
			refs = append(refs, *r)
		}
	}
	for _, r := range refs {
		var owner mo.HostSystem // any host, for the type of the list
		switch r.Type {
		case "Datastore":
			var d mo.Datastore
			if err := pc.RetrieveOne(ctx, r, []string{"vm"}, &d); err != nil {
				return err
			}
			owner.Vm = d.Vm
		case "ResourcePool":
			var d mo.ResourcePool
			if err := pc.RetrieveOne(ctx, r, []string{"vm"}, &d); err != nil {
				return err
			}
			owner.Vm = d.Vm
		default:
			if err := pc.RetrieveOne(ctx, r, []string{"vm"}, &owner); err != nil {
				return err
			}
		}
		n := 0
		for _, v := range owner.Vm {
			if v == vm.Self {
				n++
			}
		}
		p["listed."+r.Value] = fmt.Sprint(n)
	}
	return nil
}

// Diff lists the differences, one line for each property; it is empty if there are no differences.
func Diff(was, now Snapshot) string {
	paths := maps.Clone(was)
	maps.Copy(paths, now)
	var lines strings.Builder
	for _, path := range slices.Sorted(maps.Keys(paths)) {
		if was[path] != now[path] {
			fmt.Fprintf(&lines, "- %s: %s\n+ %s: %s\n", path, was[path], path, now[path])
		}
	}
	return lines.String()
}
