package steps

import (
	"fmt"
	"strings"

	"al.essio.dev/pkg/shellescape"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/migrate/check"
)

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
