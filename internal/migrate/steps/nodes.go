package steps

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"al.essio.dev/pkg/shellescape"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/migrate/check"
)

// each is how many nodes get a step of their own; more are one step, done for each.
const each = 10

const flagsFile = "/var/lib/kubelet/kubeadm-flags.env"

// nodes takes one node after the other through: the one first of which least is lost, the control plane last.
func (w *writer) nodes() []*Step {
	order := slices.Clone(w.r.Nodes)
	volumes := func(name string) int {
		n := 0
		for _, v := range w.r.Volumes {
			if slices.Contains(v.Attached, name) {
				n++
			}
		}
		return n
	}
	slices.SortStableFunc(order, func(a, b check.Node) int {
		if a.ControlPlane != b.ControlPlane {
			if a.ControlPlane {
				return 1
			}
			return -1
		}
		return cmp.Or(cmp.Compare(volumes(a.Name), volumes(b.Name)), cmp.Compare(a.Name, b.Name))
	})
	if len(order) > each {
		var names []string
		for _, n := range order {
			names = append(names, n.Name)
		}
		s := w.node(check.Node{Name: "$node"})
		s.ID, s.Title = "nodes", fmt.Sprintf("The nodes, one after the other: %d", len(order))
		s.Text = append(s.Text, "In this order: "+joined(names)+".")
		s.Commands = append([]Command{here("the first one; then the others", "node="+order[0].Name)}, s.Commands...)
		return []*Step{s}
	}
	var all []*Step
	for _, n := range order {
		all = append(all, w.node(n))
	}
	return all
}

// node is the step of one node.
func (w *writer) node(n check.Node) *Step {
	s := &Step{
		ID: "node-" + n.Name, Title: "Node " + n.Name,
		Why: "Its pods, and with them its volumes, leave before its kubelet changes hands: a kubelet does not let go of a volume that it mounted by the other way.",
	}
	s.Commands = w.drained(n)
	if w.disks() {
		s.Commands = append(s.Commands, here("until no volume is attached", "until [ -z \"$("+w.kubectl("get node %s -o jsonpath='{.status.volumesAttached}'", n.Name)+")\" ]; do sleep 5; done"))
	}
	if w.in.Sandbox == "" {
		how := "-e 's/--cloud-provider=vsphere/--cloud-provider=external/' -e 's/ *--cloud-config=[^ \"]*//'"
		if w.disks() && w.older("1.25") {
			how += " -e 's/--cloud-provider=external/& --feature-gates=" + migrationGates + "/'"
		}
		s.Commands = append(s.Commands,
			Command{On: n.Name, Run: "sudo cp -a " + flagsFile + " /root/kubeadm-flags.env.before"},
			Command{On: n.Name, Run: "sudo sed -i " + how + " " + flagsFile},
			Command{On: n.Name, Run: "sudo systemctl restart kubelet"})
		s.Undo = append(s.Undo, w.drained(n)...)
		s.Undo = append(s.Undo,
			Command{On: n.Name, Run: "sudo cp -a /root/kubeadm-flags.env.before " + flagsFile},
			Command{On: n.Name, Run: "sudo systemctl restart kubelet"})
	}
	s.Commands = append(s.Commands,
		here("have it initialized: a node that joined before keeps no such taint", w.kubectl("taint node %s node.cloudprovider.kubernetes.io/uninitialized=true:NoSchedule --overwrite", n.Name)),
		run("%s", w.kubectl("wait node/%s --for=condition=Ready --timeout=5m", n.Name)),
		here("until the cloud controller manager has taken the taint off", "until ! "+w.kubectl("get node %s -o jsonpath='{.spec.taints[*].key}'", n.Name)+" | grep -q node.cloudprovider.kubernetes.io/uninitialized; do sleep 5; done"),
		run("%s", w.kubectl("uncordon %s", n.Name)))
	s.Done = append(s.Done, here("its provider ID, region and zone", w.kubectl(`get node %s -o custom-columns='PROVIDER:.spec.providerID,REGION:.metadata.labels.topology\.kubernetes\.io/region,ZONE:.metadata.labels.topology\.kubernetes\.io/zone'`, n.Name)))
	if w.disks() {
		s.Done = append(s.Done, here("kubernetes.io/vsphere-volume is among them", w.kubectl(`get csinode %s -o jsonpath='{.metadata.annotations.storage\.alpha\.kubernetes\.io/migrated-plugins}{"\n"}'`, n.Name)))
	}
	s.Undo = append(s.Undo,
		run("%s", w.kubectl("taint node %s node.cloudprovider.kubernetes.io/uninitialized-", n.Name)),
		run("%s", w.kubectl("uncordon %s", n.Name)))
	if w.in.Sandbox != "" {
		s.Text = append(s.Text, "A node of a sandbox has been started for an external cloud provider already: there are no flags to change.")
		s.UndoText = "a node that is initialized stays so; without a cloud controller manager that runs:"
	}
	return s
}

