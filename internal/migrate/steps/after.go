package steps

import (
	"fmt"
	"slices"
	"strings"

	"al.essio.dev/pkg/shellescape"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/migrate/check"
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

// mend is what fails.
func (w *writer) mend() *Step {
	s := &Step{
		ID: "mend", Title: "Mend what fails",
		Why:      "Each of these would stop the migration half-way, or cost a pod its volume. Steps below mend some of them.",
		Done:     []Command{here("exit status 0, or what fails is mended by a step below", w.check())},
		UndoText: "nothing of the migration has been done yet.",
	}
	for _, f := range w.r.Findings {
		if f.Verdict == check.Fail {
			s.Text = append(s.Text, fmt.Sprintf("**%s**, %s: %s. %s: %s", f.Check, f.Where, f.Found, f.Why, f.Try))
		}
	}
	if len(s.Text) == 0 {
		return nil
	}
	return s
}

const (
	saved    = "/root/kubernetes-before-migration"
	snapshot = "/var/lib/etcd/before-migration.db" // in the pod of etcd as on its node
)

// backup keeps what the way back needs.
func (w *writer) backup() *Step {
	s := &Step{
		ID: "backup", Title: "Back up", Why: "The way back of later steps is these files. They hold credentials: keep them where only you read them.",
		UndoText: "nothing has been changed, but for reclaim policies, which the last step sets back.",
	}
	s.Commands = append(s.Commands,
		run("umask 077"),
		run("%s", w.kubectl("get nodes,persistentvolumes,storageclasses,csinodes,volumeattachments -o yaml > before-cluster.yaml")),
		run("%s", w.kubectl("get persistentvolumeclaims --all-namespaces -o yaml > before-claims.yaml")))
	s.Done = append(s.Done, run("ls -l before-cluster.yaml before-claims.yaml"))
	if names := w.classNames(); len(names) > 0 {
		s.Commands = append(s.Commands, run("%s", w.kubectl("get storageclass %s -o yaml > classes.yaml", strings.Join(names, " "))))
	}
	for _, v := range w.r.Volumes {
		if v.Reclaim == "Delete" {
			s.Commands = append(s.Commands, run("%s", w.reclaim(v.Name, "Retain")))
		}
	}
	for i, n := range w.masters() {
		s.Commands = append(s.Commands, Command{On: n.Name, Run: "sudo cp -a /etc/kubernetes " + saved})
		if i == 0 {
			pki := "/etc/kubernetes/pki/etcd/"
			s.Commands = append(s.Commands, run("%s", w.kubectl("--namespace kube-system exec etcd-%s -- etcdctl --endpoints=https://127.0.0.1:2379"+
				" --cacert=%[2]sca.crt --cert=%[2]sserver.crt --key=%[2]sserver.key snapshot save %[3]s", n.Name, pki, snapshot)))
			s.Done = append(s.Done, Command{On: n.Name, Run: "sudo ls -l " + snapshot})
		}
	}
	return s
}

func (w *writer) reclaim(volume, policy string) string {
	return w.kubectl(`patch persistentvolume %s -p '{"spec":{"persistentVolumeReclaimPolicy":"%s"}}'`, volume, policy)
}

func (w *writer) classNames() []string {
	var names []string
	for _, k := range w.r.Classes {
		names = append(names, shellescape.Quote(k.Name))
	}
	return names
}

// masters are the nodes of the control plane.
func (w *writer) masters() []check.Node {
	var all []check.Node
	for _, n := range w.r.Nodes {
		if n.ControlPlane {
			all = append(all, n)
		}
	}
	return all
}
