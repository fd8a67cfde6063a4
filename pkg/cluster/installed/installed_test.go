package installed

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vsphere-sandbox/vsphere-sandbox/manifests"
)

func release(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("testdata/release.yaml")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func read(t *testing.T, manifest string) *Installation {
	t.Helper()
	i, err := Read("release.yaml", []byte(manifest))
	if err != nil {
		t.Fatal(err)
	}
	return i
}

func TestRead(t *testing.T) {
	i := read(t, release(t))
	got := []any{i.Workload, i.Namespace, i.ServiceAccount, i.Container.Image, i.ConfigFile, len(i.Objects), i.Args(), i.Env(), i.Findings()}
	want := []any{
		"daemonset clouds/ccm", "clouds", "ccm", "registry.example.net/ccm:v1.40.0", "/etc/cloud/vsphere.conf", 5,
		[]string{"--cloud-provider=vsphere", "--cloud-config=/etc/cloud/vsphere.conf", "--secure-port=10260", "--v=2"},
		[]string{"LEVEL=2"},
		[]string(nil),
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

// What we ship has no findings, either.
func TestOwn(t *testing.T) {
	var text strings.Builder
	for _, name := range []string{"rbac.yaml", "configmap.yaml", "secret.yaml", "daemonset.yaml"} {
		b, err := manifests.Files.ReadFile("ccm/" + name)
		if err != nil {
			t.Fatal(err)
		}
		text.WriteString(string(b) + "\n---\n")
	}
	if i := read(t, text.String()); i.Findings() != nil || len(i.Rights()) < 5 {
		t.Errorf("%q, rights %q", i.Findings(), i.Rights())
	}
}

// Each of what is wrong on purpose is one clear finding.
func TestBroken(t *testing.T) {
	for name, tc := range map[string]struct {
		old, new string
		err      string
		findings []string
	}{
		"probe on a wrong port": {
			old: "port: 10260, scheme", new: "port: 10999, scheme",
			findings: []string{"livenessProbe asks port 10999, where the program does not listen: its ports are 10260 (--secure-port)"},
		},
		"probe without TLS": {
			old: ", scheme: HTTPS", new: "",
			findings: []string{"livenessProbe asks port 10260 by HTTP, where the program serves HTTPS"},
		},
		"no toleration": {
			old: "{key: node.cloudprovider.kubernetes.io/uninitialized, value: \"true\", effect: NoSchedule}", new: "{key: other, operator: Exists}",
			findings: []string{"daemonset clouds/ccm does not tolerate node.cloudprovider.kubernetes.io/uninitialized=true:NoSchedule: its pods find no node of a new cluster"},
		},
		"node selector of another cluster": {
			old: `nodeSelector: {node-role.kubernetes.io/control-plane: ""}`, new: `nodeSelector: {node-role.kubernetes.io/master: ""}`,
			findings: []string{"daemonset clouds/ccm: its nodeSelector and its affinity match no control-plane node as kubeadm labels it"},
		},
		"account of nobody": {
			old: "serviceAccountName: ccm", new: "serviceAccountName: other",
			err: "release.yaml: daemonset clouds/ccm runs as ServiceAccount clouds/other, which the manifest does not have",
		},
		"another cloud": {
			old: "--cloud-provider=vsphere", new: "--cloud-provider=aws",
			err: "release.yaml: daemonset clouds/ccm is the cloud controller manager of aws, not of vSphere (--cloud-provider=aws)",
		},
		"another project": {
			old: "mountPath: /etc/cloud,", new: "mountPath: /usr/share/www,",
			err: "release.yaml: deploys no cloud controller manager for vSphere, but daemonset clouds/ccm (image registry.example.net/ccm:v1.40.0): no container reads a configuration",
		},
		"no workload": {
			old: "kind: DaemonSet", new: "kind: PodTemplate",
			err: "release.yaml: there is no DaemonSet and no Deployment in it",
		},
		"misspelled rule": {
			old: "verbs: [patch]", new: "verb: [patch]",
			err: `release.yaml: clusterrole ccm: strict decoding error: unknown field "rules[1].verb"`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			text := release(t)
			if !strings.Contains(text, tc.old) {
				t.Fatalf("no %s", tc.old)
			}
			i, err := Read("release.yaml", []byte(strings.ReplaceAll(text, tc.old, tc.new)))
			if tc.err != "" {
				if err == nil || !strings.HasPrefix(err.Error(), tc.err) {
					t.Errorf("%v, want %s", err, tc.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(tc.findings, i.Findings()); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
}

const audit = `{"verb":"list","requestURI":"/api/v1/nodes","user":{"username":"system:serviceaccount:clouds:ccm"},"objectRef":{"resource":"nodes"},"responseStatus":{"code":200}}
{"verb":"patch","requestURI":"/api/v1/nodes/a/status","user":{"username":"system:serviceaccount:clouds:ccm"},"objectRef":{"resource":"nodes","name":"a","subresource":"status"},"responseStatus":{"code":200}}
{"verb":"get","requestURI":"/apis/coordination.k8s.io/v1/namespaces/clouds/leases/ccm","user":{"username":"system:serviceaccount:clouds:ccm"},"objectRef":{"resource":"leases","namespace":"clouds","name":"ccm","apiGroup":"coordination.k8s.io"},"responseStatus":{"code":404}}
{"verb":"create","requestURI":"/apis/coordination.k8s.io/v1/namespaces/clouds/leases","user":{"username":"system:serviceaccount:clouds:ccm"},"objectRef":{"resource":"leases","namespace":"clouds","apiGroup":"coordination.k8s.io"},"responseStatus":{"code":403}}
{"verb":"create","requestURI":"/apis/coordination.k8s.io/v1/namespaces/clouds/leases?x=y","user":{"username":"system:serviceaccount:clouds:ccm"},"objectRef":{"resource":"leases","namespace":"clouds","apiGroup":"coordination.k8s.io"},"responseStatus":{"code":403}}
{"verb":"get","requestURI":"/metrics?a=b","user":{"username":"system:serviceaccount:clouds:ccm"},"responseStatus":{"code":403}}
{"verb":"delete","requestURI":"/api/v1/nodes/a","user":{"username":"system:admin"},"objectRef":{"resource":"nodes","name":"a"},"responseStatus":{"code":403}}
{"verb":"delete","requestU`

func TestRights(t *testing.T) {
	i := read(t, release(t))
	requests, err := ReadAudit(strings.NewReader(audit), func(user string) bool { return user == i.User() })
	if err != nil || len(requests) != 6 {
		t.Fatalf("%d requests, %v", len(requests), err)
	}
	var refused []string
	for _, r := range Refused(requests) {
		refused = append(refused, r.String())
	}
	if d := cmp.Diff([]string{"create leases.coordination.k8s.io in clouds (refused 2 times)", "get /metrics (refused once)"}, refused); d != "" {
		t.Errorf("refused (-want +got):\n%s", d)
	}
	unused := []string{"all but list of nodes", "list, watch services", "update leases.coordination.k8s.io ccm in clouds"}
	if d := cmp.Diff(unused, i.Unused(requests)); d != "" {
		t.Errorf("unused (-want +got):\n%s", d)
	}
}

// Objects of a List count as those of documents, as for kubectl: upstream's chart has its bindings in one.
func TestList(t *testing.T) {
	text := release(t)
	var documents, items []string
	for d := range strings.SplitSeq(text, "\n---\n") {
		if strings.Contains(d, "Binding") {
			items = append(items, "- "+strings.ReplaceAll(strings.TrimSpace(d), "\n", "\n  "))
		} else {
			documents = append(documents, d)
		}
	}
	if len(items) == 0 {
		t.Fatal("the manifest has no bindings")
	}
	documents = append(documents, "apiVersion: v1\nkind: List\nmetadata: {}\nitems:\n"+strings.Join(items, "\n")+"\n")
	i, want := read(t, strings.Join(documents, "\n---\n")), read(t, text)
	if d := cmp.Diff(want.Rights(), i.Rights()); d != "" || len(i.Rights()) == 0 {
		t.Errorf("(-want +got):\n%s", d)
	}
	if _, err := Read("list.yaml", []byte("apiVersion: v1\nkind: List\nitems: [{kind: Role}]\n")); err == nil || !strings.Contains(err.Error(), "document 1, item 1 is no object of Kubernetes") {
		t.Errorf("%v", err)
	}
}
