package inventory

import (
	"errors"
	"fmt"
	"slices"

	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/absent"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/match"
)

// absent returns the configured names that the vCenter does not have; false while that is not known, because the index is
// not in sync or the tags have not been read.
func (m *member) absent() (names []absent.Name, known bool) {
	if m.doubt() != nil {
		return nil, false
	}
	names = m.absentDatacenters()
	if m.tags.cfg.Categories.enabled() {
		select {
		case <-m.tags.ready:
		default:
			return nil, false
		}
		names = append(names, m.tags.state.Load().absent...)
	}
	if len(m.networks) > 0 {
		names = append(names, absent.Find(absent.Wanted{Networks: m.networks}, absent.Present{Networks: m.reportedNetworks()})...)
	}
	return names, true
}

// absentDatacenters returns the configured datacenters that do not exist, with the names that they have now if the source
// has seen them before.
func (m *member) absentDatacenters() []absent.Name {
	if len(m.datacenters) == 0 {
		return nil
	}
	m.index.mu.RLock()
	places := m.index.places()
	m.index.mu.RUnlock()
	return m.absentAmong(places)
}

func (m *member) absentAmong(places []absent.Place) []absent.Name {
	names := absent.Find(absent.Wanted{Datacenters: m.datacenters}, absent.Present{Datacenters: places})
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, want := range absent.Split(m.datacenters, places) {
		if i := slices.IndexFunc(places, func(p absent.Place) bool { return p.Is(want) }); i >= 0 {
			if m.matched == nil {
				m.matched = map[string]string{}
			}
			m.matched[want] = places[i].Ref
		}
	}
	absent.Renamed(names, places, func(name string) string { return m.matched[name] })
	return names
}

// places returns the datacenters, never nil. The lock is held.
func (x *index) places() []absent.Place {
	places := []absent.Place{}
	for _, dc := range x.datacenters() {
		places = append(places, x.place(dc))
	}
	return places
}

func (x *index) place(dc types.ManagedObjectReference) absent.Place {
	return absent.Place{Ref: dc.String(), Name: x.name(dc), Path: x.path(dc)}
}

// reportedNetworks returns the networks of the adapters that guests report, in order; nil if none reports any.
func (m *member) reportedNetworks() []string {
	m.index.mu.RLock()
	defer m.index.mu.RUnlock()
	seen := map[string]bool{}
	for _, vm := range m.index.vms {
		if len(vm.Adapters) == 0 || !m.inside(vm) {
			continue
		}
		for _, a := range vm.Adapters {
			if !a.Virtual && a.Network != "" {
				seen[a.Network] = true
			}
		}
	}
	var networks []string
	for name := range seen {
		networks = append(networks, name)
	}
	slices.Sort(networks)
	return networks
}

// hiding returns the [*absent.Error] that some VMs may be hidden by, or nil.
func (m *member) hiding() error {
	return m.lacks(m.absentDatacenters())
}

func (m *member) lacks(names []absent.Name) error {
	if len(names) == 0 {
		return nil
	}
	return &absent.Error{VCenter: m.client.Name(), Names: names}
}

// OutsideError reports that a VM is in a datacenter that is not configured, so that lookups do not find it.
type OutsideError struct {
	VM *VM
	// Datacenter is the path of its datacenter; "" if unknown.
	Datacenter string
}

// Error implements error.
func (e *OutsideError) Error() string {
	if e.Datacenter == "" {
		return fmt.Sprintf("vm %s is in no known datacenter", e.VM)
	}
	return fmt.Sprintf("vm %s is in datacenter %q, which is not configured", e.VM, e.Datacenter)
}

// Hidden returns why lookups do not find the VM of a node that a vCenter may have: the VM is in a datacenter that is not
// configured (an [*OutsideError]), or a configured datacenter does not exist (an [*absent.Error]). It returns nil if
// neither is so.
func (inv *Inventory) Hidden(n match.Node, c match.Behavior) error {
	limited := func(m *member) bool { return len(m.datacenters) > 0 }
	if !slices.ContainsFunc(inv.members, limited) {
		return nil
	}
	var errs []error
	a := match.Find(n, inv.everywhere(), c)
	if a.Reason == match.Found {
		errs = append(errs, &OutsideError{VM: a.VM, Datacenter: inv.Datacenter(a.VM)})
	}
	for _, m := range inv.members {
		if a.Reason != match.Found || m.client.Name() == a.VM.VCenter {
			errs = append(errs, m.hiding())
		}
	}
	return oneLine(errs)
}

// everywhere returns an index of all VMs, those outside the configured datacenters included.
func (inv *Inventory) everywhere() *Inventory {
	all := &Inventory{cfg: inv.cfg}
	for _, m := range inv.members {
		all.members = append(all.members, &member{source: m.source, tags: m.tags})
	}
	return all
}

// oneLine is [errors.Join] on one line.
func oneLine(errs []error) error {
	var all error
	for _, err := range errs {
		switch {
		case err == nil:
		case all == nil:
			all = err
		default:
			all = fmt.Errorf("%w; %w", all, err)
		}
	}
	return all
}

// OutOfScope reports whether err, from [Inventory.ConfirmAbsent], includes that the VM is outside the configured
// datacenters.
func OutOfScope(err error) bool { return errors.Is(err, errOutOfScope) }

// MissingCategories reports whether err, from [Inventory.Zone], includes that a tag category does not exist.
func MissingCategories(err error) bool {
	_, ok := errors.AsType[*categoriesError](err)
	return ok
}

// Absent returns the names in err's chain that a vCenter does not have, or nil.
func Absent(err error) *absent.Error {
	e, _ := errors.AsType[*absent.Error](err)
	return e
}
