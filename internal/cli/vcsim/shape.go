package vcsim

import (
	"fmt"
	"strings"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/report"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
)

// count is a flag with a number of objects.
type count struct {
	name, usage string
	n           *int
}

func counts() []count {
	var all []count
	add := func(name string, n int, usage string) { all = append(all, count{name, usage, &n}) }
	add("dc", 1, "datacenters")
	add("folder", 0, "datacenters, the last ones, that have a folder, and folders in it")
	add("cluster", 1, "compute clusters in each datacenter")
	add("host", 3, "hosts in each compute cluster")
	add("standalone-host", 1, "hosts without cluster in each datacenter")
	add("pool", 0, "resource pools in each compute cluster")
	add("app", 0, "vApps in each compute cluster")
	add("ds", 1, "datastores in each datacenter")
	add("pod", 0, "storage pods in each datacenter")
	add("pg", 1, "distributed port groups in each datacenter")
	add("pg-nsx", 0, "port groups of NSX in each datacenter")
	add("nsx", 0, "opaque networks of NSX in each datacenter")
	add("vm", 2, "VMs in each resource pool and on each standalone host")
	return all
}

func (f *Flags) of(flag string) int {
	for _, c := range f.counts {
		if c.name == flag {
			return *c.n
		}
	}
	return 0
}

// validate refuses what no vCenter can be, before it is written out.
func (f *Flags) validate() error {
	for _, c := range f.counts {
		if *c.n < 0 {
			return report.UsageError("--"+c.name+" 1", "--%s %d: want 0 or more", c.name, *c.n)
		}
	}
	n := func(flag string) float64 { return float64(f.of(flag)) } // which no product of four is too large for
	pools := n("cluster") * (n("pool") + n("app"))
	for _, all := range []struct {
		noun string
		each float64
	}{
		{"hosts", n("standalone-host") + n("cluster")*n("host")},
		{"resource pools", pools},
		{"datastores", n("ds") + n("pod")},
		{"port groups", n("pg") + n("pg-nsx") + 2*n("nsx")},
		{"VMs", n("vm") * (n("standalone-host") + n("cluster") + pools)},
	} {
		if sum := n("dc") * max(1, all.each); sum > topology.MaxVMs {
			return report.UsageError("smaller numbers of --dc, --cluster, --host and --vm", "the flags ask for %.0f %s: there can be %d", sum, all.noun, topology.MaxVMs)
		}
	}
	return nil
}

// Topology returns the topology that the flags describe, with vcsim's names, and without tag categories: vcsim makes none, and
// suites for it create theirs.
func (f *Flags) Topology() (*topology.Topology, error) {
	if err := f.validate(); err != nil {
		return nil, err
	}
	t, err := topology.Load("flags", []byte(f.text()))
	if err != nil {
		return nil, report.UsageError("smaller numbers of --dc, --cluster, --host and --vm", "there cannot be as much of everything as the flags ask for\n%v", err)
	}
	t.Spec.Categories = topology.Categories{}
	vc := &t.Spec.VCenters[0]
	// What a topology file must have, and an empty vCenter has not.
	if f.of("dc") == 0 {
		vc.Datacenters = nil
	}
	for i := range vc.Datacenters {
		dc := &vc.Datacenters[i]
		for j := range dc.Switches {
			if f.of("pg") == 0 {
				dc.Switches[j].PortGroups = nil
			}
		}
		for j := range dc.Clusters {
			if f.of("host") == 0 {
				dc.Clusters[j].Hosts = nil
			}
		}
	}
	return t, nil
}

// text writes the flags as a topology.
func (f *Flags) text() string {
	var b strings.Builder
	line := func(indent int, format string, args ...any) {
		b.WriteString(strings.Repeat("  ", indent) + fmt.Sprintf(format, args...) + "\n")
	}
	line(0, "apiVersion: sandbox.vsphere/v1alpha1\nkind: Topology\nmetadata: {name: vcsim}\nspec:\n  vcenters:\n  - name: vc\n    datacenters:")
	for i := range max(1, f.of("dc")) {
		dc := fmt.Sprintf("DC%d", i)
		line(2, "- name: %s", dc)
		folder := ""
		if n := i - (f.of("dc") - f.of("folder")); n >= 0 && f.of("folder") > 0 {
			folder = fmt.Sprintf("F%d", n+min(0, f.of("dc")-f.of("folder")))
			line(3, "folder: %s", folder)
		}
		line(3, "networks: [{name: VM Network}]")
		if n := f.of("pg"); n > 0 || f.of("pg-nsx")+f.of("nsx") > 0 {
			n = max(1, n)
			line(3, "switches:\n      - name: DVS0\n        portGroups:")
			for j := range n {
				line(4, "- {name: %s_DVPG%d}", dc, j)
			}
		}
		if n := f.of("ds"); n > 0 {
			line(3, "datastores:")
			for j := range n {
				line(3, "- {name: LocalDS_%d}", j)
			}
		}
		f.compute(line, dc)
		f.machines(line, dc, folder)
	}
	return b.String()
}

func (f *Flags) compute(line func(int, string, ...any), dc string) {
	if n := f.of("cluster"); n > 0 {
		line(3, "clusters:")
		for j := range n {
			cluster := fmt.Sprintf("%s_C%d", dc, j)
			line(3, "- name: %s", cluster)
			line(4, "hosts:")
			for k := range max(1, f.of("host")) {
				line(4, "- {name: %s_H%d}", cluster, k)
			}
			if n := f.of("pool"); n > 0 {
				line(4, "pools:")
				for k := range n {
					line(4, "- {name: %s_RP%d}", cluster, k+1)
				}
			}
			if n := f.of("app"); n > 0 {
				line(4, "vapps:")
				for k := range n {
					line(4, "- {name: %s_APP%d}", cluster, k)
				}
			}
		}
	}
	if n := f.of("standalone-host"); n > 0 {
		line(3, "hosts:")
		for j := range n {
			line(3, "- {name: %s_H%d}", dc, j)
		}
	}
}

func (f *Flags) machines(line func(int, string, ...any), dc, folder string) {
	vms := f.of("vm")
	if vms == 0 || f.of("dc") == 0 {
		return
	}
	network := "VM Network"
	if f.of("pg") > 0 {
		network = dc + "_DVPG0"
	}
	more := ""
	if folder != "" {
		more += ", folder: " + folder
	}
	if !f.Autostart {
		more += `, power: "off"`
	}
	add := func(name, where string) {
		for k := range vms {
			line(3, "- {name: %s_VM%d, %s, nics: [{network: %s}], cpus: 1, memory: 32Mi, guestID: otherGuest%s}", name, k, where, network, more)
		}
	}
	line(3, "vms:")
	for j := range f.of("standalone-host") {
		add(fmt.Sprintf("%s_H%d", dc, j), fmt.Sprintf("host: %s_H%d", dc, j))
	}
	for j := range f.of("cluster") {
		if f.of("host") == 0 {
			break // nowhere to run
		}
		cluster := fmt.Sprintf("%s_C%d", dc, j)
		if f.of("pool") == 0 {
			add(cluster+"_RP0", "cluster: "+cluster)
		}
		for k := range f.of("pool") {
			add(fmt.Sprintf("%s_RP%d", cluster, k+1), fmt.Sprintf("cluster: %[1]s, pool: %[1]s_RP%[2]d", cluster, k+1))
		}
		for k := range f.of("app") {
			add(fmt.Sprintf("%s_APP%d", cluster, k), fmt.Sprintf("cluster: %[1]s, pool: %[1]s_APP%[2]d", cluster, k))
		}
	}
}
