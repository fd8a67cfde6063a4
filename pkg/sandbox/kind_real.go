package sandbox

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/kind"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
)

// A container that is the node of a real VM is called by the address that the VM's real guest reports: the cloud controller
// manager makes that the Node's, and initializes none whose kubelet says another. So the container has that address beside its
// own, and every container knows the way to it, by its own network, where nobody else hears of it.

// boundTo are the nodes as kind is to make them: on real VMs each with its address.
func boundTo(top *topology.Topology, real bool) ([]kind.Node, error) {
	nodes := kindNodes(top)
	if !real {
		return nodes, nil
	}
	addresses := recordedAddresses(top)
	var errs []error
	for i, n := range nodes {
		of := addresses[strings.ToLower(n.UUID)]
		if len(of) == 0 {
			errs = append(errs, fmt.Errorf("node %q: its VM reports no IPv4 address, which its container would have to have", n.Name))
			continue
		}
		nodes[i].Address = of[0]
	}
	return nodes, errors.Join(errs...)
}

// recordedAddresses are the IPv4 addresses of nodes when their vCenters were read, by the VMs' UUIDs.
func recordedAddresses(top *topology.Topology) map[string][]netip.Addr {
	all := map[string][]netip.Addr{}
	for _, r := range top.Nodes() {
		uuid := strings.ToLower(r.VM.UUID)
		for _, nic := range r.VM.NICs {
			for _, text := range nic.Addresses {
				text, _, _ = strings.Cut(text, "/")
				all[uuid] = appendIPv4(all[uuid], text)
			}
		}
	}
	return all
}

func appendIPv4(list []netip.Addr, text string) []netip.Addr {
	a, err := netip.ParseAddr(text)
	if err != nil || !a.Is4() || slices.Contains(list, a) {
		return list
	}
	return append(list, a)
}

// ways is the script that gives the container of a VM, by its UUID, the VM's addresses, and the ways to those of all others;
// "" is a container that is no VM's. What it did before it takes back.
func (k *kindCluster) ways(uuid string) string {
	all := recordedAddresses(k.s.topology())
	for _, v := range k.s.world.VMs() { // what a guest that runs says by now
		is := strings.ToLower(v.UUID)
		if all[is] == nil {
			continue
		}
		var now []netip.Addr
		for _, text := range v.Addresses {
			now = appendIPv4(now, text)
		}
		if len(now) > 0 {
			all[is] = now
		}
	}
	return waysOf(uuid, all)
}

// waysOf is [kindCluster.ways] of addresses by UUIDs. The label and the protocol number are ours: by these what is gone is found.
func waysOf(uuid string, all map[string][]netip.Addr) string {
	var own, others []netip.Addr
	for is, list := range all {
		if is == uuid {
			own = append(own, list...)
		} else {
			others = append(others, list...)
		}
	}
	script := []string{
		"set -e",
		"ip -4 address flush dev eth0 label eth0:vm",
		"ip -4 route flush dev eth0 proto 247",
	}
	slices.SortFunc(own, netip.Addr.Compare)
	slices.SortFunc(others, netip.Addr.Compare)
	for _, a := range own {
		script = append(script, fmt.Sprintf("ip -4 address add %s/32 dev eth0 label eth0:vm", a))
	}
	for _, a := range slices.Compact(others) {
		if !slices.Contains(own, a) {
			script = append(script, fmt.Sprintf("ip -4 route replace %s/32 dev eth0 proto 247", a))
		}
	}
	return strings.Join(script, "\n")
}

// bind gives the containers their VMs' addresses as soon as they run: kubelets ask for them before there is a cluster.
func (k *kindCluster) bind(ctx context.Context) error {
	if k.s.opts.Real == nil {
		return nil
	}
	names := map[string]string{} // UUIDs by node
	for uuid, name := range k.byUUID {
		names[name] = uuid
	}
	if spare := k.cluster.Spare(); spare != "" {
		names[spare] = ""
	}
	var errs []error
	for name, uuid := range names {
		_, err := k.exec(ctx, name, "sh", "-c", k.ways(uuid))
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}
