package govc

import (
	"archive/tar"
	"bytes"
	"cmp"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cert"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/race"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/stocksim"
)

// TestBesideStock runs the same commands against stock vcsim and against a simulated vCenter: what stock answers is answered here.
func TestBesideStock(t *testing.T) {
	if race.Enabled {
		t.Skip("stock vcsim has data races")
	}
	steps := parse(t, "testdata/beside.txt")
	t.Run("stock", func(t *testing.T) {
		v, err := stocksim.Serve(stocksim.Options{User: "user", Password: "pass"})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(v.Remove)
		stock := slices.Clone(steps)
		for i := range stock {
			if stock[i].stock >= 0 {
				stock[i].exit, stock[i].wants = stock[i].stock, nil
			}
		}
		runAll(t, stock, v.URL(), "GOVC_USERNAME=user", "GOVC_INSECURE=true")
	})
	t.Run("here", func(t *testing.T) {
		lab := sim.Start(t, stocksim.Topology)
		runAll(t, steps, lab.VCenters()[0].URL(), "GOVC_USERNAME=user@vsphere.local", "GOVC_TLS_CA_CERTS="+lab.CAFile)
	})
}

// runAll runs commands in a folder with files for them, in a session of the user of stocksim.Topology.
func runAll(t *testing.T, steps []step, u *url.URL, more ...string) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	ca, err := cert.NewCA("trusted")
	if err != nil {
		t.Fatal(err)
	}
	home, dir := t.TempDir(), t.TempDir()
	files := map[string][]byte{
		"small.ovf": []byte(ovf), "small-disk1.vmdk": []byte("disk"), "small.iso": []byte("disk"), "cert.pem": ca.Cert, "service.yaml": []byte(service),
	}
	for _, part := range []string{"References", "DiskSection", "Item><rasd:AddressOnParent"} { // an OVF without files
		name, _, _ := strings.Cut(part, ">")
		before, rest, _ := strings.Cut(cmp.Or(string(files["bare.ovf"]), ovf), "<"+part)
		_, after, _ := strings.Cut(rest, "</"+name+">")
		files["bare.ovf"] = []byte(before + after)
	}
	var ova bytes.Buffer
	w := tar.NewWriter(&ova)
	for _, name := range []string{"small.ovf", "small-disk1.vmdk"} {
		if err := w.WriteHeader(&tar.Header{Name: name, Mode: 0o600, Size: int64(len(files[name]))}); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(files[name]); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	files["small.ova"] = ova.Bytes()
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	u.User = nil
	env := append([]string{
		asGovc + "=yes", "HOME=" + home, "GOVMOMI_HOME=" + home, "PATH=" + os.Getenv("PATH"), "TZ=UTC", "GORACE=atexit_sleep_ms=0",
		"GOVC_URL=" + u.String(), "GOVC_PASSWORD=pass",
	}, more...)
	variables := map[string]string{"TMP": dir}
	for _, s := range steps {
		run(t, self, env, s, variables)
	}
}

// service is the manifest of a service of Supervisors.
const service = `
apiVersion: data.packaging.carvel.dev/v1alpha1
kind: Package
metadata: {name: service.example.com.1.0.0}
spec: {refName: service.example.com, version: 1.0.0}
`

// families are the beginnings of the commands for which the tables have a row each.
var families = []string{
	"alarm", "cluster.draft", "cluster.group", "cluster.module", "cluster.rule", "cluster.stretch", "cluster.vlcm", "datastore.cluster", "disk", "dvs", "folder",
	"import", "kms", "library", "license", "metric", "namespace", "pool", "session", "snapshot", "sso", "storage.policy", "tags", "vcsa", "vlcm",
	"vm.dataset", "volume", "vsan",
}

// fails are the commands of the families that fail with stock vcsim, too.
var fails = []string{
	"cluster.vlcm.enable", "disk.register", "import.vmdk", "kms.trust", "library.session.rm", "metric.change", "metric.interval.change", "metric.reset",
	"namespace.cluster.enable", "sso.idp.default.ls", "sso.idp.default.update", "sso.idp.ldap.update", "sso.lpp.info", "sso.lpp.update",
}

// elsewhere are the commands that need a volume, whose calls pkg/sim/cns tests.
var elsewhere = []string{"volume.extend", "volume.relocate", "volume.rm", "volume.snapshot.create", "volume.snapshot.ls", "volume.snapshot.rm"}

// TestFamiliesAreComplete: each command of the families is in a table.
func TestFamiliesAreComplete(t *testing.T) {
	rows := map[string]bool{}
	for _, path := range []string{"session", "stock", "beside"} {
		for _, s := range parse(t, "testdata/"+path+".txt") {
			name, _, _ := strings.Cut(s.command, " ")
			rows[name] = true
		}
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), self, "-h")
	cmd.Env = append(os.Environ(), asGovc+"=yes")
	help, err := cmd.CombinedOutput()
	if len(help) == 0 {
		t.Fatal(err) // its exit code is that of a mistake
	}
	_, list, _ := strings.Cut(string(help), "Available commands:")
	all := strings.Fields(list)
	if len(all) < 400 {
		t.Fatalf("%d commands", len(all))
	}
	for _, name := range all {
		member := slices.ContainsFunc(families, func(f string) bool { return name == f || strings.HasPrefix(name, f+".") || name == f+"s" })
		named := slices.Contains(fails, name) || slices.Contains(elsewhere, name)
		if member && rows[name] == named {
			t.Errorf("govc %s: in a table %t, named as left out %t", name, rows[name], named)
		}
	}
}
