package inventory

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/guest"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/match"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/vcenter"
)

// Config is the configuration of an [Inventory].
type Config struct {
	VCenters []VCenterConfig
	// Categories are the names of the tag categories of region and zone. Unless both are set, no tags are read.
	Categories Categories
	// Networks are the names of the configured VM networks. They only serve to report those that no guest reports.
	Networks []string
	// Previous, if set, is an inventory that this one replaces. For vCenters with the same Client, New reuses its connection
	// and index, and if the categories are the same its tags. Run must be called before the other's Run ends: see
	// [Inventory.Running]. A connection that was made without categories stays without tag events.
	Previous *Inventory
	// TagRefresh is how often tags are read without a trigger. When zero: every 5 min if the vCenter's events report every
	// attached or detached tag, else every 60 s.
	TagRefresh time.Duration
	// TagMissInterval is the least time between two reads that are triggered by an event or a missed tag; 300 ms when zero.
	// It grows to 5 s while events change nothing.
	TagMissInterval time.Duration
	// ParityUpstream computes zones as upstream does, as far as upstream's result is deterministic: a tag farther up replaces
	// a nearer one while the other label is missing. See [Inventory.Zone]. It also reads guestinfo.metadata as upstream does.
	ParityUpstream bool
	// OnChange, if set, is called after the index has changed. It is called from the goroutines that update the index, one
	// for each vCenter, and must not block.
	OnChange func(Change)
	// Logger receives changes of state; discarded when nil.
	Logger *slog.Logger
}

// Categories are the names of two tag categories.
type Categories struct {
	Region, Zone string
}

func (c Categories) enabled() bool { return c.Region != "" && c.Zone != "" }

// VCenterConfig is one vCenter of an inventory.
type VCenterConfig struct {
	// Client is the vCenter's client. [Inventory.Run] runs it.
	Client *vcenter.Client
	// Datacenters limits the index to VMs below these datacenters, given by name, inventory path or reference
	// ("Datacenter:datacenter-3"); empty for all.
	Datacenters []string
}

// Inventory is the index. Create it with [New] and call [Inventory.Run] in a goroutine. All other methods are safe for
// concurrent use at any time, and do not block unless documented.
type Inventory struct {
	cfg     Config
	members []*member
	running chan struct{}
}

// New returns an inventory that has not started watching.
func New(cfg Config) (*Inventory, error) {
	if len(cfg.VCenters) == 0 {
		return nil, errors.New("inventory: no vcenter")
	}
	cfg.TagMissInterval = cmp.Or(cfg.TagMissInterval, 300*time.Millisecond)
	cfg.Logger = cmp.Or(cfg.Logger, slog.New(slog.DiscardHandler))
	inv := &Inventory{cfg: cfg, running: make(chan struct{})}
	for _, vc := range cfg.VCenters {
		inv.members = append(inv.members, newMember(vc, cfg))
	}
	inv.cfg.Previous = nil
	return inv, nil
}

// Run connects to every vCenter and keeps the index current until ctx ends; then it logs out and returns nil. It leaves
// running what another inventory has taken over. It must be called once.
func (inv *Inventory) Run(ctx context.Context) error {
	var ends []func() error
	end := func() error {
		errs := make([]error, len(ends))
		var wg sync.WaitGroup
		for i, end := range ends {
			wg.Go(func() { errs[i] = end() })
		}
		wg.Wait()
		return errors.Join(errs...)
	}
	for _, m := range inv.members {
		release, err := m.hold(ctx)
		if err != nil {
			return errors.Join(fmt.Errorf("vcenter %q: %w", m.client.Name(), err), end())
		}
		ends = append(ends, release)
	}
	close(inv.running)
	<-ctx.Done()
	return end()
}

// Running is closed when Run has started: what was taken over from another inventory no longer needs that one's Run.
func (inv *Inventory) Running() <-chan struct{} { return inv.running }

// WaitSynced waits until every vCenter is in sync and its tags have been read. If ctx ends before, it returns an error that
// names the vCenters that are not.
func (inv *Inventory) WaitSynced(ctx context.Context) error {
	for _, m := range inv.members {
		for {
			synced, changed := m.syncState()
			if synced {
				break
			}
			select {
			case <-changed:
			case <-ctx.Done():
				return errors.Join(ctx.Err(), inv.doubt())
			}
		}
		if err := m.tags.wait(ctx); err != nil {
			return errors.Join(err, inv.doubt())
		}
	}
	return nil
}

// doubt joins the doubts of all vCenters.
func (inv *Inventory) doubt() error {
	var err error
	for _, m := range inv.members {
		err = errors.Join(err, m.doubt())
	}
	return err
}

// member returns the vCenter with the given name, or nil.
func (inv *Inventory) member(name string) *member {
	for _, m := range inv.members {
		if m.client.Name() == name {
			return m
		}
	}
	return nil
}

