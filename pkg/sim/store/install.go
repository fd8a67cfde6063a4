package store

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"slices"
	"strings"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
	"go.yaml.in/yaml/v3"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/guest"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/internal/vc"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/inventory"
)

// Target is an empty vCenter that does not serve yet, created with [Loaded.Content] and [Loaded.RootFolder].
type Target struct {
	// Context is the context of the vCenter.
	Context *simulator.Context
	// Dir is the directory for the files of its datastores. It is created if it is missing.
	Dir string
	// Files returns a directory with the files of a datastore, which are copied; empty for none. Nil: no files are copied. The files
	// of VMs that are not among them are created, empty.
	Files func(datastore vc.Ref) string
}

// The errors of [Loaded.Install].
var (
	errOther     = errors.New("vCenter was not made with the saved service content")
	errInstalled = errors.New("saved inventory is in a vCenter already")
)

// Install puts the inventory into an empty vCenter. Like inventory.Make it returns the guests to start and the permissions to
// grant. [Loaded.Tags] and [Loaded.RestorePolicies] follow.
//
// The inventory can be installed once, because the vCenter uses its objects. Install stops with ctx's error between two objects;
// after an error it leaves files in Dir.
func (l *Loaded) Install(ctx context.Context, t Target) (*inventory.Built, error) {
	instance, ok := t.Context.Map.Get(vim25.ServiceInstance).(*simulator.ServiceInstance)
	if !ok || instance.Content.RootFolder != l.content.RootFolder {
		return nil, errOther
	}
	if l.order == nil {
		return nil, errInstalled
	}
	if err := os.MkdirAll(t.Dir, 0o700); err != nil {
		return nil, err
	}
	in := &installer{Loaded: l, ctx: ctx, base: t.Context, dir: t.Dir, files: t.Files, stores: make(map[vc.Ref]string)}
	defer func() { l.order, l.objects = nil, nil }()
	if err := in.install(); err != nil {
		return nil, err
	}
	return &inventory.Built{Guests: in.guests(), Origins: make(map[vc.Ref]string), Grants: in.grants(), Objects: in.paths()}, nil
}

// installer fills one vCenter, which does not serve yet, so that it needs no locks.
type installer struct {
	*Loaded
	ctx    context.Context
	base   *simulator.Context
	dir    string
	files  func(vc.Ref) string
	stores map[vc.Ref]string // directories of datastores
}

func (in *installer) install() error {
	in.customFields()
	in.forget()
	for _, o := range in.order {
		if installed(o.ref.Type) {
			in.put(o.obj)
		}
	}
	if err := in.base.Map.AlignCounter(); err != nil { // new objects get unused numbers
		return err
	}
	in.managers()
	for _, o := range in.order {
		if err := in.ctx.Err(); err != nil {
			return err
		}
		if err := in.finish(o); err != nil {
			return fmt.Errorf("%s %s: %w", o.ref.Type, o.ref.Value, err)
		}
	}
	return in.vmFiles()
}

// installed reports whether objects of the type are put into the vCenter. The others are managers, which vcsim creates, and types
// that vcsim does not know.
func installed(kind string) bool {
	return isEntity(kind) || slices.Contains([]string{
		"EnvironmentBrowser", "HostDatastoreBrowser", "HostDatastoreSystem", "HostNetworkSystem", "HostVirtualNicManager",
		"HostCertificateManager", "VirtualMachineSnapshot", "Alarm",
	}, kind)
}

// put registers an object directly: vcsim's own call would reset the state of an entity.
func (in *installer) put(obj mo.Reference) {
	if f, ok := obj.(*simulator.Folder); ok && f.Self == in.content.RootFolder {
		if root, ok := in.base.Map.Get(f.Self).(*simulator.Folder); ok {
			root.Folder = f.Folder
			return
		}
	}
	e, ok := obj.(mo.Entity)
	if !ok {
		in.base.Map.Put(obj)
		return
	}
	config, overall := e.Entity().ConfigStatus, e.Entity().OverallStatus
	in.base.Map.Put(obj)
	for at, was := range map[*types.ManagedEntityStatus]types.ManagedEntityStatus{
		&e.Entity().ConfigStatus: config, &e.Entity().OverallStatus: overall,
	} {
		if was != "" {
			*at = was
		}
	}
}

