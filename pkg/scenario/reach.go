package scenario

import (
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/nearest"
	programs "github.com/vsphere-sandbox/vsphere-sandbox/internal/program"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/strict"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api/world"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/scenario/expect"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/scenario/internal/verbs"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
	"github.com/vsphere-sandbox/vsphere-sandbox/scenarios"
)

// Reach is one way in which a scenario starts a program, or does more than inject faults into its own sandbox and read it.
type Reach struct {
	// Line is its line, Path its field.
	Line int    `json:"line"`
	Path string `json:"path"`
	// Does describes it: "runs kubectl apply, which is not known to only read".
	Does string `json:"does"`
}

// String returns the reach without its file: "7: steps[2].run: runs …".
func (r Reach) String() string { return fmt.Sprintf("%d: %s: %s", r.Line, r.Path, r.Does) }

// OfComponents reports whether it is about starting parts of a sandbox, which does not concern a running sandbox.
func (r Reach) OfComponents() bool { return strings.HasPrefix(r.Path, "components.") }

// Reaches returns what the scenario needs trust for, in the order of the file. A scenario with the content of one of the
// catalogue, read from anywhere, needs none. validate, show and run use it.
//
// Everything that is not known to be harmless counts: programs as cloud controller managers, flags and environment for them, and
// commands that package verbs does not list.
func (s *Scenario) Reaches() []Reach {
	if scenarios.Holds(s.source) {
		return nil
	}
	var all []Reach
	add := func(node *yaml.Node, path, does string, args ...any) {
		line := 1
		if node != nil {
			line = max(node.Line, 1)
		}
		all = append(all, Reach{line, path, fmt.Sprintf(does, args...)})
	}
	_, components := strict.Find(s.root, "components")
	_, node := strict.Find(components, "ccm")
	at := func(key string) *yaml.Node { _, found := strict.Find(node, key); return found }
	if source, err := programs.CCM.Parse(s.Components.CCM.Source); err != nil || source.Kind() != programs.Builtin {
		add(at("source"), "components.ccm.source", "starts the program %s as cloud controller manager", s.Components.CCM.Source)
	}
	for i, arg := range s.Components.CCM.Args {
		if !harmlessArg().MatchString(arg) {
			add(item(at("args"), i), strict.Item("components.ccm.args", i), "starts the cloud controller manager with %s", arg)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.Components.CCM.Env)) {
		if !harmlessEnv().MatchString(name) {
			key, _ := strict.Find(at("env"), name)
			add(key, strict.Below("components.ccm.env", name), "sets %s for the cloud controller manager", name)
		}
	}
	for _, step := range s.Steps {
		if does := verbs.Effects(step.Run); does != "" {
			_, run := strict.Find(step.node, "run")
			add(run, strict.Below(step.path, "run"), "%s", does)
		}
	}
	slices.SortStableFunc(all, func(a, b Reach) int { return a.Line - b.Line })
	return all
}

// harmlessArg matches flags of cloud controller managers for intervals and amounts, without files and addresses.
func harmlessArg() *regexp.Regexp {
	return regexp.MustCompile(`^--?(v|concurrent-node-syncs|concurrent-service-syncs|kube-api-burst|kube-api-qps|min-resync-period|` +
		`node-monitor-period|node-status-update-frequency|route-reconciliation-period|` +
		`leader-elect-(lease-duration|renew-deadline|retry-period))=[0-9.a-z]+$`)
}

// harmlessEnv are variables that choose addresses of nodes.
func harmlessEnv() *regexp.Regexp { return regexp.MustCompile(`^VSPHERE_NODES_[A-Z0-9_]+$`) }

func item(list *yaml.Node, i int) *yaml.Node {
	if list == nil || i >= len(list.Content) {
		return list
	}
	return list.Content[i]
}

// placed makes paths in the scenario relative to its file rather than to the working directory.
func (s *Scenario) placed(from folder) {
	if !from.there || from.files != nil {
		return
	}
	dir, err := filepath.Abs(from.dir)
	if err != nil {
		return // unchanged: the working directory was removed
	}
	s.Folder = dir
	if source, err := programs.CCM.Parse(s.Components.CCM.Source); err == nil && source.Kind() != programs.Builtin {
		s.Components.CCM.Source = source.In(dir).String()
	}
}

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