// oldest is the oldest hardware version that the CSI driver attaches volumes to.
const oldest = 15

// machines mends VMs, one after the other.
func (w *writer) machines() *Step {
	s := &Step{
		ID: "machines", Title: "Settings of VMs",
		Why:      "The CSI driver finds disks by UUIDs that the guest has to see, and attaches none to a VM older than hardware version 15. Both are changed while the VM is off.",
		UndoText: "not needed: the in-tree provider works with both. A hardware version cannot be taken back.",
	}
	for _, n := range w.r.Nodes {
		if n.VM == nil {
			continue
		}
		number, err := strconv.Atoi(strings.TrimPrefix(n.VM.HardwareVersion, "vmx-"))
		old := err == nil && number < oldest
		if n.VM.DiskUUID && !old {
			continue
		}
		vm := shellescape.Quote(n.VM.Path)
		s.Commands = append(s.Commands, w.drained(n)...)
		s.Commands = append(s.Commands, run("govc vm.power -s %s", vm), here("until it is off", "until govc object.collect -s "+vm+" runtime.powerState | grep -q poweredOff; do sleep 5; done"))
		if !n.VM.DiskUUID {
			s.Commands = append(s.Commands, run("govc vm.change -vm %s -e disk.enableUUID=TRUE", vm))
			s.Done = append(s.Done, here("disk.enableUUID is TRUE", "govc vm.info -e "+vm+" | grep -i disk.enableUUID"))
		}
		if old {
			s.Commands = append(s.Commands, run("govc vm.upgrade -vm %s -version %d", vm, oldest))
			s.Done = append(s.Done, run("govc object.collect -s %s config.version", vm))
		}
		s.Commands = append(s.Commands, run("govc vm.power -on %s", vm), run("%s", w.kubectl("wait node/%s --for=condition=Ready --timeout=10m", n.Name)), run("%s", w.kubectl("uncordon %s", n.Name)))
	}
	if len(s.Commands) == 0 {
		return nil
	}
	return s
}

// drained has a node give up its pods.
func (w *writer) drained(n check.Node) []Command {
	return []Command{run("%s", w.kubectl("cordon %s", n.Name)), run("%s", w.kubectl("drain %s --ignore-daemonsets --delete-emptydir-data --timeout=15m", n.Name))}
}

// tags mends regions and zones.
func (w *writer) tags() *Step {
	labels := w.in.Config.Config.Labels
	found := w.findings("tag-categories", "zones", "tags-twice", "tags-place", "tags-contradict", "tags-elsewhere")
	if labels.Region == "" || len(found) == 0 {
		return nil
	}
	s := &Step{
		ID: "tags", Title: "Tags of regions and zones", Why: "The cloud controller manager labels a node once, when it initializes it: tags have to be right before.",
		Done:     []Command{here("no tag check warns or fails", w.check())},
		UndoText: "attach what was detached. The in-tree provider reads the same tags.",
	}
	for _, f := range found {
		s.Text = append(s.Text, "**"+f.Check+"**, "+f.Where+": "+f.Found+". "+f.Try)
		for _, category := range []string{labels.Region, labels.Zone} {
			if f.Check == "tag-categories" && strings.Contains(f.Found, strconv.Quote(category)) {
				s.Commands = append(s.Commands, run("govc tags.category.create -t Datacenter -t ClusterComputeResource -t HostSystem %s", shellescape.Quote(category)))
				s.Undo = append(s.Undo, run("govc tags.category.rm %s", shellescape.Quote(category)))
			}
		}
	}
	s.Text = append(s.Text, "A new tag: `govc tags.create -c CATEGORY NAME`; on an object: `govc tags.attach -c CATEGORY NAME PATH`.")
	return s
}

