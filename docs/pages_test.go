package docs

import (
	"os"
	"path"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
)

// pages are the pages that people read, by their paths from here.
func pages(t *testing.T) map[string]string {
	t.Helper()
	found := map[string]string{}
	for _, pattern := range []string{"*.md", "adr/*.md", "concepts/*.md", "releases/*.md", "../SECURITY.md", "../README.md", "../CONTRIBUTING.md", "../scenarios/*.md", "../tutorials/*.md", "../tutorials/*/*.md"} {
		names, err := filepath.Glob(pattern)
		if err != nil || len(names) == 0 {
			t.Fatalf("%s: %d pages, %v", pattern, len(names), err)
		}
		for _, name := range names {
			data, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			found[name] = string(data)
		}
	}
	return found
}

// Links lead somewhere, headings included.
func TestLinks(t *testing.T) {
	all := pages(t)
	for name, text := range all {
		for _, target := range links(text) {
			if strings.Contains(target, "://") {
				continue
			}
			file, heading, _ := strings.Cut(target, "#")
			to := name
			if file != "" {
				to = path.Join(path.Dir(name), file)
			}
			if _, err := os.Stat(to); err != nil {
				t.Errorf("%s: link to %s leads nowhere", name, target)
				continue
			}
			if page, ok := all[to]; ok && heading != "" && !anchors(page)[heading] {
				t.Errorf("%s: link to %s: no such heading", name, target)
			}
		}
	}
}

// Every page is found by following links from the index.
func TestIndex(t *testing.T) {
	all := pages(t)
	reached := map[string]bool{}
	var follow func(string)
	follow = func(name string) {
		if _, ok := all[name]; !ok || reached[name] {
			return
		}
		reached[name] = true
		for _, target := range links(all[name]) {
			file, _, _ := strings.Cut(target, "#")
			follow(path.Join(path.Dir(name), file))
		}
	}
	follow("README.md")
	for name := range all {
		if !reached[name] {
			t.Errorf("%s: no link from docs/README.md leads there", name)
		}
	}
}

var (
	link    = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	fence   = regexp.MustCompile("(?ms)^```.*?^```")
	heading = regexp.MustCompile(`(?m)^#+ (.*)$`)
	odd     = regexp.MustCompile(`[^a-z0-9 _-]`)
)

func links(text string) []string {
	var targets []string
	for _, m := range link.FindAllStringSubmatch(fence.ReplaceAllString(text, ""), -1) {
		targets = append(targets, m[1])
	}
	return targets
}

// anchors are the names by which a page's headings are linked, as GitHub makes them.
func anchors(text string) map[string]bool {
	found := map[string]bool{}
	for _, m := range heading.FindAllStringSubmatch(fence.ReplaceAllString(text, ""), -1) {
		found[strings.ReplaceAll(odd.ReplaceAllString(strings.ToLower(m[1]), ""), " ", "-")] = true
	}
	return found
}

