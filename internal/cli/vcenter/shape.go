package vcenter

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/report"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
)

// shape is how much of what a vCenter has, in vcsim's terms and with vcsim's numbers where nothing else is said: its
// flags are known by heart and stand in many scripts.
type shape struct {
	given bool
	flags []count
}

// count is one flag of a shape.
type count struct {
	name, usage string
	n           *int
}

func vcsim() shape {
	var s shape
	add := func(name string, n int, usage string) { s.flags = append(s.flags, count{name, usage, &n}) }
	add("dc", 1, "datacenters")
	add("cluster", 1, "compute clusters in each datacenter")
	add("host", 3, "hosts in each compute cluster")
	add("standalone-host", 1, "hosts without cluster in each datacenter")
	add("pool", 0, "resource pools in each compute cluster")
	add("app", 0, "vApps in each compute cluster")
	add("ds", 1, "datastores in each datacenter")
	add("pg", 1, "distributed port groups in each datacenter")
	add("vm", 2, "VMs in each resource pool and on each standalone host")
	return s
}

func (s *shape) bind(f *pflag.FlagSet) {
	for _, c := range s.flags {
		f.IntVar(c.n, c.name, *c.n, "number of "+c.usage)
	}
}

func (s *shape) has(flag string) bool {
	return slices.ContainsFunc(s.flags, func(c count) bool { return c.name == flag })
}

func (s *shape) of(flag string) int {
	for _, c := range s.flags {
		if c.name == flag {
			return *c.n
		}
	}
	return 0
}

// validate refuses what no vCenter can be, before it is written out.
func (s *shape) validate() error {
	for _, c := range s.flags {
		if *c.n < 0 {
			return report.UsageError("--"+c.name+" 1", "--%s %d: want 0 or more", c.name, *c.n)
		}
	}
	if s.of("dc") == 0 {
		return report.UsageError("--dc 1", "--dc 0: a vCenter needs a datacenter")
	}
	if s.of("cluster") > 0 && s.of("host") == 0 {
		return report.UsageError("--cluster 0", "--host 0: a compute cluster needs a host")
	}
	n := func(flag string) float64 { return float64(s.of(flag)) } // which no product of four is too large for
	pools := n("cluster") * (n("pool") + n("app"))
	for _, all := range []struct {
		noun string
		each float64
	}{
		{"hosts", n("standalone-host") + n("cluster")*n("host")},
		{"resource pools", pools},
		{"datastores", n("ds")},
		{"port groups", n("pg")},
		{"VMs", n("vm") * (n("standalone-host") + n("cluster") + pools)},
	} {
		if sum := n("dc") * max(1, all.each); sum > topology.MaxVMs {
			return report.UsageError("smaller numbers of --dc, --cluster, --host and --vm", "the flags ask for %.0f %s: there can be %d", sum, all.noun, topology.MaxVMs)
		}
	}
	return nil
}

// topology writes the shape as a topology, with vcsim's names.
func (s *shape) topology() string {
	var b strings.Builder
	line := func(indent int, format string, args ...any) {
		b.WriteString(strings.Repeat("  ", indent) + fmt.Sprintf(format, args...) + "\n")
	}
	line(0, "apiVersion: sandbox.vsphere/v1alpha1\nkind: Topology\nmetadata: {name: vcsim}\nspec:\n  vcenters:\n  - name: vc\n    datacenters:")
	for i := range s.of("dc") {
		dc := fmt.Sprintf("DC%d", i)
		line(2, "- name: %s", dc)
		line(3, "networks: [{name: VM Network}]")
		if n := s.of("pg"); n > 0 {
			line(3, "switches:\n      - name: DVS0\n        portGroups:")
			for j := range n {
				line(4, "- {name: %s_DVPG%d}", dc, j)
			}
		}
		if n := s.of("ds"); n > 0 {
			line(3, "datastores:")
			for j := range n {
				line(3, "- {name: LocalDS_%d}", j)
			}
		}
		s.compute(line, dc)
		s.machines(line, dc)
	}
	return b.String()
}

func (s *shape) compute(line func(int, string, ...any), dc string) {
	if n := s.of("cluster"); n > 0 {
		line(3, "clusters:")
		for j := range n {
			cluster := fmt.Sprintf("%s_C%d", dc, j)
			line(3, "- name: %s", cluster)
			line(4, "hosts:")
			for k := range s.of("host") {
				line(4, "- {name: %s_H%d}", cluster, k)
			}
			if n := s.of("pool"); n > 0 {
				line(4, "pools:")
				for k := range n {
					line(4, "- {name: %s_RP%d}", cluster, k+1)
				}
			}
			if n := s.of("app"); n > 0 {
				line(4, "vapps:")
				for k := range n {
					line(4, "- {name: %s_APP%d}", cluster, k)
				}
			}
		}
	}
	if n := s.of("standalone-host"); n > 0 {
		line(3, "hosts:")
		for j := range n {
			line(3, "- {name: %s_H%d}", dc, j)
		}
	}
}

func (s *shape) machines(line func(int, string, ...any), dc string) {
	vms := s.of("vm")
	if vms == 0 {
		return
	}
	network := "VM Network"
	if s.of("pg") > 0 {
		network = dc + "_DVPG0"
	}
	add := func(name, where string) {
		for k := range vms {
			line(3, "- {name: %s_VM%d, %s, nics: [{network: %s}], cpus: 1, memory: 32Mi, guestID: otherGuest}", name, k, where, network)
		}
	}
	line(3, "vms:")
	for j := range s.of("standalone-host") {
		add(fmt.Sprintf("%s_H%d", dc, j), fmt.Sprintf("host: %s_H%d", dc, j))
	}
	for j := range s.of("cluster") {
		cluster := fmt.Sprintf("%s_C%d", dc, j)
		add(cluster+"_RP0", "cluster: "+cluster)
		for k := range s.of("pool") {
			add(fmt.Sprintf("%s_RP%d", cluster, k+1), fmt.Sprintf("cluster: %[1]s, pool: %[1]s_RP%[2]d", cluster, k+1))
		}
		for k := range s.of("app") {
			add(fmt.Sprintf("%s_APP%d", cluster, k), fmt.Sprintf("cluster: %[1]s, pool: %[1]s_APP%[2]d", cluster, k))
		}
	}
}
