package steps

import (
	"strconv"
	"strings"

	"al.essio.dev/pkg/shellescape"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/migrate/check"
)

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
