package kube_test

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault/kube"
)

const (
	secret    = "Secret kube-system/vsphere-cloud-secret"
	config    = "ConfigMap kube-system/vsphere-cloud-config"
	worker    = "Node /worker-1"
	accountOf = "ServiceAccount kube-system/cloud-controller-manager"
	role      = "vsphere-cloud-controller-manager"
)

// Every kind does what it says, to nothing else, and is reverted to what was before; it is refused, with nothing touched,
// where it makes no sense.
func TestKinds(t *testing.T) {
	gone := func(component string) func(*rig) { return func(r *rig) { r.processes.running[component] = false } }
	for _, tc := range []struct {
		kind   string
		params map[string]string
		// does is what is asked of the processes, heals what the healing asks.
		does, heals []string
		// changes are the objects that are others, gone or new; a "-" or "+" says so.
		changes []string
		// see looks closer.
		see func(*testing.T, *rig)
		// refused makes the precondition not be met.
		refused func(*rig)
	}{
		{kind: "control-plane.restart", does: []string{"restart control-plane"}, refused: gone("control-plane")},
		{kind: "control-plane.restart", params: kv("kill", "true"), does: []string{"kill control-plane"}},
		{kind: "control-plane.paused", does: []string{"pause control-plane"}, heals: []string{"resume control-plane"}, refused: gone("control-plane")},
		{kind: "etcd.slow", params: kv("latency", "300ms"), does: []string{"slow etcd 300ms"}, heals: []string{"slow etcd 0s"}},

		{kind: "ccm.killed", does: []string{"kill ccm"}, refused: gone("ccm")},
		{kind: "ccm.paused", does: []string{"pause ccm"}, heals: []string{"resume ccm"}, refused: gone("ccm")},
		{kind: "ccm.api-unreachable", does: []string{"cut ccm silent=true"}, heals: []string{"mend ccm"}, refused: gone("ccm")},
		{kind: "ccm.twice", does: []string{"scale ccm 2"}, heals: []string{"scale ccm 1"}, refused: func(r *rig) { r.processes.extra = 1 }},
		{kind: "ccm.token-revoked", changes: []string{"-" + accountOf}, heals: []string{"renew token of ccm", "restart ccm"}, refused: func(r *rig) {
			_ = r.client.CoreV1().ServiceAccounts("kube-system").Delete(r.t.Context(), "cloud-controller-manager", metav1.DeleteOptions{})
		}},

		{kind: "csi.killed", does: []string{"kill csi-attacher"}, refused: gone("csi-attacher")},
		{kind: "csi.paused", does: []string{"pause csi-attacher"}, heals: []string{"resume csi-attacher"}, refused: gone("csi-attacher")},
		{kind: "csi.api-unreachable", does: []string{"cut csi-attacher silent=true"}, heals: []string{"mend csi-attacher"}},
		{
			kind: "csi.token-revoked", changes: []string{"-ServiceAccount vmware-system-csi/csi-attacher"}, heals: []string{"renew token of csi-attacher", "restart csi-attacher"},
			refused: func(r *rig) {
				_ = r.client.CoreV1().ServiceAccounts("vmware-system-csi").Delete(r.t.Context(), "csi-attacher", metav1.DeleteOptions{})
			},
		},
		{kind: "csi.topology-kind-deleted", changes: []string{"-CustomResourceDefinition /csinodetopologies.cns.vmware.com"}, refused: func(r *rig) {
			_ = r.dynamic.Resource(definitions()).Delete(r.t.Context(), "csinodetopologies.cns.vmware.com", metav1.DeleteOptions{})
		}},
		{kind: "storageclass.unknown-policy", changes: []string{"StorageClass /vsphere"}, see: func(t *testing.T, r *rig) {
			c, err := r.client.StorageV1().StorageClasses().Get(t.Context(), "vsphere", metav1.GetOptions{})
			if err != nil || c.Parameters["storagepolicyname"] != "no-such-policy" || c.Provisioner == "" {
				t.Errorf("%+v, %v", c, err)
			}
		}, refused: func(r *rig) {
			_ = r.client.StorageV1().StorageClasses().Delete(r.t.Context(), "vsphere", metav1.DeleteOptions{})
		}},
		{kind: "node.link-withheld", does: []string{"withhold links of node/worker-1 true"}, heals: []string{"withhold links of node/worker-1 false"}, refused: gone("node/worker-1")},
		{kind: "node.csi-unregistered", does: []string{"register node/worker-1 false"}, heals: []string{"register node/worker-1 true"}, refused: gone("node/worker-1")},
		{kind: "node.csinode-deleted", changes: []string{"-CSINode /worker-1"}, refused: func(r *rig) {
			_ = r.client.StorageV1().CSINodes().Delete(r.t.Context(), "worker-1", metav1.DeleteOptions{})
		}},

		{kind: "node.kubelet-killed", does: []string{"kill node/worker-1"}, refused: gone("node/worker-1")},
		{kind: "node.kubelet-paused", does: []string{"pause node/worker-1"}, heals: []string{"resume node/worker-1"}, refused: gone("node/worker-1")},
		{kind: "node.api-unreachable", does: []string{"cut node/worker-1 silent=true"}, heals: []string{"mend node/worker-1"}, refused: gone("node/worker-1")},
		{kind: "node.api-unreachable", params: kv("silent", "false"), does: []string{"cut node/worker-1 silent=false"}, heals: []string{"mend node/worker-1"}},

		{kind: "node.uninitialized", changes: []string{worker}, see: func(t *testing.T, r *rig) {
			want := []corev1.Taint{{Key: "node.cloudprovider.kubernetes.io/uninitialized", Value: "true", Effect: "NoSchedule"}}
			if diff := cmp.Diff(want, r.worker().Spec.Taints); diff != "" {
				t.Error(diff)
			}
		}, refused: func(r *rig) { r.inject("node.tainted", kv("key", "node.cloudprovider.kubernetes.io/uninitialized")) }},
		{kind: "node.tainted", params: kv("key", "a/b", "value", "c", "effect", "NoExecute"), changes: []string{worker}, see: func(t *testing.T, r *rig) {
			if diff := cmp.Diff([]corev1.Taint{{Key: "a/b", Value: "c", Effect: "NoExecute"}}, r.worker().Spec.Taints); diff != "" {
				t.Error(diff)
			}
		}, refused: removeWorker},
		{kind: "node.object-deleted", changes: []string{"-" + worker}, heals: []string{"restart node/worker-1"}, refused: removeWorker},
		{kind: "node.foreign-provider-id", changes: []string{worker}, heals: []string{"restart node/worker-1"}, see: func(t *testing.T, r *rig) {
			if n := r.worker(); n.Spec.ProviderID != "aws:///eu-west-1a/i-0123456789abcdef0" || len(n.Spec.Taints) != 1 {
				t.Errorf("%+v", n.Spec)
			}
		}, refused: gone("node/worker-1")},

		{kind: "rbac.rule-removed", params: kv("resource", "nodes", "verb", "patch"), changes: []string{"ClusterRole /system:" + role}, refused: func(r *rig) {
			r.inject("rbac.binding-removed", nil)
		}},
		{kind: "rbac.rule-removed", params: kv("resource", "secrets"), changes: []string{"Role kube-system/" + role + ":credentials"}},
		{kind: "rbac.rule-removed", params: kv("resource", "events"), changes: []string{"Role default/" + role + ":events", "Role kube-system/" + role + ":events"}},
		{kind: "rbac.binding-removed", changes: []string{
			"-ClusterRoleBinding /system:" + role, "-RoleBinding default/" + role + ":events", "-RoleBinding kube-system/" + role + ":credentials",
			"-RoleBinding kube-system/" + role + ":events",
		}, refused: func(r *rig) { r.inject("rbac.binding-removed", nil) }},
		{kind: "rbac.binding-removed", params: kv("binding", role+":events"), changes: []string{"-RoleBinding default/" + role + ":events", "-RoleBinding kube-system/" + role + ":events"}},

		{kind: "secret.deleted", changes: []string{"-" + secret, "+" + secret + "-before-f1"}, refused: func(r *rig) {
			_ = r.client.CoreV1().Secrets("kube-system").Delete(r.t.Context(), "vsphere-cloud-secret", metav1.DeleteOptions{})
		}},
		{kind: "secret.malformed", changes: []string{secret, "+" + secret + "-before-f1"}, see: hasKeys("127.0.0.1.username", "127.0.0.2.username"), refused: func(r *rig) {
			s := r.secret()
			s.Data = nil
			_, _ = r.client.CoreV1().Secrets("kube-system").Update(r.t.Context(), s, metav1.UpdateOptions{})
		}},
		{kind: "secret.malformed", params: kv("how", "empty"), changes: []string{secret, "+" + secret + "-before-f1"}, see: hasKeys()},
		{
			kind: "secret.malformed", params: kv("how", "wrong-key", "server", "127.0.0.1"), changes: []string{secret, "+" + secret + "-before-f1"},
			see: hasKeys("127.0.0.2.password", "127.0.0.2.username", "nowhere.invalid.password", "nowhere.invalid.username"),
		},
		{
			kind: "secret.malformed", params: kv("how", "wrong-case"), changes: []string{secret, "+" + secret + "-before-f1"},
			see: hasKeys("127.0.0.1.PASSWORD", "127.0.0.1.USERNAME", "127.0.0.2.PASSWORD", "127.0.0.2.USERNAME"),
		},
		{kind: "secret.malformed", params: kv("how", "wrong-password", "server", "127.0.0.2"), changes: []string{secret, "+" + secret + "-before-f1"}, see: func(t *testing.T, r *rig) {
			if d := r.secret().Data; string(d["127.0.0.2.password"]) != "not-secret2" || string(d["127.0.0.1.password"]) != "secret" {
				t.Errorf("%s", d)
			}
		}},
		{kind: "config.deleted", changes: []string{"-" + config, "+" + config + "-before-f1"}, refused: func(r *rig) {
			_ = r.client.CoreV1().ConfigMaps("kube-system").Delete(r.t.Context(), "vsphere-cloud-config", metav1.DeleteOptions{})
		}},
		{kind: "config.malformed", changes: []string{config, "+" + config + "-before-f1"}, refused: func(r *rig) {
			r.inject("config.deleted", nil)
		}},
		{kind: "config.malformed", params: kv("how", "wrong-server"), changes: []string{config, "+" + config + "-before-f1"}, see: func(t *testing.T, r *rig) {
			if got, want := r.conf(), strings.Replace(conf, "127.0.0.1", "127.255.255.254", 1); got != want {
				t.Error(cmp.Diff(want, got))
			}
		}},
		{kind: "config.malformed", params: kv("how", "no-vcenters"), changes: []string{config, "+" + config + "-before-f1"}, see: func(t *testing.T, r *rig) {
			if r.conf() != "global:\n  port: 443\n  secretName: vsphere-cloud-secret\n  secretNamespace: kube-system\n" {
				t.Error(r.conf())
			}
		}},
	} {
		name := tc.kind
		for _, p := range []string{"kill", "silent", "how", "resource", "binding"} {
			if v := tc.params[p]; v != "" {
				name += " " + p + "=" + v
			}
		}
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			before := r.objects()
			lease := r.inject(tc.kind, tc.params)
			if diff := cmp.Diff(tc.does, r.processes.since(0)); diff != "" {
				t.Errorf("calls (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tc.changes, changes(before, r.objects())); diff != "" {
				t.Errorf("objects (-want +got):\n%s", diff)
			}
			if tc.see != nil {
				tc.see(t, r)
			}
			if slices.ContainsFunc(r.processes.causes, func(seq uint64) bool { return seq != lease.Seq }) {
				t.Errorf("causes %v, want %d", r.processes.causes, lease.Seq)
			}
			did := len(r.processes.since(0))
			r.heal(lease.ID)
			if diff := cmp.Diff(tc.heals, nilIfEmpty(r.processes.since(did))); diff != "" {
				t.Errorf("calls of the healing (-want +got):\n%s", diff)
			}
			if left := changes(before, r.objects()); left != nil {
				t.Errorf("not as before: %v", left)
			}
		})
		if tc.refused == nil {
			continue
		}
		t.Run(name+" is refused", func(t *testing.T) {
			r := newRig(t)
			tc.refused(r)
			before, did := r.objects(), len(r.processes.since(0))
			if refusal := r.refused(tc.kind, tc.params); refusal.Message == "" {
				t.Error("no reason")
			}
			if now := changes(before, r.objects()); now != nil || len(r.processes.since(did)) > 0 {
				t.Errorf("refused, and touched: %v, %v", now, r.processes.since(did))
			}
		})
	}
}