// finish adds what vcsim expects of an object beyond its saved state.
func (in *installer) finish(o *item) error {
	switch obj := o.obj.(type) {
	case *simulator.Datastore:
		return in.datastore(obj)
	case *simulator.HostSystem:
		in.host(obj, o.answers)
	case *simulator.ClusterComputeResource:
		in.compute(&obj.ComputeResource)
	case *mo.ComputeResource:
		in.compute(obj)
	case *simulator.DistributedVirtualSwitch:
		if r, ok := o.answers["FetchDVPorts"].(types.FetchDVPortsResponse); ok {
			obj.FetchDVPortsResponse = r
		}
	case *simulator.EnvironmentBrowser:
		in.environment(obj, o.answers)
	case *simulator.VirtualMachine:
		return in.prepareVM(obj)
	}
	return nil
}

// guests returns what the guests of VMs report when they are up.
func (in *installer) guests() map[vc.Ref]guest.Info {
	all := make(map[vc.Ref]guest.Info)
	for _, o := range in.order {
		if vm, ok := o.obj.(*simulator.VirtualMachine); ok {
			if info, ok := guestOf(&vm.VirtualMachine); ok {
				all[o.ref] = info
			}
		}
	}
	return all
}

// saved returns the saved object of a reference in the service content.
func saved[T mo.Reference](in *installer, ref *vc.Ref) (none T, ok bool) {
	if ref == nil || in.objects[*ref] == nil {
		return none, false
	}
	m, ok := in.objects[*ref].obj.(T)
	return m, ok
}

// managers restores the state of managers.
func (in *installer) managers() {
	if from, ok := saved[*mo.ExtensionManager](in, in.content.ExtensionManager); ok && len(from.ExtensionList) > 0 {
		if to, ok := in.base.Map.Get(from.Self).(*simulator.ExtensionManager); ok {
			to.ExtensionList = from.ExtensionList
		}
	}
	if from, ok := saved[*mo.OptionManager](in, in.content.Setting); ok {
		if to, ok := in.base.Map.Get(from.Self).(*simulator.OptionManager); ok {
			to.Setting = settings(to.Setting, from.Setting)
		}
	}
	in.alarms()
}

// settings merges the saved settings into those of the vCenter. Address and administrator of the vCenter do not change.
func settings(own, saved []types.BaseOptionValue) []types.BaseOptionValue {
	out := slices.Clone(own)
	for _, o := range saved {
		if o == nil {
			continue
		}
		key := o.GetOptionValue().Key
		i := slices.IndexFunc(out, func(b types.BaseOptionValue) bool { return b.GetOptionValue().Key == key })
		switch {
		case i < 0:
			out = append(out, o)
		case strings.HasPrefix(key, "vcsim."), strings.HasPrefix(key, "config.vpxd.sso."), key == "VirtualCenter.InstanceName":
		default:
			out[i] = o
		}
	}
	return out
}

// alarms replaces vcsim's alarms by the saved ones.
func (in *installer) alarms() {
	if in.content.AlarmManager == nil {
		return
	}
	to, ok := in.base.Map.Get(*in.content.AlarmManager).(*simulator.AlarmManager)
	answer, asked := in.answer(*in.content.AlarmManager, "GetAlarm").(types.GetAlarmResponse)
	if !ok || !asked {
		return
	}
	kept := answer.Returnval[:0]
	for _, ref := range answer.Returnval {
		if in.objects[ref] != nil {
			kept = append(kept, ref)
		}
	}
	for _, ref := range to.GetAlarmResponse.Returnval {
		if !slices.Contains(kept, ref) {
			in.base.Map.Remove(vc.Fresh(in.base), ref)
		}
	}
	to.GetAlarmResponse.Returnval = kept
}

// highestField is the highest key of a custom field that new ones skip; real ones count from 1.
const highestField = 10000

// customFields restores the custom fields. Only the creation of fields advances vcsim's counter of keys, so this runs before any
// object exists.
func (in *installer) customFields() {
	from, ok := saved[*mo.CustomFieldsManager](in, in.content.CustomFieldsManager)
	if !ok || len(from.Field) == 0 {
		return
	}
	to, ok := in.base.Map.Get(from.Self).(*simulator.CustomFieldsManager)
	if !ok {
		return
	}
	highest := int32(0)
	for _, f := range from.Field {
		highest = max(highest, f.Key)
	}
	for i := int32(0); i <= min(highest, highestField); i++ {
		to.AddCustomFieldDef(vc.Fresh(in.base), &types.AddCustomFieldDef{
			This: to.Self, Name: fmt.Sprint(i), MoType: "none", // a type without objects
		})
		to.Field = nil
	}
	to.Field = from.Field
}

