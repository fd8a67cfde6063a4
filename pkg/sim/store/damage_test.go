package store_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/race"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/store"
)

// small is enough to damage.
const small = `
spec:
	vcenters:
	- name: west
	  datacenters:
	  - name: dc1
	    clusters: [{name: c1, hosts: [{name: h1}]}]
	    vms: [{name: web, cluster: c1}]
`

// edit changes a file of a folder: the one whose name ends so.
type edit struct{ file, from, to string }

func (e edit) do(t *testing.T, dir string) {
	t.Helper()
	path := fileIn(t, dir, e.file)
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	text := strings.ReplaceAll(string(b), e.from, e.to)
	if text == string(b) {
		t.Fatalf("%s has no %q", path, e.from)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func fileIn(t *testing.T, dir, part string) string {
	t.Helper()
	found := ""
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && found == "" && strings.Contains(path, part) {
			found = path
		}
		return err
	})
	if err != nil || found == "" {
		t.Fatalf("no %s in %s: %v", part, dir, err)
	}
	return found
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestDamage(t *testing.T) {
	race.SkipSlow(t)
	whole, _ := build(t, small).save(t, store.Options{})
	for _, tc := range []struct {
		name   string
		sums   bool // sandbox.json stays
		damage func(t *testing.T, dir string)
		want   string // of "file:line: problem"
		try    string
	}{
		{
			name: "nothing in it", want: "has no ServiceInstance", try: "without a path",
			damage: func(t *testing.T, dir string) {
				if err := errors.Join(os.RemoveAll(dir), os.Mkdir(dir, 0o700)); err != nil {
					t.Fatal(err)
				}
			},
		},
		{
			name: "no service instance", want: "has no ServiceInstance", try: "without a path",
			damage: func(t *testing.T, dir string) { os.Remove(fileIn(t, dir, "0000-")) },
		},
		{
			name: "a file cut short", want: "VirtualMachine-vm-", try: "save the vCenter again",
			damage: func(t *testing.T, dir string) {
				path := fileIn(t, dir, "-VirtualMachine-")
				b, _ := os.ReadFile(path)
				write(t, path, string(b[:len(b)/2]))
			},
		},
		{
			name: "line of what is wrong", want: ".xml:2: is no XML of an object", try: "save",
			damage: func(t *testing.T, dir string) { write(t, fileIn(t, dir, "-VirtualMachine-"), "<ObjectContent>\n<obj") },
		},
		{
			name: "an empty file", want: "-VirtualMachine-vm-", try: "save",
			damage: func(t *testing.T, dir string) { write(t, fileIn(t, dir, "-VirtualMachine-"), "") },
		},
		{
			name: "something else", want: "is no managed object", try: "save",
			damage: func(t *testing.T, dir string) { write(t, fileIn(t, dir, "-VirtualMachine-"), "<html></html>") },
		},
		{
			name: "one object twice", want: "is in 00", try: "save",
			damage: func(t *testing.T, dir string) {
				b, _ := os.ReadFile(fileIn(t, dir, "-VirtualMachine-"))
				write(t, filepath.Join(dir, "9999-VirtualMachine-vm-1.xml"), string(b))
			},
		},
		{
			name: "a parent that is not there", want: "parent Folder group-none is not in the folder", try: "delete the file",
			damage: func(t *testing.T, dir string) {
				b, _ := os.ReadFile(fileIn(t, dir, "-VirtualMachine-"))
				_, rest, _ := strings.Cut(string(b), "<name>parent</name>")
				_, rest, _ = strings.Cut(rest, `"Folder"`)
				value, _, _ := strings.Cut(strings.TrimLeft(rest[strings.Index(rest, ">")+1:], " "), "<")
				edit{"-VirtualMachine-", ">" + value + "<", ">group-none<"}.do(t, dir)
			},
		},
		{
			name: "a parent of the wrong kind", want: "parent is a HostSystem", try: "save",
			damage: func(t *testing.T, dir string) {
				edit{"-VirtualMachine-", `type="Folder"`, `type="HostSystem"`}.do(t, dir)
			},
		},
		{
			name: "a folder in itself", want: "is below it", try: "save",
			damage: func(t *testing.T, dir string) {
				path := fileIn(t, dir, "-Datacenter-")
				self := strings.TrimSuffix(path[strings.Index(path, "-Datacenter-")+len("-Datacenter-"):], ".xml")
				edit{"-Datacenter-", ">group-d1<", ">group-loop<"}.do(t, dir)
				write(t, filepath.Join(dir, "9998-Folder-group-loop.xml"), `<ObjectContent><obj type="Folder">group-loop</obj>
<propSet><name>parent</name><val xmlns:XMLSchema-instance="http://www.w3.org/2001/XMLSchema-instance" XMLSchema-instance:type="ManagedObjectReference" type="Datacenter">`+self+`</val></propSet></ObjectContent>`)
			},
		},
		{
			name: "a VM without its host", want: "runtime.host HostSystem host-", try: "delete the file",
			damage: func(t *testing.T, dir string) {
				os.Remove(fileIn(t, dir, "-HostSystem-"))
			},
		},
		{
			name: "an object of an unknown type", want: ":2: managed objects of the type Toaster are unknown", try: "delete the file",
			damage: func(t *testing.T, dir string) {
				write(t, filepath.Join(dir, "9999-Toaster-1.xml"), "<ObjectContent>\n<obj type=\"Toaster\">1</obj></ObjectContent>")
			},
		},
		{
			name: "a value of an unknown type", want: "values of the type VirtualToaster are unknown", try: "release",
			damage: func(t *testing.T, dir string) {
				edit{"-VirtualMachine-", `:type="VirtualDisk"`, `:type="VirtualToaster"`}.do(t, dir)
			},
		},
		{
			name: "a value that does not fit", want: "-VirtualMachine-vm-", try: "save",
			damage: func(t *testing.T, dir string) {
				edit{"-VirtualMachine-", `:type="VirtualMachineConfigInfo"`, `:type="HostConfigInfo"`}.do(t, dir)
			},
		},
		{
			name: "a file outside of its datastore", want: "is outside of its datastore", try: "save",
			damage: func(t *testing.T, dir string) { edit{"-VirtualMachine-", "web/web.vmx", "../../web.vmx"}.do(t, dir) },
		},
		{
			name: "a disk outside of its datastore", want: "is outside of its datastore", try: "save",
			damage: func(t *testing.T, dir string) { edit{"-VirtualMachine-", "web/web.vmdk", "../../web.vmdk"}.do(t, dir) },
		},
		{
			name: "of a host", want: "only vCenters can be loaded", try: "save a vCenter",
			damage: func(t *testing.T, dir string) {
				edit{"0000-", "<apiType>VirtualCenter<", "<apiType>HostAgent<"}.do(t, dir)
			},
		},
		{
			name: "no root folder", want: "root folder group-d1 is not in the folder", try: "without a path",
			damage: func(t *testing.T, dir string) { os.Remove(fileIn(t, dir, "-Folder-group-d1.")) },
		},
		{
			name: "a link", want: "is a link", try: "cp -rL",
			damage: func(t *testing.T, dir string) {
				path := fileIn(t, dir, "-VirtualMachine-")
				if err := errors.Join(os.Remove(path), os.Symlink("/etc/passwd", path)); err != nil {
					t.Fatal(err)
				}
			},
		},
		{
			name: "a folder that is a link", want: "is no folder", try: "cp -rL",
			damage: func(t *testing.T, dir string) {
				path := filepath.Dir(fileIn(t, dir, "QueryConfigTarget"))
				if err := errors.Join(os.RemoveAll(path), os.Symlink("/etc", path)); err != nil {
					t.Fatal(err)
				}
			},
		},
		{
			name: "a huge file", want: "has 65 MB", try: "save",
			damage: func(t *testing.T, dir string) {
				if err := os.Truncate(fileIn(t, dir, "-VirtualMachine-"), 65<<20); err != nil {
					t.Fatal(err)
				}
			},
		},
		{
			name: "nested without end", want: ":201: elements are nested", try: "save",
			damage: func(t *testing.T, dir string) {
				write(t, fileIn(t, dir, "-VirtualMachine-"), strings.Repeat("<a>\n", 100000))
			},
		},
		{
			name: "a method's answer cut short", want: "EnvironmentBrowser-envbrowser-", try: "save",
			damage: func(t *testing.T, dir string) { write(t, fileIn(t, dir, "QueryConfigTarget"), "<x") },
		},

		{
			name: "a tag without its category", sums: true, want: `sandbox/tags.json: tag "x" is of category y, which is not in it`, try: "save",
			damage: func(t *testing.T, dir string) {
				// Without its checksum, as after an edit.
				b, _ := os.ReadFile(filepath.Join(dir, "sandbox.json"))
				text := regexp.MustCompile(`,\s*"sandbox/tags.json": "[0-9a-f]*"`).ReplaceAllString(string(b), "")
				write(t, filepath.Join(dir, "sandbox.json"), text)
				write(t, filepath.Join(dir, "sandbox", "tags.json"), `{"tags": [{"id": "t", "name": "x", "category_id": "y"}]}`)
			},
		},
		{
			name: "a newer version", sums: true, want: "sandbox.json:2: is of format 2; this release reads up to 1", try: "newer",
			damage: func(t *testing.T, dir string) { edit{"sandbox.json", `"format": 1`, `"format": 2`}.do(t, dir) },
		},
		{
			name: "no JSON", sums: true, want: "sandbox.json:3: is no JSON", try: "save",
			damage: func(t *testing.T, dir string) { edit{"sandbox.json", `"vcenter":`, `vcenter`}.do(t, dir) },
		},
		{
			name: "JSON of something else", sums: true, want: "sandbox.json: has no format and files", try: "save",
			damage: func(t *testing.T, dir string) { write(t, filepath.Join(dir, "sandbox.json"), "{}") },
		},
		{
			name: "another checksum", sums: true, want: "is not as it was saved: its checksum differs", try: "remove its line",
			damage: func(t *testing.T, dir string) { edit{"-VirtualMachine-", ">web<", ">wob<"}.do(t, dir) },
		},
		{
			name: "tags edited", sums: true, want: "sandbox/tags.json: is not as it was saved", try: "remove its line",
			damage: func(t *testing.T, dir string) { write(t, filepath.Join(dir, "sandbox", "tags.json"), "{}") },
		},
		{
			name: "a file missing", sums: true, want: "no such file", try: "save",
			damage: func(t *testing.T, dir string) { os.Remove(fileIn(t, dir, "-VirtualMachine-")) },
		},
		{
			name: "a checksum of something outside", sums: true, want: `file "../x" is outside`, try: "save",
			damage: func(t *testing.T, dir string) {
				edit{"sandbox.json", `"sandbox/access.json"`, `"../x"`}.do(t, dir)
			},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "saved")
			if err := os.CopyFS(dir, os.DirFS(whole)); err != nil {
				t.Fatal(err)
			}
			tc.damage(t, dir)
			if !tc.sums {
				os.Remove(filepath.Join(dir, "sandbox.json"))
			}
			_, err := store.Load(dir)
			var reported *store.Error
			if !errors.As(err, &reported) {
				t.Fatalf("err = %v", err)
			}
			if !strings.Contains(err.Error(), tc.want) || !strings.HasPrefix(err.Error(), dir) {
				t.Errorf("err = %v, want %q", err, tc.want)
			}
			if !strings.Contains(reported.Try(), tc.try) {
				t.Errorf("try %q, want %q", reported.Try(), tc.try)
			}
		})
	}
	if _, err := store.Load(filepath.Join(whole, "none")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("err = %v", err)
	}
	if _, err := store.Load(fileIn(t, whole, "0000-")); err == nil || !strings.Contains(err.Error(), "is no folder") {
		t.Errorf("err = %v", err)
	}
}