// The table above has every kind but the one that runs continuously, which has a separate test.
func TestKindsAreWellMade(t *testing.T) {
	seen := map[string]bool{}
	for _, k := range kube.Kinds() {
		if seen[k.Name] || k.Short == "" || k.Long == "" || strings.HasSuffix(k.Short, ".") || !strings.HasSuffix(k.Long, ".") {
			t.Errorf("%s: named twice, or told badly: %q, %q", k.Name, k.Short, k.Long)
		}
		seen[k.Name] = true
		for _, p := range k.Params {
			if p.Short == "" || p.Type == "" {
				t.Errorf("%s: parameter %+v", k.Name, p)
			}
		}
	}
	if len(seen) != 32 {
		t.Errorf("%d kinds: is the table complete?", len(seen))
	}
}

func kv(pairs ...string) map[string]string {
	m := map[string]string{}
	for i := 0; i < len(pairs); i += 2 {
		m[pairs[i]] = pairs[i+1]
	}
	return m
}

// changes lists by what two states differ.
func changes(before, after map[string]any) (list []string) {
	for key, was := range before {
		if is, ok := after[key]; !ok {
			list = append(list, "-"+key)
		} else if !reflect.DeepEqual(was, is) {
			list = append(list, key)
		}
	}
	for key := range after {
		if _, ok := before[key]; !ok {
			list = append(list, "+"+key)
		}
	}
	slices.SortFunc(list, func(a, b string) int {
		return strings.Compare(strings.TrimLeft(a, "+-"), strings.TrimLeft(b, "+-"))
	})
	return list
}

