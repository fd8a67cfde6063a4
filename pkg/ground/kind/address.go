package kind

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"sync"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/kind"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/world"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
)

// containerBits is how long the network part of a container's address is taken to be: what Docker and Podman give networks.
const containerBits = 16

// addressed has the guest of a VM report the address that its container has by now: the container is the guest, and the kubelet
// says that address.
func (g *Ground) addressed(vm world.VM, address netip.Addr) {
	if address.IsValid() {
		g.report(vm, netip.PrefixFrom(address, containerBits))
	}
}

// report has the guest of a VM report an address in place of the first one of its family that it reported. Every other address
// stays.
func (g *Ground) report(vm world.VM, address netip.Prefix) {
	vc := g.Host.Simulated(vm.VCenter)
	if vc == nil {
		return // a real guest says itself what address it has
	}
	info, ok := vc.Guest(vm.Ref)
	if !ok {
		return // it is gone
	}
	cards := vc.MACs(vm.Ref) // a VM that was created again has other NICs than the topology
	if len(cards) == 0 {
		return // it has no network card to have an address
	}
	mac := cards[0]
	was := info.Addresses[mac]
	now := make([]netip.Prefix, 0, len(was)+1)
	now = append(now, address)
	replaced := false
	for _, p := range was {
		if !replaced && p.Addr().Is4() == address.Addr().Is4() {
			replaced = true
			continue
		}
		now = append(now, p)
	}
	if slices.Equal(was, now) {
		return
	}
	addresses := map[string][]netip.Prefix{mac: now}
	for other, list := range info.Addresses {
		if other != mac {
			addresses[other] = list
		}
	}
	info.Addresses, info.Static = addresses, true
	if err := vc.SetGuest(vm.Ref, info); err != nil {
		g.notice(strings.ToLower(vm.Name), err)
	}
}

// farEnd hands out addresses of a network of containers from its end: Docker hands them out from the beginning. It is for any
// goroutine.
type farEnd struct {
	mu     sync.Mutex
	subnet netip.Prefix
	owners map[uint32]vmKey // by how far from the end the address is
	own    map[vmKey]uint32
}

// of returns the address of a VM, always the same. When half of the range has been handed out, the addresses of deleted VMs
// become free: the other half is for containers. It returns an error if no address is free.
func (f *farEnd) of(vm vmKey, there func(vmKey) bool) (netip.Addr, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.own == nil {
		f.own, f.owners = map[vmKey]uint32{}, map[uint32]vmKey{}
	}
	if n, has := f.own[vm]; has {
		return f.at(n), nil
	}
	free := f.half() - 2 // the last address is everybody's
	for n := uint32(len(f.own)) + 1; n <= free; n++ {
		if _, taken := f.owners[n]; !taken {
			return f.give(vm, n), nil
		}
	}
	for n, owner := range f.owners {
		if !there(owner) {
			delete(f.own, owner)
			return f.give(vm, n), nil
		}
	}
	return netip.Addr{}, fmt.Errorf("network %s of the containers: has no address left for another light node, after %d", f.subnet, len(f.own))
}

func (f *farEnd) give(vm vmKey, n uint32) netip.Addr {
	f.own[vm], f.owners[n] = n, vm
	return f.at(n)
}

func (f *farEnd) half() uint32 {
	return uint32(1) << (f.subnet.Addr().BitLen() - f.subnet.Bits()) / 2
}

// at is the n-th address from the end, counted from 0.
func (f *farEnd) at(n uint32) netip.Addr {
	b := f.subnet.Addr().As4()
	binary.BigEndian.PutUint32(b[:], binary.BigEndian.Uint32(b[:])+2*f.half()-1-n)
	return netip.AddrFrom4(b)
}

// The kubelet in the container of a real VM's node reports the address that the VM's real guest reports: the cloud controller
// manager sets that address on the Node, and does not initialize a Node whose kubelet reports another. So the container has it beside its
// own, and every container has a route to it in its own network namespace, which is invisible elsewhere.

// boundTo are the nodes as kind is to make them: on real VMs each with its address.
func boundTo(top *topology.Topology, real bool) ([]kind.Node, error) {
	nodes := nodesOf(top)
	if !real {
		return nodes, nil
	}
	addresses, err := recordedAddresses(top)
	if err != nil {
		return nil, err
	}
	for i, n := range nodes {
		nodes[i].Address = addresses[strings.ToLower(n.UUID)][0]
	}
	return nodes, nil
}

