package release

import (
	"archive/tar"
	"bufio"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/instance"
)

// unpacked is the archive in a folder of ours.
func unpacked(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := unpack(archive, dir); err != nil {
		t.Fatal(err)
	}
	return dir
}

// The archive has the program, its terms and those of what is linked, manual pages and completions; nothing is anybody's who
// built it, and nothing but the program can be run.
func TestArchive(t *testing.T) {
	modes := map[string]string{}
	manuals, terms := 0, 0
	err := each(archive, func(name string, h *tar.Header, r io.Reader) error {
		modes[name] = h.FileInfo().Mode().String()
		if h.Uname != "root" || h.Gname != "root" || h.Uid != 0 || h.Gid != 0 {
			return fmt.Errorf("is of %s:%s (%d:%d)", h.Uname, h.Gname, h.Uid, h.Gid)
		}
		want := "-rw-r--r--"
		if name == "vsphere-sandbox" {
			want = "-rwxr-xr-x"
		}
		if h.Size == 0 || modes[name] != want {
			return fmt.Errorf("%d bytes, %s", h.Size, modes[name])
		}
		switch filepath.Dir(name) {
		case "man":
			manuals++
			if text, err := io.ReadAll(r); err != nil || !bytes.HasPrefix(text, []byte(`.TH "VSPHERE\-SANDBOX`)) {
				return errors.Join(errors.New("is no manual page"), err)
			}
		case "completions":
			if text, err := io.ReadAll(r); err != nil || !bytes.Contains(text, []byte("__complete")) {
				return errors.Join(errors.New("completes nothing"), err)
			}
		}
		if strings.HasPrefix(name, "licenses/") {
			terms++
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{
		"vsphere-sandbox", "LICENSE", "README.md", "SECURITY.md", "completions/vsphere-sandbox.bash", "completions/_vsphere-sandbox",
		"completions/vsphere-sandbox.fish", "man/vsphere-sandbox.1", "man/vsphere-sandbox-up.1", "man/vsphere-sandbox-vm-power-off.1",
		"licenses/go/LICENSE", "licenses/k8s.io/kubernetes/LICENSE", "licenses/github.com/vmware/govmomi/LICENSE.txt",
		"licenses/github.com/kubernetes-csi/external-provisioner/v6/LICENSE",
	} {
		if modes[name] == "" {
			t.Errorf("lacks %s", name)
		}
	}
	if manuals < 60 || terms < 200 {
		t.Errorf("%d manual pages, %d files of terms", manuals, terms)
	}
}

// Every checksum holds, and everything that is downloaded has one.
func TestChecksums(t *testing.T) {
	f, err := os.Open(filepath.Join(dist, "checksums.txt"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	summed := map[string]bool{}
	for lines := bufio.NewScanner(f); lines.Scan(); {
		sum, name, _ := strings.Cut(lines.Text(), "  ")
		summed[name] = true
		file := filepath.Join(dist, name)
		if filepath.Ext(name) == ".tgz" {
			file = filepath.Join(dist, "..", "extras", "charts", name)
		}
		data, err := os.ReadFile(file)
		if err != nil {
			t.Error(err)
			continue
		}
		if got := sha256.Sum256(data); hex.EncodeToString(got[:]) != sum {
			t.Errorf("%s has another sum", name)
		}
	}
	document := strings.TrimSuffix(filepath.Base(archive), ".tar.gz") + ".cdx.json"
	if !summed[filepath.Base(archive)] || !summed[document] || len(summed) < 5 {
		t.Errorf("sums are of %v", summed)
	}
}

// The bill of materials names every module that is linked into the program, and into the one that it carries.
func TestBillOfMaterials(t *testing.T) {
	data, err := os.ReadFile(strings.TrimSuffix(archive, ".tar.gz") + ".cdx.json")
	if err != nil {
		t.Fatal(err)
	}
	var bom struct {
		Components []struct{ Name, Version string }
	}
	if err := json.Unmarshal(data, &bom); err != nil {
		t.Fatal(err)
	}
	listed := map[string]bool{}
	for _, c := range bom.Components {
		listed[c.Name+" "+c.Version] = true
	}
	info, err := buildinfo.ReadFile(filepath.Join(unpacked(t), "vsphere-sandbox"))
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range info.Deps {
		if m.Replace != nil {
			m = m.Replace
		}
		if !listed[m.Path+" "+m.Version] {
			t.Errorf("%s %s is not listed", m.Path, m.Version)
		}
	}
	if len(info.Deps) < 100 || !listed["github.com/kubernetes-csi/external-attacher/v4 v4.12.0"] {
		t.Errorf("%d modules are linked; those of the sidecars are not listed", len(info.Deps))
	}
}

// Charts are separate packages: gzip, tar, a folder.
func TestCharts(t *testing.T) {
	found, err := filepath.Glob(filepath.Join(dist, "..", "extras", "charts", "*.tgz"))
	if err != nil || len(found) != 3 {
		t.Fatalf("%v, %v", found, err)
	}
	for _, file := range found {
		f, err := os.Open(file)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		z, err := gzip.NewReader(f)
		if err != nil {
			t.Fatal(err)
		}
		if h, err := tar.NewReader(z).Next(); err != nil || !strings.HasSuffix(h.Name, "/Chart.yaml") {
			t.Errorf("%s does not begin with its Chart.yaml: %v, %v", file, h, err)
		}
	}
}

// What a sandbox of an older release has left is shown by the new one, and taken away by its "down".
func TestUpgrade(t *testing.T) {
	dir := unpacked(t)
	state := filepath.Join(dir, "state")
	old, err := instance.Create(state, "default")
	if err != nil {
		t.Fatal(err)
	}
	// As if it had been killed: the lock goes with the process, the directory stays.
	if err := errors.Join(old.WriteRecord(instance.Record{Name: "default", PID: 1, Version: "v0.0.1", Topology: "single"}), old.Close()); err != nil {
		t.Fatal(err)
	}
	for _, step := range [][2]string{{"list", `sandbox "default" crashed`}, {"down", `sandbox "default": cleaned up`}} {
		cmd := exec.Command(filepath.Join(dir, "vsphere-sandbox"), step[0])
		cmd.Env = []string{"VSPHERE_SANDBOX_STATE=" + state}
		if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), step[1]) {
			t.Errorf("%s: %v: %s", step[0], err, out)
		}
	}
	if left, err := os.ReadDir(state); err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
}