func TestSaveLeavesNothingHalfDone(t *testing.T) {
	race.SkipSlow(t)
	v := build(t, small)
	parent := t.TempDir()
	dir := filepath.Join(parent, "saved")
	only := func(want ...string) {
		t.Helper()
		entries, _ := os.ReadDir(parent)
		var got []string
		for _, e := range entries {
			got = append(got, e.Name())
		}
		if strings.Join(got, " ") != strings.Join(want, " ") {
			t.Errorf("holds %v, want %v", got, want)
		}
	}
	save := func(o store.Options) error {
		_, err := store.Save(t.Context(), v.Client, v.rest, dir, o)
		return err
	}

	if err := os.Mkdir(dir, 0o755); err != nil { // an empty one is as good as none
		t.Fatal(err)
	}
	if err := save(store.Options{}); err != nil {
		t.Fatal(err)
	}
	if err := save(store.Options{}); !errors.Is(err, store.ErrExists) {
		t.Errorf("err = %v", err)
	}
	write(t, filepath.Join(dir, "old"), "")
	if err := save(store.Options{Replace: true}); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "old")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the old one is still there: %v", err)
	}
	only("saved")

	if err := v.rest.Logout(t.Context()); err != nil { // so that the last step fails
		t.Fatal(err)
	}
	if err := save(store.Options{Replace: true}); err == nil || !strings.Contains(err.Error(), "tags") {
		t.Errorf("err = %v", err)
	}
	only("saved")
	if _, err := store.Load(dir); err != nil {
		t.Errorf("the old one is gone: %v", err)
	}

	if err := errors.Join(os.RemoveAll(dir), os.Mkdir(dir, 0o755)); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "thesis.txt"), "")
	if err := save(store.Options{Replace: true}); !errors.Is(err, store.ErrForeign) {
		t.Errorf("err = %v", err)
	}
	only("saved")
}