func nilIfEmpty(list []string) []string {
	if len(list) == 0 {
		return nil
	}
	return list
}

func removeWorker(r *rig) {
	if err := r.client.CoreV1().Nodes().Delete(r.t.Context(), "worker-1", metav1.DeleteOptions{}); err != nil {
		r.t.Fatal(err)
	}
}

func hasKeys(want ...string) func(*testing.T, *rig) {
	return func(t *testing.T, r *rig) {
		var got []string
		for key := range r.secret().Data {
			got = append(got, key)
		}
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Errorf("keys %q, want %q", got, want)
		}
	}
}

func (r *rig) worker() *corev1.Node {
	r.t.Helper()
	n, err := r.client.CoreV1().Nodes().Get(r.t.Context(), "worker-1", metav1.GetOptions{})
	if err != nil {
		r.t.Fatal(err)
	}
	return n
}

func (r *rig) secret() *corev1.Secret {
	r.t.Helper()
	s, err := r.client.CoreV1().Secrets("kube-system").Get(r.t.Context(), "vsphere-cloud-secret", metav1.GetOptions{})
	if err != nil {
		r.t.Fatal(err)
	}
	return s
}

func (r *rig) conf() string {
	r.t.Helper()
	m, err := r.client.CoreV1().ConfigMaps("kube-system").Get(r.t.Context(), "vsphere-cloud-config", metav1.GetOptions{})
	if err != nil {
		r.t.Fatal(err)
	}
	return m.Data["vsphere.conf"]
}
