package apply

import (
	"errors"
	"strings"

	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
)

// machine is a VM of the topology with the one that stands for it, if there is one.
type machine struct {
	*placedVM
	live   *entity
	before *placedVM // as the topology had it; nil when it did not
	ref    ref       // set when it is made
}

var errNoVM = errors.New("the VM is not there")

// holder returns its reference when the steps before are done.
func (m *machine) holder() (ref, error) {
	if m.ref == (ref{}) {
		return ref{}, errNoVM
	}
	return m.ref, nil
}

// machines plans the VMs: those that are there first, so that names are free for those that are not.
func (p *planner) machines() []*machine {
	all := p.match()
	for _, m := range all {
		if m.live != nil {
			p.changeVM(m)
		}
	}
	for _, m := range all {
		if m.live == nil {
			p.createVM(m)
		}
	}
	return all
}

// match finds the VMs of the topology in the inventory: by place and UUID, by UUID, by place.
func (p *planner) match() []*machine {
	var all []*machine
	for _, vm := range vms(p.want) {
		all = append(all, &machine{placedVM: vm})
	}
	sameUUID := func(o *entity, uuid string) bool { return strings.EqualFold(get[string](o, "config.uuid"), uuid) }
	for _, fits := range []func(*placedVM, *entity) bool{
		func(vm *placedVM, o *entity) bool { return o.key == vm.key && sameUUID(o, vm.UUID) },
		func(vm *placedVM, o *entity) bool { return sameUUID(o, vm.UUID) },
		func(vm *placedVM, o *entity) bool { return o.key == vm.key },
	} {
		index := p.candidates()
		for _, m := range all {
			if m.live != nil {
				continue
			}
			for _, o := range append(index[m.key], index[strings.ToLower(m.UUID)]...) {
				if !p.claimed[o.ref] && fits(m.placedVM, o) {
					m.live, m.ref = o, o.ref
					p.claimed[o.ref] = true
					break
				}
			}
		}
	}
	index := map[string]*placedVM{}
	for _, t := range p.opts.before() {
		had := vcenterOf(t, p.want.Name)
		if had == nil {
			continue
		}
		for _, vm := range vms(had) {
			index[vm.key], index[strings.ToLower(vm.UUID)] = vm, vm
		}
	}
	for _, o := range p.vms {
		p.hadVMs[o.ref] = index[o.key] != nil || index[strings.ToLower(get[string](o, "config.uuid"))] != nil
	}
	for _, m := range all {
		if m.live == nil {
			continue
		}
		if m.before = index[strings.ToLower(get[string](m.live, "config.uuid"))]; m.before == nil {
			m.before = index[m.live.key]
		}
	}
	return all
}

// candidates are the VMs that stand for none yet, by key and by UUID.
func (p *planner) candidates() map[string][]*entity {
	index := map[string][]*entity{}
	for _, o := range p.vms {
		if !p.claimed[o.ref] {
			index[o.key] = append(index[o.key], o)
			uuid := strings.ToLower(get[string](o, "config.uuid"))
			index[uuid] = append(index[uuid], o)
		}
	}
	return index
}

// markVM plans tags and permissions of a VM.
func (p *planner) markVM(m *machine) {
	var had topology.Marks
	if m.before != nil {
		had = m.before.Marks
	}
	p.mark(KindVM, m.path, m.holder, m.Tags, had.Tags, m.Permissions, had.Permissions)
}

func running(o *entity) bool {
	s := get[types.VirtualMachinePowerState](o, "runtime.powerState")
	return s != "" && s != types.VirtualMachinePowerStatePoweredOff
}
