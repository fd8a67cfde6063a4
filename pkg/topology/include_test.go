package topology_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
)

// composed is a topology that includes and holds what is given, in the form of flow mappings.
func composed(include, spec string) string {
	return "apiVersion: sandbox.vsphere/v1alpha1\nkind: Topology\nmetadata: {name: main}\ninclude: " + include + "\nspec: " + spec + "\n"
}

const inventory = `
spec:
  vcenters:
    - name: vc
      datacenters:
        - name: dc
          hosts: [{name: esx-1}]
          vms: [{name: a}]
`

func files(named map[string]string) fstest.MapFS {
	all := fstest.MapFS{}
	for name, text := range named {
		all[name] = &fstest.MapFile{Data: []byte(text), Mode: 0o644}
	}
	return all
}

// What is included counts as if it stood in the file, which has the last word.
func TestInclude(t *testing.T) {
	tests := map[string]struct {
		files map[string]string
		like  string // the spec of one file that says the same
	}{
		"whole": {
			map[string]string{"main.yaml": composed("[parts/vc.yaml]", "{seed: s}"), "parts/vc.yaml": inventory},
			"{seed: s, vcenters: [{name: vc, datacenters: [{name: dc, hosts: [{name: esx-1}], vms: [{name: a}]}]}]}",
		},
		"the last one counts": {
			map[string]string{
				"main.yaml": composed("[one.yaml, two.yaml]", "{seed: s, categories: }"),
				"one.yaml":  inventory + "  seed: one\n  categories: {region: r1, zone: z1}\n",
				"two.yaml":  "spec: {seed: two, categories: {region: r2}}",
			},
			"{seed: s, categories: {region: r2, zone: z1}, vcenters: [{name: vc, datacenters: [{name: dc, hosts: [{name: esx-1}], vms: [{name: a}]}]}]}",
		},
		"by name": {
			map[string]string{
				"main.yaml": composed("[vc.yaml]", `{vcenters: [{name: w, datacenters: [{name: dc, hosts: [{name: esx-9}]}]}, {name: vc, version: 7.0.3, datacenters: [
					{name: dc, zone: z, hosts: [{name: esx-2}], clusters: [{name: c, zone: y, hosts: [{name: c-2}]}]}]}]}`),
				"vc.yaml": "spec: {vcenters: [{name: vc, datacenters: [{name: dc, hosts: [{name: esx-1}], clusters: [{name: c, hosts: [{name: c-1}]}]}]}]}",
			},
			`{vcenters: [
				{name: vc, version: 7.0.3, datacenters: [{name: dc, zone: z, hosts: [{name: esx-1}, {name: esx-2}], clusters: [{name: c, zone: y, hosts: [{name: c-1}, {name: c-2}]}]}]},
				{name: w, datacenters: [{name: dc, hosts: [{name: esx-9}]}]}]}`,
		},
		"from where the file is, and once": {
			map[string]string{
				"main.yaml":          composed("[parts/a.yaml, parts/deep/b.yaml, common.yaml]", "{}"),
				"parts/a.yaml":       "include: [../common.yaml, ./deep/b.yaml]\nspec: {seed: a}",
				"parts/deep/b.yaml":  "include: [../../common.yaml]\napiVersion: sandbox.vsphere/v1alpha1\nkind: Topology",
				"common.yaml":        inventory,
				"parts/unread.yaml":  "}",
				"parts/common.yaml":  "}",
				"parts/deep/c\t.yml": "}",
			},
			"{seed: a, vcenters: [{name: vc, datacenters: [{name: dc, hosts: [{name: esx-1}], vms: [{name: a}]}]}]}",
		},
		"nothing": {
			map[string]string{"main.yaml": composed("", "{seed: s, vcenters: [{name: v, datacenters: [{name: d, hosts: [{name: e}]}]}]}")},
			"{seed: s, vcenters: [{name: v, datacenters: [{name: d, hosts: [{name: e}]}]}]}",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := topology.LoadFS(files(test.files), "main.yaml")
			if err != nil {
				t.Fatal(err)
			}
			want, err := topology.Load("like.yaml", []byte(composed("[]", test.like)))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-in one file +included):\n%s", diff)
			}
		})
	}
}