// labels takes off labels that a cloud controller manager would believe.
func (w *writer) labels() *Step {
	s := &Step{
		ID: "labels", Title: "Labels of the in-tree provider",
		Why: "A cloud controller manager takes failure-domain.beta.kubernetes.io for the truth and copies it to topology.kubernetes.io. On these nodes it is not what the tags of the VM say.",
	}
	for _, n := range w.r.Nodes {
		wrong := n.OldZone != "" && n.VM != nil && n.VM.Zone != "" && (n.OldZone != n.VM.Zone || n.OldRegion != n.VM.Region)
		differ := n.OldZone != "" && n.Zone != "" && (n.OldZone != n.Zone || n.OldRegion != n.Region)
		if !wrong && !differ {
			continue
		}
		s.Commands = append(s.Commands, run("%s", w.kubectl("label node %s failure-domain.beta.kubernetes.io/region- failure-domain.beta.kubernetes.io/zone-", n.Name)))
		s.Undo = append(s.Undo, run("%s", w.kubectl("label node %s failure-domain.beta.kubernetes.io/region=%s failure-domain.beta.kubernetes.io/zone=%s", n.Name, shellescape.Quote(n.OldRegion), shellescape.Quote(n.OldZone))))
	}
	if len(s.Commands) == 0 {
		return nil
	}
	s.Done = []Command{run("%s", w.kubectl("get nodes -L failure-domain.beta.kubernetes.io/zone -L topology.kubernetes.io/zone"))}
	return s
}

// Markdown is the plan as it is read.
func (p *Plan) Markdown() string {
	var b strings.Builder
	fmt.Fprintf(&b, "# Migration of %s %s\n\n", p.Cluster, p.Version)
	fmt.Fprintf(&b, "From the in-tree vSphere provider and %s to the cloud controller manager and the CSI driver.\n", code(p.Source))
	b.WriteString("A step is done when what it says under \"Seen by\" is so; only then begin the next one.\n")
	for _, n := range p.Notes {
		b.WriteString("\n> " + n + "\n")
	}
	b.WriteByte('\n')
	for i, s := range p.Steps {
		fmt.Fprintf(&b, "%d. [%s](#%s)\n", i+1, s.Title, anchor(i+1, s.Title))
	}
	for i, s := range p.Steps {
		fmt.Fprintf(&b, "\n## %d. %s\n\n%s\n", i+1, s.Title, s.Why)
		for _, t := range s.Text {
			b.WriteString("\n- " + t)
		}
		if len(s.Text) > 0 {
			b.WriteByte('\n')
		}
		block(&b, "", s.Commands)
		block(&b, "Seen by", s.Done)
		if s.UndoText != "" {
			b.WriteString("\n**Way back**: " + s.UndoText + "\n")
			block(&b, "", s.Undo)
		} else {
			block(&b, "Way back", s.Undo)
		}
	}
	return b.String()
}

// block is commands as they are typed, below a title.
func block(b *strings.Builder, title string, all []Command) {
	if len(all) == 0 {
		return
	}
	if title != "" {
		b.WriteString("\n**" + title + "**\n")
	}
	b.WriteString("\n```sh\n")
	on := ""
	for _, c := range all {
		if c.On != on {
			if on = c.On; on != "" {
				b.WriteString("# on " + on + "\n")
			} else {
				b.WriteString("# where kubectl is\n")
			}
		}
		if c.What != "" {
			b.WriteString("# " + c.What + "\n")
		}
		b.WriteString(c.Run + "\n")
	}
	b.WriteString("```\n")
}

func code(text string) string { return "`" + strings.ReplaceAll(text, "`", "'") + "`" }

// anchor is what readers of Markdown make of a heading.
func anchor(n int, title string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d-", n)
	for _, r := range strings.ToLower(title) {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9', r == '-':
			b.WriteRune(r)
		case r == ' ':
			b.WriteByte('-')
		}
	}
	return b.String()
}