// recordedAddresses are the IPv4 addresses of all nodes when their vCenters were read, by the VMs' UUIDs: one or more of each,
// of which no two have the same.
func recordedAddresses(top *topology.Topology) (map[string][]netip.Addr, error) {
	all, owner := map[string][]netip.Addr{}, map[netip.Addr]string{}
	var errs []error
	for _, r := range top.Nodes() {
		uuid := strings.ToLower(r.VM.UUID)
		for _, a := range ipv4Addresses(r.VM) {
			if other := owner[a]; other != "" {
				errs = append(errs, fmt.Errorf("vm %q: has the address %s of vm %q, and their containers cannot both", r.VM.Name, a, other))
			}
			owner[a] = r.VM.Name
			all[uuid] = append(all[uuid], a)
		}
		if len(all[uuid]) == 0 {
			errs = append(errs, fmt.Errorf("vm %q: its guest reports no IPv4 address, by which its node would be called", r.VM.Name))
		}
	}
	return all, errors.Join(errs...)
}

func ipv4Addresses(vm *topology.VM) (list []netip.Addr) {
	for _, nic := range vm.NICs {
		for _, text := range nic.Addresses {
			text, _, _ = strings.Cut(text, "/")
			if a, err := netip.ParseAddr(text); err == nil && a.Is4() && !slices.Contains(list, a) {
				list = append(list, a)
			}
		}
	}
	return list
}

// bind gives the containers their VMs' addresses as soon as they run: kubelets ask for them before there is a cluster.
func (g *Ground) bind(ctx context.Context) error {
	if !g.RealVMs {
		return nil
	}
	all, err := recordedAddresses(g.Topology)
	if err != nil {
		return err
	}
	if err := g.apart(ctx, all); err != nil {
		return err
	}
	of := map[string]string{} // UUIDs by node
	for uuid, name := range g.byUUID {
		of[name] = uuid
	}
	if spare := g.cluster.ExtraControlPlane(); spare != "" {
		of[spare] = "" // no VM's
	}
	var errs []error
	for name, uuid := range of {
		_, err := g.cluster.Exec(ctx, name, strings.NewReader(waysOf(uuid, all)), "sh", "-c", setUp)
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// apart refuses addresses that are in use in the cluster.
func (g *Ground) apart(ctx context.Context, all map[string][]netip.Addr) error {
	containers, err := g.subnet(ctx)
	if err != nil {
		return err
	}
	var errs []error
	for uuid, list := range all {
		for _, a := range list {
			for what, subnet := range map[string]netip.Prefix{
				"containers": containers, "Services": g.cluster.ServiceSubnet(), "pods": g.cluster.PodSubnet(),
			} {
				if subnet.Contains(a) {
					errs = append(errs, fmt.Errorf("node %s: the address %s of its VM is in %s, where %s have theirs", cmp.Or(g.byUUID[uuid], uuid), a, subnet, what))
				}
			}
		}
	}
	return errors.Join(errs...)
}

// waysOf is the script by which the container of a VM, given by its UUID, has the VM's addresses, and finds those of all others.
func waysOf(uuid string, all map[string][]netip.Addr) string {
	var own, others []netip.Addr
	for is, list := range all {
		if is == uuid {
			own = append(own, list...)
		} else {
			others = append(others, list...)
		}
	}
	slices.SortFunc(own, netip.Addr.Compare)
	slices.SortFunc(others, netip.Addr.Compare)
	var script strings.Builder
	script.WriteString("set -e\n")
	for _, a := range own {
		fmt.Fprintf(&script, "ip -4 address replace %s/32 dev eth0\n", a)
	}
	for _, a := range others {
		fmt.Fprintf(&script, "ip -4 route replace %s/32 dev eth0\n", a)
	}
	return script.String()
}

// setUp makes a container run such a script now, and at each of its starts before its kubelet. Its systemd
// need not be up yet to be asked, and finds the unit when it is.
const setUp = `set -e
cat >/usr/local/bin/vm-addresses
cat >/etc/systemd/system/vm-addresses.service <<EOF
[Unit]
Description=Addresses of the real VM, and ways to those of others
Before=kubelet.service

[Service]
Type=oneshot
RemainAfterExit=yes
ExecStart=/bin/sh /usr/local/bin/vm-addresses
EOF
mkdir -p /etc/systemd/system/multi-user.target.wants
ln -sf ../vm-addresses.service /etc/systemd/system/multi-user.target.wants/
sh /usr/local/bin/vm-addresses
`
