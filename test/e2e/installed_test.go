package e2e

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/tarball"

	"github.com/vsphere-sandbox/vsphere-sandbox/manifests"
)

// ownManifest is what installs the cloud controller manager of this project.
func ownManifest(t *testing.T) string {
	t.Helper()
	var all strings.Builder
	for _, name := range []string{"rbac.yaml", "configmap.yaml", "secret.yaml", "daemonset.yaml"} {
		text, err := manifests.Files.ReadFile("ccm/" + name)
		if err != nil {
			t.Fatal(err)
		}
		all.WriteString("---\n" + string(text) + "\n")
	}
	return all.String()
}

// A release that is broken on purpose, by one line of its manifest, is one finding that names the line. What ships has none.
func TestBrokenReleases(t *testing.T) {
	long(t)
	h := newHome(t)
	for _, tc := range []struct {
		name, old, new string
		check          string // that fails
		found          string
	}{
		{name: "as it ships"},
		{
			name: "verb missing", old: "  - nodes/status\n  verbs:\n  - patch\n", new: "  - nodes/status\n  verbs:\n  - get\n",
			check: "rights", found: "lacks the rights: patch nodes/status (refused ",
		},
		{
			name: "wrong argument", old: "- --cloud-provider=vsphere\n", new: "- --cloud-provider=vsphere\n            - --cluod-nodes=3\n",
			check: "installation", found: "has no flag --cluod-nodes",
		},
		{
			name: "probe on a wrong port", old: "path: /readyz\n              port: 10267", new: "path: /readyz\n              port: 10268",
			check: "installation", found: "readinessProbe asks port 10268, where the program does not listen: its ports are 10267 (--health-address)",
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			text := ownManifest(t)
			if !strings.Contains(text, tc.old) {
				t.Fatalf("the manifest has no %q", tc.old)
			}
			file := h.File("manifest.yaml", strings.Replace(text, tc.old, tc.new, 1))
			r := h.Try("smoke", "--as", "manifest", "--ccm-manifest", file, "--only", "installation,rights,nearest-tag", "-o", "json", "--suite", "full")
			var doc struct {
				Checks []struct{ Name, Verdict, Message string }
			}
			if err := json.Unmarshal([]byte(r.Out), &doc); err != nil {
				t.Fatalf("%v: exit status %d\n%s", err, r.Code, r.Both())
			}
			exit := 0
			if tc.check != "" {
				exit = 3
			}
			if r.Code != exit {
				t.Errorf("exit status %d, want %d\n%s", r.Code, exit, r.Both())
			}
			seen := false
			for _, c := range doc.Checks {
				if strings.HasPrefix(c.Name, "zones/") && tc.check != "" {
					continue // it may fail with what is broken
				}
				if failed := c.Verdict == "failed" || c.Verdict == "errored"; failed != (c.Name == tc.check) || failed && !strings.Contains(c.Message, tc.found) {
					t.Errorf("%s %s: %s", c.Name, c.Verdict, c.Message)
				}
				seen = seen || c.Name == tc.check
			}
			if !seen && tc.check != "" {
				t.Errorf("no check %s: %+v", tc.check, doc.Checks)
			}
		})
	}
	h.nothingLeft()
}

// What is no release of a cloud controller manager at all is refused before anything is booted.
func TestNoReleases(t *testing.T) {
	h := newHome(t)
	web := h.File("web.yaml", `apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec: {selector: {matchLabels: {app: web}}, template: {metadata: {labels: {app: web}}, spec: {containers: [{name: web, image: "nginx:1"}]}}}
`)
	r := h.Try("smoke", "--as", "manifest", "--ccm-manifest", web)
	if r.Code != 3 || !strings.Contains(r.Err, "deploys no cloud controller manager for vSphere, but deployment web (image nginx:1)") {
		t.Errorf("exit status %d\n%s", r.Code, r.Both())
	}
	t.Cleanup(func() { // what an image is unpacked to stays in the user's cache
		if err := os.RemoveAll(filepath.Join(h.Tmp, ".cache")); err != nil {
			t.Error(err)
		}
	})
	tag, err := name.NewTag("example.net/ccm:v1.36.0")
	if err != nil {
		t.Fatal(err)
	}
	archive := filepath.Join(filepath.Dir(web), "empty.tar")
	if err := tarball.WriteToFile(archive, tag, empty.Image); err != nil {
		t.Fatal(err)
	}
	r = h.Try("smoke", "--ccm", "archive:"+archive, "--as", "manifest")
	if r.Code == 0 || !strings.Contains(r.Err, "archive:"+archive) {
		t.Errorf("exit status %d\n%s", r.Code, r.Both())
	}
	chart := filepath.Join(filepath.Dir(web), "chart")
	for name, text := range map[string]string{
		"Chart.yaml":         "apiVersion: v2\nname: broken\nversion: 1.2.3\n",
		"templates/ccm.yaml": "kind: DaemonSet\nname: {{ required \"ccm.name is not set\" .Values.ccm }}\n",
	} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(chart, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(chart, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	r = h.Try("smoke", "--as", "chart", "--chart", chart)
	if r.Code != 3 || !strings.Contains(r.Err, "chart broken-1.2.3 does not render: ") || !strings.Contains(r.Err, "ccm.name is not set") {
		t.Errorf("exit status %d\n%s", r.Code, r.Both())
	}
	r = h.Try("smoke", "--as", "chart")
	if r.Code != 2 || !strings.Contains(r.Err, "--chart charts/vsphere-cloud-controller-manager") {
		t.Errorf("exit status %d\n%s", r.Code, r.Both())
	}
}

// The chart of this project installs what runs, with the rights that it needs.
func TestOwnChart(t *testing.T) {
	long(t)
	h := newHome(t)
	values := h.File("values.yaml", "credentials: {create: true}\n")
	r := h.Try("smoke", "--as", "chart", "--chart", "../../charts/vsphere-cloud-controller-manager", "--values", values, "--only", "installation,rights,nearest-tag", "--suite", "full")
	if r.Code != 0 || !strings.Contains(r.Out, "daemonset kube-system/vsphere-cloud-controller-manager of chart vsphere-cloud-controller-manager-") {
		t.Errorf("exit status %d\n%s", r.Code, r.Both())
	}
	h.nothingLeft()
}