func TestIncludeRefused(t *testing.T) {
	tests := map[string]struct {
		files map[string]string
		want  []string // the errors, from their beginning
	}{
		"absent": {
			map[string]string{"main.yaml": composed("[parts/zone.yaml]", "{}"), "parts/zones.yaml": ""},
			[]string{`main.yaml:4:11: include[0]: there is no file parts/zone.yaml (did you mean "parts/zones.yaml"?)`},
		},
		"absent, further in": {
			map[string]string{"main.yaml": composed("[a/1.yaml]", "{}"), "a/1.yaml": "# first\ninclude:\n  - 2.yaml\n", "a/2.yaml": "include: [x]"},
			[]string{"a/2.yaml:1:11: include[0]: there is no file a/x (included from a/1.yaml:3, from main.yaml:4)"},
		},
		"itself": {
			map[string]string{"main.yaml": composed("[main.yaml]", "{}")},
			[]string{"main.yaml:4:11: include[0]: makes a circle: main.yaml → main.yaml"},
		},
		"circle": {
			map[string]string{"main.yaml": composed("[a.yaml]", "{}"), "a.yaml": "include: [d/b.yaml]", "d/b.yaml": "include: [../a.yaml]"},
			[]string{"d/b.yaml:1:11: include[0]: makes a circle: a.yaml → d/b.yaml → a.yaml (included from a.yaml:1, from main.yaml:4)"},
		},
		"elsewhere": {
			map[string]string{"main.yaml": composed(`[/etc/passwd, ../x.yaml, a/../../x.yaml, ., "", "${x}.yaml"]`, "{}")},
			[]string{
				`main.yaml:4:11: include[0]: must be relative to this file, not "/etc/passwd"`,
				`main.yaml:4:24: include[1]: must be a file in the topology's own folder or below it, which "../x.yaml" is not`,
				`main.yaml:4:35: include[2]: must be a file in the topology's own folder`,
				`main.yaml:4:51: include[3]: must be a file in the topology's own folder`,
				`main.yaml:4:54: include[4]: must not be empty`,
				`main.yaml:4:58: include[5]: must be the name of a file, not "${x}.yaml": files are included before`,
			},
		},
		"no list": {
			map[string]string{"main.yaml": composed("parts", "{}") + "include: []\n"},
			[]string{`main.yaml:4:10: include: must be a list (- item), not the text "parts"`, "main.yaml:6:1: include: is given twice, first on line 4"},
		},
		"no fragments": {
			map[string]string{
				"main.yaml": composed("[a.yaml, b.yaml, c.yaml, d, e.yaml]", "{}"), "a.yaml": "[]", "b.yaml": "", "c.yaml": "\n\nkind: Pod\n", "d/x": "",
				"e.yaml": "\n\n a: {\n",
			},
			[]string{
				"main.yaml:4:35: include[3]: d cannot be read: is a directory",
				"a.yaml:1:1: must be a mapping (key: value), not a list",
				"b.yaml:1:1: is empty",
				`c.yaml:3:7: kind: must be Topology, or left out, not the text "Pod"`,
				"e.yaml:3:1: is not YAML",
			},
		},
		"errors are where they are": {
			map[string]string{
				"main.yaml": composed("[a.yaml]", "{vcenters: [{name: vc, datacenters: [{name: dc, vms: [{name: a, cpus: no}]}]}]}"),
				"a.yaml":    "\n" + inventory + "          folder: {}\n          folder: x\n  seeds: x\n",
			},
			[]string{
				"main.yaml:5:68: spec.vcenters[0].datacenters[0].vms[1].name: VM \"a\" is already there, on line 9 of a.yaml",
				`main.yaml:5:77: spec.vcenters[0].datacenters[0].vms[1].cpus: must be a whole number, not the text "no"`,
				"a.yaml:10:19: spec.vcenters[0].datacenters[0].folder: must be text, not a mapping",
				"a.yaml:11:11: spec.vcenters[0].datacenters[0].folder: is given twice, first on line 10",
				`a.yaml:12:3: spec.seeds: unknown key (did you mean "seed"?)`,
			},
		},
		"too large": {
			map[string]string{"main.yaml": composed("[a.yaml, b.yaml]", "{}"), "a.yaml": inventory + "#" + strings.Repeat(" ", 5<<20), "b.yaml": "#" + strings.Repeat(" ", 5<<20)},
			[]string{"main.yaml:4:19: include[1]: makes the files larger than the 8 MiB a topology may have"},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := topology.LoadFS(files(test.files), "main.yaml")
			wantErrors(t, err, test.want)
		})
	}
}

// wantErrors compares errors, of which only the beginning is given.
func wantErrors(t *testing.T, err error, want []string) {
	t.Helper()
	var all topology.Errors
	if !errors.As(err, &all) {
		t.Fatalf("%T %v, want topology.Errors", err, err)
	}
	same := len(all) == len(want)
	for i := range min(len(all), len(want)) {
		same = same && strings.HasPrefix(all[i].Error(), want[i])
	}
	if !same {
		t.Errorf("got\n%v\nwant\n%s", err, strings.Join(want, "\n"))
	}
}

