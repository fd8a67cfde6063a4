package topology

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// MaxScale is the largest group that [Topology.Scale] makes.
const MaxScale = 1000

// Scale changes a resolved topology so that the group of VMs with names like "worker-west-1" has n members: it removes those with the
// highest numbers, or adds VMs like the last one, with separate names, identities and addresses, on the hosts of its cluster in
// turn. The result has to be loaded again. A group is named without the number: "worker-west". Errors: the group is not there, is on
// several vCenters or datacenters, or n is out of range.
func (t *Topology) Scale(group string, n int) error {
	if n < 0 || n > MaxScale {
		return fmt.Errorf("group %q: must have 0 to %d VMs, not %d", group, MaxScale, n)
	}
	var dc *Datacenter
	for i := range t.Spec.VCenters {
		for j := range t.Spec.VCenters[i].Datacenters {
			at := &t.Spec.VCenters[i].Datacenters[j]
			if !slices.ContainsFunc(at.VMs, func(v VM) bool { _, _, ok := member(v.Name, group); return ok }) {
				continue
			}
			if dc != nil {
				return fmt.Errorf("group %q: has VMs in more than one datacenter", group)
			}
			dc = at
		}
	}
	if dc == nil {
		return &GroupError{Group: group, Have: t.Groups()}
	}
	dc.scale(group, n)
	return nil
}

// GroupError is returned for a group that a topology does not have.
type GroupError struct {
	Group string
	Have  []string
}

// Error lists the groups.
func (e *GroupError) Error() string {
	return fmt.Sprintf("group %q: no VM has a name like %s-1; groups: %s", e.Group, e.Group, strings.Join(e.Have, ", "))
}

// Groups returns the names that [Topology.Scale] takes, in the order of the topology.
func (t *Topology) Groups() (names []string) {
	for _, vc := range t.Spec.VCenters {
		for _, dc := range vc.Datacenters {
			for _, vm := range dc.VMs {
				name, number, ok := cutNumber(vm.Name)
				if ok && number != "" && !slices.Contains(names, name) {
					names = append(names, name)
				}
			}
		}
	}
	return names
}

// cutNumber splits "worker-west-12" into "worker-west" and "12".
func cutNumber(name string) (group, number string, ok bool) {
	at := strings.LastIndexByte(name, '-')
	if at <= 0 {
		return "", "", false
	}
	if _, err := strconv.ParseUint(name[at+1:], 10, 31); err != nil {
		return "", "", false
	}
	return name[:at], name[at+1:], true
}

// member returns the number of a VM in a group, and the width of a number with leading zeros.
func member(name, group string) (number, width int, ok bool) {
	of, text, ok := cutNumber(name)
	if !ok || of != group {
		return 0, 0, false
	}
	number, err := strconv.Atoi(text)
	if strings.HasPrefix(text, "0") {
		width = len(text)
	}
	return number, width, err == nil
}

func (dc *Datacenter) scale(group string, n int) {
	type one struct{ at, number, width int }
	var all []one
	for i := range dc.VMs {
		if number, width, ok := member(dc.VMs[i].Name, group); ok {
			all = append(all, one{i, number, width})
		}
	}
	slices.SortFunc(all, func(a, b one) int { return a.number - b.number })
	last := all[len(all)-1]
	if n < len(all) {
		gone := all[n:]
		var kept []VM
		for i := range dc.VMs {
			if !slices.ContainsFunc(gone, func(o one) bool { return o.at == i }) {
				kept = append(kept, dc.VMs[i])
			}
		}
		dc.VMs = kept
		return
	}
	at := last.at + 1
	for _, o := range all {
		at = max(at, o.at+1)
	}
	before := 0 // VMs of the cluster, which are on its hosts in turn
	for _, vm := range dc.VMs[:at] {
		if vm.Cluster == dc.VMs[last.at].Cluster {
			before++
		}
	}
	var added []VM
	for i := range n - len(all) {
		last.number++
		added = append(added, dc.like(&dc.VMs[last.at], group, fmt.Sprintf("%s-%0*d", group, last.width, last.number), before+i))
	}
	dc.VMs = slices.Insert(dc.VMs, at, added...)
}

// like returns a VM with the properties of another one, the place-th of its cluster from 0.
func (dc *Datacenter) like(vm *VM, group, name string, place int) VM {
	is := *vm
	is.Name, is.UUID, is.InstanceUUID, is.Hostname = name, "", "", ""
	is.NICs = slices.Clone(vm.NICs)
	for i := range is.NICs {
		is.NICs[i].MAC, is.NICs[i].Addresses = "", nil
	}
	c := slices.IndexFunc(dc.Clusters, func(c Cluster) bool { return c.Name == vm.Cluster })
	if c < 0 || len(dc.Clusters[c].Hosts) == 0 {
		return is
	}
	is.Host = dc.Clusters[c].Hosts[place%len(dc.Clusters[c].Hosts)].Name
	if is.Host == vm.Host {
		return is
	}
	is.Datastore = "" // the default of the host, unless a member of the group is there
	for i := range dc.VMs {
		if _, _, ok := member(dc.VMs[i].Name, group); ok && dc.VMs[i].Host == is.Host {
			is.Datastore = dc.VMs[i].Datastore
		}
	}
	return is
}