// guestOf returns what a VM's guest reports when it is up: its saved report, or what cloud-init makes of its variables. It
// returns false for a VM without tools, or a template.
func guestOf(vm *mo.VirtualMachine) (guest.Info, bool) {
	g := vm.Guest
	if vm.Config.Template || g == nil {
		return guest.Info{}, false
	}
	info := guest.Info{HostName: g.HostName, FullName: g.GuestFullName, Addresses: make(map[string][]netip.Prefix)}
	for _, nic := range g.Net {
		if all := addresses(nic); len(all) > 0 {
			info.Addresses[strings.ToLower(nic.MacAddress)] = all
		}
	}
	if a, err := netip.ParseAddr(g.IpAddress); err == nil && len(info.Addresses) == 0 {
		if mac := firstCard(vm); mac != "" {
			info.Addresses[mac] = []netip.Prefix{netip.PrefixFrom(a, bitsOf(a))}
		}
	}
	variables(vm, &info)
	if info.FullName == "" {
		info.FullName = vm.Config.GuestFullName
	}
	tools := g.ToolsStatus != "" && g.ToolsStatus != types.VirtualMachineToolsStatusToolsNotInstalled
	if info.HostName == "" && len(info.Addresses) == 0 && !tools {
		return guest.Info{}, false
	}
	if info.HostName == "" {
		info.HostName = label(vm.Name)
	}
	return info, true
}

func addresses(nic types.GuestNicInfo) []netip.Prefix {
	var all []netip.Prefix
	add := func(text string, bits int) {
		if a, err := netip.ParseAddr(text); err == nil {
			if bits < 0 || bits > a.BitLen() {
				bits = bitsOf(a)
			}
			all = append(all, netip.PrefixFrom(a, bits))
		}
	}
	if nic.IpConfig != nil {
		for _, a := range nic.IpConfig.IpAddress {
			add(a.IpAddress, int(a.PrefixLength))
		}
	}
	if len(all) == 0 {
		for _, text := range nic.IpAddress {
			add(text, -1)
		}
	}
	return all
}

// bitsOf returns the usual prefix length of an address.
func bitsOf(a netip.Addr) int {
	if a.Is4() {
		return 24
	}
	return 64
}

func firstCard(vm *mo.VirtualMachine) string {
	for _, d := range vm.Config.Hardware.Device {
		if card, ok := d.(types.BaseVirtualEthernetCard); ok {
			return strings.ToLower(card.GetVirtualEthernetCard().MacAddress)
		}
	}
	return ""
}

// cloudConfig is the part of guestinfo.metadata that is read: the name, and addresses in version 1 of cloud-init's network
// format.
type cloudConfig struct {
	Hostname string `yaml:"local-hostname"`
	Network  struct {
		Config []struct {
			MAC     string `yaml:"mac_address"`
			Subnets []struct {
				Address string `yaml:"address"`
			} `yaml:"subnets"`
		} `yaml:"config"`
	} `yaml:"network"`
}

// variables reads the guest's variables. Its report takes precedence.
func variables(vm *mo.VirtualMachine, info *guest.Info) {
	var text string
	for _, o := range vm.Config.ExtraConfig {
		if o == nil || o.GetOptionValue().Key != "guestinfo.metadata" {
			continue
		}
		text, _ = o.GetOptionValue().Value.(string)
	}
	if b, err := base64.StdEncoding.DecodeString(text); err == nil {
		text = string(b)
	}
	var c cloudConfig
	if text == "" || yaml.Unmarshal([]byte(text), &c) != nil {
		return // another format
	}
	if info.HostName == "" {
		info.HostName = c.Hostname
	}
	for _, card := range c.Network.Config {
		mac := strings.ToLower(card.MAC)
		for _, s := range card.Subnets {
			p, err := netip.ParsePrefix(s.Address)
			if err != nil {
				continue
			}
			info.Static = true
			if len(vm.Guest.Net) == 0 {
				info.Addresses[mac] = append(info.Addresses[mac], p)
			}
		}
	}
}
