// Package docs has no code: its tests keep the pages beside them true. `go test ./docs -update` rewrites the generated
// parts; review the diff.
package docs

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/pace"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/rbac"
)

var update = flag.Bool("update", false, "rewrite the generated parts of pages")

// The table of scaled periods is printed from what scales them.
func TestSpeed(t *testing.T) {
	var b strings.Builder
	fmt.Fprintln(&b, "| component | period | `--speed 1` (upstream) | `--speed 10` | `--speed 100` | never below |")
	fmt.Fprintln(&b, "|---|---|--:|--:|--:|--:|")
	for _, r := range pace.Table() {
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s |\n", r.Component, setting(r.Setting),
			duration(pace.Speed(1).Of(r.Period)), duration(pace.Speed(10).Of(r.Period)), duration(pace.Speed(100).Of(r.Period)), duration(r.Floor))
	}
	generated(t, "speed.md", "periods", b.String())
}

// setting puts what is typed into code, and leaves words as words.
func setting(s string) string {
	code, rest, _ := strings.Cut(s, " ")
	if !strings.HasPrefix(code, "--") && !strings.ContainsAny(code, ".") && code == strings.ToLower(code) {
		return s
	}
	return strings.TrimSpace("`" + code + "` " + rest)
}

// duration is "50 s", "4 min", "200 ms".
func duration(d time.Duration) string {
	switch {
	case d >= time.Minute && d%time.Minute == 0:
		return fmt.Sprintf("%d min", d/time.Minute)
	case d >= time.Second:
		return fmt.Sprintf("%g s", d.Seconds())
	}
	return fmt.Sprintf("%d ms", d.Milliseconds())
}

// What the cloud controller manager may do is printed from the objects that the sandbox creates for it.
func TestRBAC(t *testing.T) {
	var b strings.Builder
	fmt.Fprintln(&b, "| where | API group | resource | only | verbs | why |")
	fmt.Fprintln(&b, "|---|---|---|---|---|---|")
	why := map[string]string{
		"nodes":        "list and watch: the informer of both node controllers; get: before each patch; update: a node is initialized (providerID, addresses, labels, taint removed); patch: labels, the shutdown taint, the annotation `sandbox.vsphere/vm`; delete: the VM is confirmed gone",
		"nodes/status": "addresses that changed",
		"secrets":      "vCenter credentials, followed by a watch of this one name",
	}
	events := map[string]string{
		"default":     "Events about Nodes, which are written to this namespace",
		"kube-system": "Events about that Secret: connected, login refused",
	}
	for _, o := range rbac.Objects(rbac.Config{
		Namespace: "kube-system", ServiceAccount: "cloud-controller-manager", SecretNames: []string{"vsphere-cloud-secret"},
	}) {
		where, rules := "", []rbacv1.PolicyRule(nil)
		switch o := o.(type) {
		case *rbacv1.ClusterRole:
			where, rules = "cluster", o.Rules
		case *rbacv1.Role:
			where, rules = o.Namespace, o.Rules
		}
		for _, r := range rules {
			resource := strings.Join(r.Resources, ", ")
			reason := why[resource]
			if resource == "events" {
				reason = events[where]
			}
			if reason == "" {
				t.Errorf("%s in %s: say here what it is for", resource, where)
			}
			fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s |\n", where, core(r.APIGroups), resource,
				strings.Join(r.ResourceNames, ", "), strings.Join(r.Verbs, ", "), reason)
		}
	}
	generated(t, "security.md", "rbac", b.String())
}

func core(groups []string) string {
	groups = slices.Clone(groups)
	for i, g := range groups {
		if g == "" {
			groups[i] = "core"
		}
	}
	return strings.Join(groups, ", ")
}

// generated wants a part of a page, between two comments, to be text.
func generated(t *testing.T, page, part, text string) {
	t.Helper()
	data, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	begin, end := "<!-- begin generated: "+part+" -->\n", "<!-- end generated: "+part+" -->"
	head, rest, ok := strings.Cut(string(data), begin)
	old, tail, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		t.Fatalf("%s: no generated part %q", page, part)
	}
	if *update {
		if err := os.WriteFile(page, []byte(head+begin+text+end+tail), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(text, old); diff != "" {
		t.Errorf("%s: not what the code says; run go test ./docs -update (-code +page):\n%s", page, diff)
	}
}
