package steps

import (
	"slices"
	"strings"

	"al.essio.dev/pkg/shellescape"
)

// classes makes StorageClasses of the CSI driver.
func (w *writer) classes() *Step {
	there := slices.Contains(w.made(), "storageclasses.yaml")
	if len(w.r.Classes) == 0 && !there {
		return nil
	}
	s := &Step{
		ID: "storage-classes", Title: "StorageClasses", Why: "New volumes are made by the CSI driver itself. Claims that are bound, and their volumes, are not touched.",
		Done: []Command{run("%s", w.kubectl("get storageclasses"))},
	}
	file := w.file("storageclasses.yaml")
	if names := w.classNames(); len(names) > 0 {
		s.Text = []string{"A class cannot be changed in place: it is deleted and made anew, which volumes do not notice."}
		s.Commands = []Command{run("%s", w.kubectl("replace --force -f %s", file))}
		s.Undo = []Command{run("%s", w.kubectl("replace --force -f classes.yaml"))}
	} else {
		s.Commands = []Command{run("%s", w.kubectl("apply -f %s", file))}
		s.Undo = []Command{run("%s", w.kubectl("delete --ignore-not-found -f %s", file))}
	}
	return s
}

// verify looks at all of it once more.
func (w *writer) verify() *Step {
	s := &Step{
		ID: "verify", Title: "See that all of it works", Why: "As long as the old files and flags are there, the way back is short.",
		Commands: []Command{
			run("%s", w.check()),
			run("%s", w.kubectl("get nodes -o wide")),
			here("no pod waits for a volume", w.kubectl("get pods --all-namespaces --field-selector=status.phase=Pending")),
		},
		UndoText: "the steps above, the last one first.",
	}
	if w.disks() {
		s.Commands = append(s.Commands,
			here("every volume in use is attached by csi.vsphere.vmware.com", w.kubectl("get volumeattachments -o custom-columns=ATTACHER:.spec.attacher,VOLUME:.spec.source.persistentVolumeName,NODE:.spec.nodeName,ATTACHED:.status.attached")))
	}
	for _, v := range w.r.Volumes {
		if len(v.Pods) > 0 {
			namespace, pod, _ := strings.Cut(v.Pods[0], "/")
			s.Commands = append(s.Commands, here("has its data: one that mounts "+v.Name, w.kubectl("--namespace %s get pods # was %s", namespace, pod)))
		}
	}
	return s
}

// cleanup ends it.
func (w *writer) cleanup() *Step {
	s := &Step{
		ID: "cleanup", Title: "Clear away", Why: "Days later, when nobody wants to go back.",
		Text: []string{
			"Files of the first steps hold credentials: " + shellescape.Quote(w.in.Folder) + ", before-*.yaml, " + saved + ". Keep them safe, or remove them.",
			"The password of the old file has been on every node that read it: give the account a new one, and its Secrets with it.",
		},
		UndoText: "none: after this step the in-tree provider has no configuration.",
		Done:     []Command{run("%s", w.check())},
	}
	if !w.leads() {
		s.Commands = append(s.Commands, here("nodes whose VMs are gone are deleted from here on", w.kubectl("--namespace %s set env %s SKIP_NODE_DELETION-", cloudNamespace, managerOwner)))
	}
	for _, v := range w.r.Volumes {
		if v.Reclaim == "Delete" {
			s.Commands = append(s.Commands, run("%s", w.reclaim(v.Name, "Delete")))
		}
	}
	if w.in.Sandbox == "" {
		for _, n := range w.r.Nodes {
			s.Commands = append(s.Commands, Command{On: n.Name, What: "where --cloud-config named it", Run: "sudo rm -f /etc/kubernetes/vsphere.conf /root/kubeadm-flags.env.before"})
		}
	}
	return s
}
