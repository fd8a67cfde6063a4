package docs

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/build"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/kubernetes/release"
)

// What is built in has the versions of go.mod.
func TestBuiltIn(t *testing.T) {
	what := map[string]string{
		"kubernetes": "API server, controller manager, scheduler, kubelet", "etcd": "", "cloud-provider": "the cloud-node controllers",
		"kubectl": "", "govmomi": "vcsim and govc, too", "kind": "the ground of that name", "kwok": "light nodes",
		"csi-spec": "what the driver speaks", "bubbletea": "the terminal UI",
	}
	var b strings.Builder
	fmt.Fprintln(&b, "| component | version | Go module | |\n|---|---|---|---|")
	for _, c := range append(build.KubernetesComponents(), build.Components()...) {
		if use, ok := what[c.Name]; ok {
			fmt.Fprintf(&b, "| %s | %s | `%s` | %s |\n", c.Name, required(t, c.Module), c.Module, use)
		}
	}
	for _, c := range build.SidecarComponents(nil) {
		if strings.HasPrefix(c.Module, "github.com/kubernetes-csi/") {
			fmt.Fprintf(&b, "| %s | %s | `%s` | in csi-sidecars |\n", c.Name, required(t, c.Module), c.Module)
		}
	}
	generated(t, "compatibility.md", "built-in", b.String())
}

// The releases are those of the table in internal/kubernetes/release.
func TestKubernetesReleases(t *testing.T) {
	var b strings.Builder
	fmt.Fprintln(&b, "| `--kubernetes` | release | etcd | |\n|---|---|---|---|")
	for _, r := range release.All() {
		note := "built on request"
		if r == release.Default() {
			note = "the default, built in"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", r.Name(), r.Version, r.Etcd, note)
	}
	generated(t, "compatibility.md", "kubernetes", b.String())
}

// TestWasRun checks that the table of what was run has the versions that the commands use.
func TestWasRun(t *testing.T) {
	kubernetes := release.Default().Version
	cpi, csi := found(t, "../Makefile", `(?m)^UPSTREAM \?= (\S+)$`), found(t, "../Makefile", `(?m)^CSI_UPSTREAM \?= (\S+)$`)
	both := found(t, "../test/parity/parity_test.go", `"versions", "([^"]+)"`)
	onKind := found(t, "../test/kind/upstream_test.go", `upstreamRelease = "([^"]+)"`)
	csiOnKind := found(t, "../test/kind/upstream_csi_test.go", `upstreamDriver = "([^"]+)"`)
	var others []string
	for _, r := range release.All()[1:] {
		others = append(others, r.Version)
	}
	var b strings.Builder
	fmt.Fprintln(&b, "| what | version | how it was run | command |\n|---|---|---|---|")
	for _, row := range [][4]string{
		{"our cloud provider", "this release", "every scenario, on Kubernetes " + kubernetes, "`make test-long`, `vsphere-sandbox smoke --suite full`"},
		{"our cloud provider and CSI driver", "this release", "the core suite, nodes, a volume, older kubelets, on Kubernetes " + strings.Join(others, ", "), "`make minors`"},
		{"Kubernetes' own conformance tests", kubernetes, "those that need no container of an image, on the default ground", "`make conformance`"},
		{"our CSI driver", "this release", "every storage scenario; csi-test " + required(t, "github.com/kubernetes-csi/csi-test/v5") + "'s sanity suite", "`make test-storage`, `go test ./test/sanity`"},
		{"upstream's cloud provider", cpi, "unmodified, ten minutes of churn", "`make upstream`"},
		{"upstream's cloud provider", strings.ReplaceAll(both, ",", " and "), "unmodified, the catalogue; timed beside ours", "`vsphere-sandbox matrix`, `make parity`"},
		{"upstream's cloud provider on kind", onKind, "its image and its own manifest", "`make test-kind`"},
		{"upstream's vSphere CSI driver", csi, "unmodified, volumes from birth to death; then nothing may be retried", "`make csi-upstream`"},
		{"upstream's vSphere CSI driver on kind", csiOnKind, "its images and its own manifest, a volume that a pod writes to; sidecars of other releases under its manifest's names", "`make test-kind`"},
		{"kind", required(t, "sigs.k8s.io/kind"), "one node and several, Kubernetes " + release.Kind(), "`make test-kind`"},
		{"node images of other releases, by hack/kind-node", release.Default().Version + ", v1.35.4", "two nodes, flags for components, a volume that a pod writes to, a VM without power", "`make test-kind`"},
		{"light nodes", required(t, "sigs.k8s.io/kwok"), "5,000 of them", "`make bench-light`"},
	} {
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", row[0], row[1], row[2], row[3])
	}
	generated(t, "compatibility.md", "run", b.String())
}

// The commands of these pages are targets of the Makefile.
func TestTargetsOfCompatibility(t *testing.T) {
	makefile, err := os.ReadFile("../Makefile")
	if err != nil {
		t.Fatal(err)
	}
	for _, page := range []string{"compatibility.md", "releasing.md", "../CONTRIBUTING.md", "../README.md"} {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile("`make ([a-z][a-z-]+)").FindAllStringSubmatch(string(text), -1) {
			if !strings.Contains(string(makefile), "\n"+m[1]+":") {
				t.Errorf("%s: make has no target %s", page, m[1])
			}
		}
	}
}

// Contributors find every long suite beside the folders that it is about.
func TestLongSuites(t *testing.T) {
	makefile, err := os.ReadFile("../Makefile")
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile("../CONTRIBUTING.md")
	if err != nil {
		t.Fatal(err)
	}
	suites := regexp.MustCompile(`(?m)^LONG_SUITES := (.*)$`).FindSubmatch(makefile)
	if suites == nil {
		t.Fatal("Makefile: no LONG_SUITES")
	}
	for name := range strings.FieldsSeq(string(suites[1])) {
		if !regexp.MustCompile("(?m)^\\| .*`make " + name + "`").Match(page) {
			t.Errorf("CONTRIBUTING.md: no folder has make %s", name)
		}
	}
}

// required returns the version of a module in go.mod, or in that of the Kubernetes program, replaced or not.
func required(t *testing.T, module string) string {
	t.Helper()
	file := "../go.mod"
	if slices.ContainsFunc(build.KubernetesComponents(), func(c build.Component) bool { return c.Module == module }) {
		file = "../kubernetes/go.mod"
	}
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	quoted := regexp.QuoteMeta(module)
	m := regexp.MustCompile(`(?m)^\t` + quoted + ` (?:v\S+ )?=> ` + quoted + ` (v\S+)`).FindSubmatch(data)
	if m == nil {
		m = regexp.MustCompile(`(?m)^\t` + quoted + ` (v\S+)`).FindSubmatch(data)
	}
	if m == nil {
		t.Fatalf("%s does not require %s", file, module)
	}
	return string(m[1])
}

// found is what a pattern finds in a file.
func found(t *testing.T, file, pattern string) string {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	m := regexp.MustCompile(pattern).FindSubmatch(data)
	if m == nil {
		t.Fatalf("%s: nothing like %s", file, pattern)
	}
	return string(m[1])
}
