package sandbox

import (
	"context"
	"strings"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/faults"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/vcenters"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/world"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
)

// inventoryChanged is told of VMs that changed, by the watch of their vCenter.
func (s *Sandbox) inventoryChanged(i *world.Inventory, vms []world.VM) {
	s.nodes.observe(i, vms)
	s.storage.VMsChanged(vms)
	for _, v := range vms {
		s.vmChanged(v)
	}
}

// aroundChanged is told that something else in a vCenter did, or where VMs are.
func (s *Sandbox) aroundChanged(i *world.Inventory, others bool) {
	s.watchCache.SetHosts(i.VCenter, i.Hosts())
	s.vcenterChanged(i.VCenter)
	if others { // what VMs are in, or on, may have other names
		for _, v := range i.VMs() {
			s.vmChanged(v)
		}
	}
}

// vmChanged tells those who watch what a VM is by now, which may be later than what the caller has read.
func (s *Sandbox) vmChanged(v world.VM) {
	s.watchCache.Refresh(func() {
		if vc := s.vcenters.Find(v.VCenter); vc != nil && v.Exists {
			now, exists := vc.Inventory.VM(v.Ref)
			if !exists {
				return // the watch reports it as gone
			}
			v = now
		}
		if v.Role = s.nodes.Role(v); v.Role != "" {
			v.Process = string(s.nodes.Process(v))
		}
		s.watchCache.SetVM(v)
	})
}

// leaseChanged tells of a lease, and of vCenters that clients reach in another way by now.
func (s *Sandbox) leaseChanged(l fault.Lease) {
	s.watchCache.SetLease(faults.LeaseRow(l))
	for _, t := range l.Targets {
		if t.Target.Kind == fault.VCenter {
			s.vcenterChanged(t.Target.Name)
		}
	}
}

func (s *Sandbox) vcenterChanged(name string) {
	s.watchCache.Refresh(func() {
		if vc := s.vcenters.Find(name); vc != nil {
			s.watchCache.SetVCenter(vc.Row())
		}
	})
}

// assignRoles says which VMs are nodes by now, and tells those who watch.
func (s *Sandbox) assignRoles(top, passing *topology.Topology) {
	s.nodes.assign(top, passing)
	for _, vc := range s.vcenters {
		for _, v := range vc.Inventory.VMs() {
			s.vmChanged(v)
		}
	}
}

// followLog brings rows up to date that have no watch of their own: an event says that they are others now.
func (s *Sandbox) followLog(ctx context.Context) {
	for seq := s.log.Last(); ; {
		events, lost, err := s.log.Wait(ctx, seq, 256)
		if err != nil {
			return
		}
		if lost > 0 {
			s.everythingChanged(ctx)
		}
		for _, e := range events {
			s.happened(ctx, e)
			seq = e.Seq
		}
	}
}

func (s *Sandbox) happened(ctx context.Context, e event.Event) {
	subject, _, _ := strings.Cut(e.Kind, ".")
	switch {
	case subject == "tag":
		s.tags.Update(ctx)
	case subject == "gate", subject == "inventory":
		s.vcenterChanged(e.Object.Name)
	case e.Object.Kind == "Volume":
		s.storage.Happened(e.Object)
	case e.Object.Kind == "Component" && subject == "child":
		s.components.Changed(e.Object.Name)
	case e.Object.Kind == "Node" && (subject == "child" || subject == "node"):
		switch e.Kind {
		case "node.hung", "node.resumed", "child.paused", "child.resumed", "node.not-ready", "node.unknown", "node.ready":
			s.components.Changed("node/" + e.Object.Name) // it stands still, or goes on
		}
		b := s.nodes.behind(e.Object.Name)
		if vc := s.vcenters.Find(b.vcenter); vc != nil {
			if v, ok := vc.Inventory.VM(b.key.ref); ok {
				s.vmChanged(v)
			}
		}
	}
}

// componentRows lists the components, with what else than their supervisor knows of them.
func (s *Sandbox) componentRows() []api.Component {
	list := s.components.All()
	s.describe(list)
	return list
}

// describe adds what others than their supervisor know of components.
func (s *Sandbox) describe(list []api.Component) {
	s.ccm.Describe(list)
	stopped := s.nodes.stopped()
	for i := range list {
		if p, ok := stopped[list[i].Name]; ok {
			list[i].State = string(p)
		}
	}
}

// tagsChanged tells of the VMs of a vCenter, which may be in another place by now.
func (s *Sandbox) tagsChanged(vc *vcenters.VCenter) {
	for _, v := range vc.Inventory.VMs() {
		s.vmChanged(v)
	}
}

func (s *Sandbox) everythingChanged(ctx context.Context) {
	s.tags.Refresh(ctx)
	for _, vc := range s.vcenters {
		s.aroundChanged(vc.Inventory, true)
	}
}

// callsEvery is how often counts of calls are told at most.
const callsEvery = time.Second

// calls counts what every vCenter was asked for, by method and client.
func (s *Sandbox) calls(context.Context) (any, error) {
	if err := s.built(); err != nil {
		return nil, err
	}
	rows := []api.Calls{}
	for _, vc := range s.vcenters {
		rows = append(rows, vcenters.CallsRows(vc.Name(), vc.Gate().Stats())...)
	}
	return rows, nil
}

// followCalls tells of the calls to a vCenter until ctx ends: of the first at once, and then once a second of what was
// called meanwhile. Nothing is done as long as nobody calls.
func (s *Sandbox) followCalls(ctx context.Context, vc *vcenters.VCenter) {
	for told := int64(0); ; {
		changed, n, err := vc.Gate().WaitStats(ctx, told)
		if err != nil {
			return
		}
		s.watchCache.SetCalls(vcenters.CallsRows(vc.Name(), changed))
		told = n
		select {
		case <-time.After(callsEvery):
		case <-ctx.Done():
			return
		}
	}
}
