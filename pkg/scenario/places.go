package scenario

import (
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/nearest"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/strict"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api/world"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/scenario/expect"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
)

// places are the names in a topology, by kind. Steps may create more: a clone, a Secret, a volume.
type places struct {
	names map[string][]string
	// made are texts of steps that may create objects.
	made []string
}

func placesOf(t *topology.Topology, csiComponents ...string) *places {
	if t == nil {
		return nil // its errors are reported; names cannot be checked
	}
	p := &places{names: map[string][]string{}}
	add := func(word string, names ...string) {
		for _, name := range names {
			if name != "" && !slices.Contains(p.names[word], name) {
				p.names[word] = append(p.names[word], name)
			}
		}
	}
	for i := range t.Spec.VCenters {
		vc := &t.Spec.VCenters[i]
		add("vcenter", vc.Name)
		for _, f := range vc.Folders {
			add("region", f.Region)
			add("zone", f.Zone)
		}
		for j := range vc.Datacenters {
			dc := &vc.Datacenters[j]
			add("datacenter", dc.Name, vc.Name+"/"+dc.Name, dc.InventoryPath())
			add("region", dc.Region)
			add("zone", dc.Zone)
			for _, d := range dc.Datastores {
				add("datastore", d.Name, vc.Name+"/"+d.Name)
			}
			for cluster, host := range dc.AllHosts() {
				add("host", host.Name, vc.Name+"/"+host.Name)
				add("region", host.Region)
				add("zone", host.Zone)
				if cluster != nil {
					add("cluster", cluster.Name, vc.Name+"/"+cluster.Name)
					add("region", cluster.Region)
					add("zone", cluster.Zone)
				}
			}
		}
	}
	for ref := range t.AllVMs() {
		add("vm", ref.VM.Name, ref.VCenter.Name+"/"+ref.VM.Name, ref.InventoryPath(), ref.VCenter.Name+ref.InventoryPath(), ref.VM.Hostname)
		add("role", string(ref.VM.Role))
	}
	add("component", "ccm", "control-plane")
	add("component", "csi-controller", "csi-provisioner", "csi-attacher", "csi-resizer", "csi-snapshotter", "snapshot-controller")
	add("component", csiComponents...)
	for _, ref := range t.Nodes() {
		add("node", ref.VM.Hostname)
		add("component", "node/"+ref.VM.Hostname)
	}
	return p
}

// mention records what a step may create.
func (p *places) mention(s *Step) {
	if p == nil {
		return
	}
	for _, value := range s.With {
		p.made = append(p.made, value)
	}
	p.made = append(p.made, s.Run...)
	p.made = append(p.made, s.Stdin)
}

// check reports a name that no object of the kind has, gets, or is likely to have had.
func (p *places) check(c *checker, kind world.Kind, name string, node *yaml.Node, path string) {
	if p == nil || name == "" || name == "all" || expect.IsPattern(name) || strict.IsLate(name) {
		return
	}
	word := string(kind)
	known, listed := p.names[word]
	switch {
	case !listed && kind != world.Node && kind != world.VM && word != "zone" && word != "region":
		return // volumes, leases: created during the run
	case slices.Contains(known, name), slices.Contains(p.made, name), p.written(name):
		return
	case kind == world.VM && slices.Contains(p.names["node"], strings.ToLower(name)):
		return
	case kind == world.Component && strings.HasPrefix(name, "ccm"):
		return // ccm-2: a replica
	}
	if len(known) == 0 {
		c.Errorf(node, path, "there is no %s in the topology", word)
		return
	}
	hint := nearest.Of(name, known)
	if hint == "" && len(known) <= 12 {
		c.Errorf(node, path, "%s %q not found in the topology: there are %s", word, name, strings.Join(plainNames(known), ", "))
		return
	}
	c.Hint(node, path, hint, "%s %q not found in the topology", word, name)
}

// plainNames leaves out the longer forms.
func plainNames(names []string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool { return strings.Contains(name, "/") })
}

// written reports whether an earlier step has the name somewhere in a text.
func (p *places) written(name string) bool {
	return slices.ContainsFunc(p.made, func(text string) bool { return strings.Contains(text, name) })
}

// target reports a name that no target of a fault has.
func (p *places) target(c *checker, kind fault.Object, name string, node *yaml.Node, path string) {
	word := strings.ToLower(string(kind))
	if kind == fault.VM && p != nil && slices.Contains(p.names["node"], name) {
		return
	}
	if kind == fault.Zone && strings.Contains(name, "/") {
		return // region/zone
	}
	p.check(c, world.Kind(word), name, node, path)
}

// object reports an unlikely object of an event. Only names that look like those of nodes or VMs can be checked.
func (p *places) object(c *checker, name string, node *yaml.Node, path string) {
	if p == nil || name == "" || expect.IsPattern(name) || strict.IsLate(name) || strings.Contains(name, "/") {
		return
	}
	all := []string{}
	for _, names := range p.names {
		if all = append(all, names...); slices.Contains(names, name) {
			return
		}
	}
	if slices.Contains(p.made, name) || p.written(name) {
		return
	}
	slices.Sort(all)
	if hint := nearest.Of(name, plainNames(all)); hint != "" {
		c.Hint(node, strict.Below(path, "object"), hint, "there is no %q in the topology", name)
	}
}
