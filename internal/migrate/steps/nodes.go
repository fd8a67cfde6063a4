package steps

import (
	"cmp"
	"fmt"
	"slices"

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
