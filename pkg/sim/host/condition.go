package host

import (
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/internal/vc"
)

// machine is what a host really does, whether or not its vCenter can see it.
type machine int

const (
	running  machine = iota
	isolated         // runs, and cannot be reached
	crashed
	off     // shut down by a call
	booting // on its way back from a reboot
	standby
)

// runs tells whether VMs on the host run.
func (m machine) runs() bool { return m == running || m == isolated }

// condition is what is known of a host beside vcsim's properties. The zero value is a host in order.
type condition struct {
	machine machine
	// disconnected is what the user asked for.
	disconnected bool
	// leaving tells that VMs are to leave it, for maintenance mode or standby.
	leaving bool
	// maintenance is maintenance mode, reached.
	maintenance bool
	// mode is the standby mode; empty is none.
	mode types.HostStandbyMode
	// boots counts changes of machine, so that the end of a boot is known to be stale.
	boots uint64
}

// usable tells whether VMs can be started on the host.
func (c condition) usable() bool {
	return c.machine == running && !c.disconnected && !c.leaving && !c.maintenance
}

func (c condition) connection() types.HostSystemConnectionState {
	switch {
	case c.disconnected:
		return types.HostSystemConnectionStateDisconnected
	case c.machine == running:
		return types.HostSystemConnectionStateConnected
	}
	return types.HostSystemConnectionStateNotResponding
}

func (c condition) power() types.HostSystemPowerState {
	switch {
	case c.machine == running && !c.disconnected:
		return types.HostSystemPowerStatePoweredOn
	case c.machine == off:
		return types.HostSystemPowerStatePoweredOff
	case c.machine == standby:
		return types.HostSystemPowerStateStandBy
	}
	return types.HostSystemPowerStateUnknown
}

// status is the color of the host: vCenter's own alarm on hosts turns it red when one does not respond that should.
func (c condition) status() types.ManagedEntityStatus {
	switch {
	case c.disconnected, c.machine == standby:
		return types.ManagedEntityStatusGray
	case c.machine == running:
		return types.ManagedEntityStatusGreen
	}
	return types.ManagedEntityStatusRed
}

// fault says why a call that needs the host cannot be made, nil when it can.
func (c condition) fault() types.BaseMethodFault {
	switch c.connection() {
	case types.HostSystemConnectionStateDisconnected:
		return new(types.HostNotConnected)
	case types.HostSystemConnectionStateNotResponding:
		return new(types.HostNotReachable)
	default:
		return nil
	}
}

// of returns the host's condition now.
func (h *Hosts) of(ref vc.Ref) condition {
	h.mu.Lock()
	defer h.mu.Unlock()
	if c := h.hosts[ref]; c != nil {
		return *c
	}
	return condition{}
}

// turn changes the host's condition, if change agrees to, and tells whether it did. Nobody sees it before publish.
func (h *Hosts) turn(ref vc.Ref, change func(*condition) bool) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	next := condition{}
	if c := h.hosts[ref]; c != nil {
		next = *c
	}
	was := next.machine
	if !change(&next) {
		return false
	}
	if next.machine != was {
		next.boots++
	}
	h.hosts[ref] = &next
	return true
}

// Usable tells whether VMs can be started on the host now: it is connected, on, not in maintenance mode and not on its
// way there.
func (h *Hosts) Usable(ref types.ManagedObjectReference) bool { return h.of(ref).usable() }

// Disconnected tells whether a user has disconnected the vCenter from the host.
func (h *Hosts) Disconnected(ref types.ManagedObjectReference) bool { return h.of(ref).disconnected }

// Dead tells whether the host's VMs have died with it: it crashed, or was shut down or rebooted by force, and has not come
// back. Of a host that only lost its network this is false, as HA finds out through the datastores.
func (h *Hosts) Dead(ref types.ManagedObjectReference) bool { return !h.of(ref).machine.runs() }