type (
	// UUID is a VM's BIOS UUID.
	UUID = match.UUID
	// Result is the outcome of a lookup.
	Result = match.Result[*VM]
)

// ByUUID finds VMs by BIOS UUID. It tries the swapped byte order only if no vCenter has the UUID as given.
func (inv *Inventory) ByUUID(u UUID) Result {
	var exact, swapped []*VM
	var doubt error
	other := u.Swapped()
	for _, m := range inv.members {
		if err := m.doubt(); err != nil {
			doubt = errors.Join(doubt, err)
			continue
		}
		exact = inv.join(exact, m.filter(m.index.uuid(u)))
		if len(exact) == 0 {
			swapped = inv.join(swapped, m.filter(m.index.uuid(other)))
		}
	}
	if len(exact) > 0 {
		return Result{VMs: exact, Doubt: doubt}
	}
	return Result{VMs: swapped, Doubt: doubt}
}

// ByHostName finds VMs by the hostname that the guest reports, in any case. A short name also matches a full name with that
// first label, and a full name matches the short one, but not a full name in another domain. If VMs have exactly the given
// name, only these are returned.
func (inv *Inventory) ByHostName(name string) Result {
	name = match.FoldHostName(name)
	if name == "" {
		return Result{}
	}
	var exact, others []*VM
	var doubt error
	for _, m := range inv.members {
		if err := m.doubt(); err != nil {
			doubt = errors.Join(doubt, err)
			continue
		}
		e, o := m.index.host(name)
		exact = inv.join(exact, m.filter(e))
		if len(exact) == 0 {
			others = inv.join(others, m.filter(o))
		}
	}
	if len(exact) == 0 {
		exact = others
	}
	return Result{VMs: exact, Doubt: doubt}
}

// ByIP finds VMs by an address that the guest reports on one of the VM's hardware adapters.
func (inv *Inventory) ByIP(ip netip.Addr) Result {
	ip = ip.Unmap().WithZone("")
	var r Result
	for _, m := range inv.members {
		if err := m.doubt(); err != nil {
			r.Doubt = errors.Join(r.Doubt, err)
			continue
		}
		r.VMs = inv.join(r.VMs, m.filter(m.index.ip(ip)))
	}
	return r
}

// join returns both lists as one, without the VMs of the second that the first has from another connection to the same vCenter.
// It does not allocate if one is empty.
func (inv *Inventory) join(a, b []*VM) []*VM {
	switch {
	case len(a) == 0:
		return b
	case len(b) == 0:
		return a
	}
	all := slices.Clone(a)
	for _, vm := range b {
		if !slices.ContainsFunc(a, func(o *VM) bool { return o.Ref == vm.Ref && inv.oneVCenter(o.VCenter, vm.VCenter) }) {
			all = append(all, vm)
		}
	}
	return all
}

// oneVCenter reports whether two connections, by their names, are to the same vCenter: they have one instance UUID, even under
// several addresses.
func (inv *Inventory) oneVCenter(a, b string) bool {
	x, y := inv.member(a), inv.member(b)
	if x == nil || y == nil {
		return false
	}
	first, err := x.instanceUUID()
	second, err2 := y.instanceUUID()
	return err == nil && err2 == nil && strings.EqualFold(first, second)
}

// VM is an immutable snapshot of one virtual machine.
type VM struct {
	// VCenter is the name of its vCenter, and Ref its reference there.
	VCenter string
	Ref     types.ManagedObjectReference

	Name         string // inventory name
	UUID         UUID   // BIOS UUID; zero while the vCenter has reported none
	InstanceUUID string
	GuestID      string
	NumCPU       int32
	MemoryMB     int32
	Template     bool

	HostName string          // as the guest reports it; empty while the guest does not run
	Adapters []guest.Adapter // as the guest reports them; empty while the guest does not run
	// Static are the addresses in the VM's guestinfo.metadata, as [guest.StaticAddresses] reads them, and StaticErr is why
	// they cannot be read.
	Static    []netip.Addr
	StaticErr error

	Power      types.VirtualMachinePowerState
	Connection types.VirtualMachineConnectionState

	Host, ResourcePool, Parent types.ManagedObjectReference // zero when unknown

	folded   string         // HostName in the form in which names are compared
	encoding string         // guestinfo.metadata.encoding; the metadata itself is not kept
	dc       *datacenterRef // the datacenter it lies in, nil when unknown or not in sync
}

// String names the VM in messages.
func (vm *VM) String() string {
	return vm.Name + " (" + vm.Ref.Value + " in vcenter " + vm.VCenter + ")"
}

