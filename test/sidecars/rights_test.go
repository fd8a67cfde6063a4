package sidecars

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/installed"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/objects"
)

// checkRights reads the audit log: nothing was refused, and what is granted was needed, except for what is only needed
// when something goes wrong.
func (w *world) checkRights() {
	w.Helper()
	unused := map[string]bool{}
	for _, o := range objects.Rights(objects.Config{LeaderElection: true}) {
		name, rules := "", []rbacv1.PolicyRule(nil)
		switch o := o.(type) {
		case *rbacv1.ClusterRole:
			name, rules = o.Name, o.Rules
		case *rbacv1.Role:
			name, rules = o.Name, o.Rules
		}
		who := strings.TrimSuffix(strings.TrimPrefix(name, "vsphere-csi:"), ":leader")
		if !slices.Contains(processes(), who) {
			continue
		}
		for _, r := range rules {
			for _, verb := range r.Verbs {
				if verb != "list" { // not where the API server sends a watch what there is
					unused[who+": "+verb+" "+r.Resources[0]] = true
				}
			}
		}
	}
	refused := map[string]bool{}
	f, err := os.Open(filepath.Join(w.dir, "logs", "audit.log"))
	if err != nil {
		w.Fatal(err)
	}
	defer f.Close()
	const accounts = "system:serviceaccount:" + objects.DefaultNamespace + ":"
	requests, err := installed.ReadAudit(f, func(user string) bool { return strings.HasPrefix(user, accounts) })
	if err != nil {
		w.Fatal(err)
	}
	for n := range requests {
		q := &requests[n]
		right := q.Right()
		what := strings.TrimPrefix(q.User.Username, accounts) + ": " + right.Verb + " " + right.Resource
		delete(unused, what)
		if q.Refused() {
			refused[what] = true
		}
	}
	for _, r := range slices.Sorted(maps.Keys(refused)) {
		w.Errorf("refused: %s", r)
	}
	for _, r := range slices.Sorted(maps.Keys(unused)) {
		if rarely()[r] == "" {
			w.Errorf("not needed: %s", r)
		}
	}
}

// rarely is what is needed on days that this test does not have, and when.
func rarely() map[string]string {
	const again, fails = "an event happens again", "the driver refuses"
	return map[string]string{
		"csi-provisioner: patch events": again, "csi-resizer: patch events": again, "csi-snapshotter: patch events": again,
		"snapshot-controller: patch events": again, "csi-snapshotter: create events": fails,
		"csi-provisioner: update persistentvolumeclaims": "there is no room where the scheduler wants the pod: the node is taken back",
	}
}