// topology.md has a row for every key that a topology may have, under its type's heading, and for no other.
func TestTopologyFields(t *testing.T) {
	page := pages(t)["topology.md"]
	for typ, title := range map[reflect.Type]string{
		reflect.TypeFor[topology.Topology]():    "The file",
		reflect.TypeFor[topology.Metadata]():    "metadata",
		reflect.TypeFor[topology.Spec]():        "spec",
		reflect.TypeFor[topology.Categories]():  "categories",
		reflect.TypeFor[topology.NSX]():         "nsx",
		reflect.TypeFor[topology.NSXPool]():     "nsx pools",
		reflect.TypeFor[topology.VCenter]():     "vcenters",
		reflect.TypeFor[topology.Folder]():      "folders",
		reflect.TypeFor[topology.Datacenter]():  "datacenters",
		reflect.TypeFor[topology.Network]():     "networks",
		reflect.TypeFor[topology.Datastore]():   "datastores",
		reflect.TypeFor[topology.Cluster]():     "clusters",
		reflect.TypeFor[topology.Host]():        "hosts",
		reflect.TypeFor[topology.HostGroup]():   "hostGroups",
		reflect.TypeFor[topology.VMGroup]():     "vmGroups",
		reflect.TypeFor[topology.HostRule]():    "rules",
		reflect.TypeFor[topology.VM]():          "vms",
		reflect.TypeFor[topology.NIC]():         "nics",
		reflect.TypeFor[topology.Snapshot]():    "snapshots",
		reflect.TypeFor[topology.KeyValue]():    "extraConfig",
		reflect.TypeFor[topology.VApp]():        "vapps",
		reflect.TypeFor[topology.Pool]():        "pools",
		reflect.TypeFor[topology.PortGroup]():   "portGroups",
		reflect.TypeFor[topology.Switch]():      "switches",
		reflect.TypeFor[topology.Guest]():       "guest",
		reflect.TypeFor[topology.DHCP]():        "dhcp",
		reflect.TypeFor[topology.DRS]():         "drs",
		reflect.TypeFor[topology.HA]():          "ha",
		reflect.TypeFor[topology.Reactions]():   "reactions",
		reflect.TypeFor[topology.Policy]():      "policies",
		reflect.TypeFor[topology.Sessions]():    "sessions",
		reflect.TypeFor[topology.RoleDef]():     "roles",
		reflect.TypeFor[topology.User]():        "users",
		reflect.TypeFor[topology.Permission]():  "permissions",
		reflect.TypeFor[topology.Tag]():         "tags",
		reflect.TypeFor[topology.TagCategory](): "tagCategories",
	} {
		_, section, ok := strings.Cut(page, "\n## "+title+"\n")
		if !ok {
			t.Errorf("%s: no heading %q", typ, title)
			continue
		}
		section, _, _ = strings.Cut(section, "\n## ")
		want := keys(typ)
		for key := range want {
			if !strings.Contains(section, "\n| `"+key+"` |") {
				t.Errorf("%s: no row for %q under %q", typ, key, title)
			}
		}
		for _, m := range regexp.MustCompile("(?m)^\\| `([^`]+)` \\|").FindAllStringSubmatch(section, -1) {
			if !want[m[1]] {
				t.Errorf("%s: the row %q under %q is about no key that there is", typ, m[1], title)
			}
		}
	}
}

func keys(typ reflect.Type) map[string]bool {
	found := map[string]bool{}
	for field := range typ.Fields() {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if name != "" {
			found[name] = true
			continue
		}
		for inner := range keys(field.Type) {
			found[inner] = true
		}
	}
	return found
}

// Decisions are at most a page, dated, and say what came of them.
func TestDecisions(t *testing.T) {
	for name, text := range pages(t) {
		if !regexp.MustCompile(`^adr/\d{4}-`).MatchString(name) {
			continue
		}
		if lines := strings.Count(text, "\n"); lines > 50 {
			t.Errorf("%s: %d lines are more than a page", name, lines)
		}
		for _, part := range []string{"Date: 20", "\n## Context\n", "\n## Choice\n", "\n## Consequences\n"} {
			if !strings.Contains(text, part) {
				t.Errorf("%s: no %q", name, strings.TrimSpace(part))
			}
		}
	}
}

// A test that a page names is there.
func TestNamedTests(t *testing.T) {
	there := map[string]bool{}
	for _, root := range []string{"../pkg", "../internal", "../test"} {
		err := filepath.WalkDir(root, func(name string, d os.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(name, "_test.go") {
				return err
			}
			src, err := os.ReadFile(name)
			for _, m := range regexp.MustCompile(`(?m)^func ((?:Test|Benchmark|Fuzz)\w+)\(`).FindAllStringSubmatch(string(src), -1) {
				there[m[1]] = true
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range pages(t) {
		for _, m := range regexp.MustCompile("`((?:Test|Benchmark|Fuzz)[A-Z]\\w*)`").FindAllStringSubmatch(text, -1) {
			if !there[m[1]] {
				t.Errorf("%s names %s, which is no test", name, m[1])
			}
		}
	}
}

// Versions that pages name are those that go.mod has.
func TestVersions(t *testing.T) {
	page := pages(t)["what-is-real.md"]
	for module, name := range map[string]string{
		"k8s.io/kubernetes":         "Kubernetes",
		"go.etcd.io/etcd/server/v3": "etcd",
		"github.com/vmware/govmomi": "govmomi",
	} {
		if want := name + " " + required(t, module); !strings.Contains(page, want) {
			t.Errorf("what-is-real.md does not name %s", want)
		}
	}
}