// Facts implements [match.Candidate]. It leaves out the addresses, of which the index has its own map.
func (vm *VM) Facts() match.VM {
	return match.VM{
		VCenter: vm.VCenter, Ref: vm.Ref.Value, UUID: vm.UUID, HostName: vm.HostName, Template: vm.Template,
		Connected: vm.Connection == types.VirtualMachineConnectionStateConnected,
		On:        vm.Power == types.VirtualMachinePowerStatePoweredOn,
	}
}

// firstLabel returns the first label of a hostname that has several.
func firstLabel(host string) (label string, ok bool) {
	label, _, ok = strings.Cut(host, ".")
	return label, ok
}

// eachIP calls f for the usable guest addresses of the VM's own adapters. Adapters that are not its hardware
// (DeviceConfigId -1: what a CNI makes inside the guest) may repeat the same address on every node.
func (vm *VM) eachIP(f func(netip.Addr)) {
	for _, a := range vm.Adapters {
		if a.Virtual {
			continue
		}
		for _, ip := range a.Addresses {
			if guest.Usable(ip) {
				f(ip.WithZone(""))
			}
		}
	}
}

// The keys of cloud-init's metadata in a VM's advanced configuration.
const (
	metadataPath = `config.extraConfig["guestinfo.metadata"]`
	encodingPath = `config.extraConfig["guestinfo.metadata.encoding"]`
)

// vmProperties are the watched properties of every VM; apply reads each of them.
var vmProperties = [...]string{
	"name", "parent", "resourcePool", "guest.hostName", "guest.net",
	"summary.config.uuid", "summary.config.instanceUuid", "summary.config.guestId", "summary.config.numCpu",
	"summary.config.memorySizeMB", "summary.config.template",
	"runtime.powerState", "runtime.connectionState", "runtime.host", metadataPath, encodingPath,
}

// apply sets the changed properties. It ignores values of an unexpected type.
func (vm *VM) apply(changes []types.PropertyChange, one *interner, static staticFunc) {
	var metadata *string
	for _, c := range changes {
		switch c.Name {
		case "name":
			vm.Name, _ = c.Val.(string)
		case "parent":
			vm.Parent = reference(c.Val, one)
		case "resourcePool":
			vm.ResourcePool = reference(c.Val, one)
		case "guest.hostName":
			vm.HostName, _ = c.Val.(string)
			vm.folded = match.FoldHostName(vm.HostName)
		case "guest.net":
			vm.Adapters = adapters(c.Val, one)
		case "summary.config.uuid":
			// A VM keeps its UUID for life; during a failover a vCenter may report a blank one for seconds
			// (kubernetes/cloud-provider-vsphere#521).
			s, _ := c.Val.(string)
			if u, err := match.ParseUUID(s); err == nil {
				vm.UUID = u
			}
		case "summary.config.instanceUuid":
			vm.InstanceUUID, _ = c.Val.(string)
		case "summary.config.guestId":
			vm.GuestID, _ = c.Val.(string)
			vm.GuestID = one.text(vm.GuestID)
		case "summary.config.numCpu":
			vm.NumCPU, _ = c.Val.(int32)
		case "summary.config.memorySizeMB":
			vm.MemoryMB, _ = c.Val.(int32)
		case "summary.config.template":
			vm.Template, _ = c.Val.(bool)
		case "runtime.powerState":
			state, _ := c.Val.(types.VirtualMachinePowerState)
			vm.Power = types.VirtualMachinePowerState(one.text(string(state)))
		case "runtime.connectionState":
			state, _ := c.Val.(types.VirtualMachineConnectionState)
			vm.Connection = types.VirtualMachineConnectionState(one.text(string(state)))
		case "runtime.host":
			vm.Host = reference(c.Val, one)
		case metadataPath:
			text := option(c.Val)
			metadata = &text
		case encodingPath:
			vm.encoding = one.text(strings.TrimSpace(option(c.Val)))
		}
	}
	if metadata != nil {
		vm.Static, vm.StaticErr = static(*metadata, vm.encoding)
	}
}

// staticFunc reads the addresses in a VM's guestinfo.metadata.
type staticFunc func(metadata, encoding string) ([]netip.Addr, error)

func reference(value types.AnyType, one *interner) types.ManagedObjectReference {
	ref, _ := value.(types.ManagedObjectReference)
	return one.ref(ref)
}

func adapters(value types.AnyType, one *interner) (all []guest.Adapter) {
	switch nics := value.(type) {
	case types.ArrayOfGuestNicInfo:
		all = guest.Adapters(nics.GuestNicInfo)
	case []types.GuestNicInfo:
		all = guest.Adapters(nics)
	}
	for i := range all {
		all[i].Network = one.text(all[i].Network)
	}
	return all
}

// option returns the text of a VM's option, or "".
func option(value types.AnyType) string {
	if o, ok := value.(types.BaseOptionValue); ok {
		value = o.GetOptionValue().Value
	}
	if o, ok := value.(types.OptionValue); ok {
		value = o.Value
	}
	s, _ := value.(string)
	return s
}