func TestIncludeBounds(t *testing.T) {
	deep := map[string]string{}
	for i := range 20 {
		deep["f"+string(rune('a'+i))+".yaml"] = "include: [f" + string(rune('b'+i)) + ".yaml]"
	}
	deep["main.yaml"] = composed("[fa.yaml]", "{}")
	_, err := topology.LoadFS(files(deep), "main.yaml")
	if err == nil || !strings.Contains(err.Error(), "fj.yaml:1:11: include[0]: is nested more than 10 deep (included from fi.yaml:1, ") {
		t.Errorf("nested: %v", err)
	}
	many, list := map[string]string{}, []string{}
	for i := range 300 {
		name := "f" + strings.Repeat("x", i) + ".yaml"
		many[name], list = "spec: {}", append(list, name)
	}
	many["main.yaml"] = composed("["+strings.Join(list, ", ")+"]", "{}")
	if _, err = topology.LoadFS(files(many), "main.yaml"); err == nil || !strings.Contains(err.Error(), "include[199]: makes more than the 200 files") {
		t.Errorf("many: %v", err)
	}
	if _, err := topology.Load("data.yaml", []byte(composed("[a.yaml]", "{}"))); err == nil || !strings.Contains(err.Error(), "data.yaml:4:10: include: has no folder to be read from") {
		t.Errorf("without a folder: %v", err)
	}
}

// Files on disk are included with their names as they would be opened from here, and nothing outside the folder is read.
func TestIncludeFiles(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		file := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("secret.yaml", inventory)
	write("top/parts/vc.yaml", inventory)
	write("top/main.yaml", composed("[parts/vc.yaml]", "{}"))
	write("top/leak.yaml", composed("[parts/link.yaml]", "{}"))
	write("top/bad.yaml", composed("[parts/bad.yaml]", "{}"))
	write("top/parts/bad.yaml", "spec: {x: 1}")
	if err := os.Symlink("../../secret.yaml", filepath.Join(dir, "top", "parts", "link.yaml")); err != nil {
		t.Fatal(err)
	}
	t.Chdir(dir)
	for _, file := range []string{"top/main.yaml", "./top/main.yaml", filepath.Join(dir, "top/main.yaml")} {
		if _, err := topology.LoadFile(file); err != nil {
			t.Errorf("%s: %v", file, err)
		}
	}
	if _, err := topology.LoadFile("top/bad.yaml"); err == nil || !strings.Contains(err.Error(), "top/parts/bad.yaml:1:8: spec.x: unknown key") {
		t.Errorf("an error further in: %v", err)
	}
	_, err := topology.LoadFile("top/leak.yaml")
	if err == nil || !strings.Contains(err.Error(), "top/leak.yaml:4:11: include[0]: top/parts/link.yaml cannot be read: path escapes") {
		t.Errorf("a link that leads out: %v", err)
	}
	if err := syscall.Mkfifo(filepath.Join(dir, "top", "pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	write("top/piped.yaml", composed("[pipe]", "{}"))
	_, err = topology.LoadFile("top/piped.yaml")
	if err == nil || !strings.Contains(err.Error(), "top/pipe cannot be read: is not a regular file") {
		t.Errorf("a pipe: %v", err)
	}
	t.Chdir(filepath.Join(dir, "top"))
	if _, err := topology.LoadFile("main.yaml"); err != nil {
		t.Error(err)
	}
}

// The folder of a file in a file system is the topology's; what is beside that folder is not.
func TestLoadFSBelow(t *testing.T) {
	all := files(map[string]string{
		"a/main.yaml": composed("[b/vc.yaml]", "{}"), "a/b/vc.yaml": inventory, "a/bad.yaml": composed("[b/none.yaml, ../c/vc.yaml]", "{}"), "c/vc.yaml": inventory,
	})
	if _, err := topology.LoadFS(all, "a/main.yaml"); err != nil {
		t.Error(err)
	}
	_, err := topology.LoadFS(all, "a/bad.yaml")
	wantErrors(t, err, []string{
		"a/bad.yaml:4:11: include[0]: there is no file a/b/none.yaml",
		`a/bad.yaml:4:24: include[1]: must be a file in the topology's own folder or below it, which "../c/vc.yaml" is not`,
	})
	for _, name := range []string{"none.yaml", "../x", "a"} {
		if _, err := topology.LoadFS(all, name); err == nil {
			t.Errorf("%s was taken", name)
		}
	}
}
