package ccm_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/ccm"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/program"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/upstream/upstreamtest"
)

func TestManifest(t *testing.T) {
	source := t.TempDir()
	file := filepath.Join(source, "releases", "v1.2", program.CCM.File()+".yaml")
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte("kind: DaemonSet\n"), 0o444); err != nil {
		t.Fatal(err)
	}
	o := program.Options{Cache: t.TempDir(), OS: "linux", Arch: "amd64"}
	o.Go = upstreamtest.Go(t, fmt.Sprintf(`echo '{"Dir": %q, "Sum": "h1:x"}'`, source))
	for _, version := range []string{"v1.2.3", "v1.2.0-rc.1"} {
		text, err := ccm.Manifest(t.Context(), version, o)
		if err != nil || string(text) != "kind: DaemonSet\n" {
			t.Errorf("%s: %q, %v", version, text, err)
		}
	}
	_, err := ccm.Manifest(t.Context(), "v1.3.0", o)
	_ = upstreamtest.WantError(t, err, "ccm-manifest-missing", "its module has no manifest for v1.3")
	_, err = ccm.Manifest(t.Context(), "v1.36.0", o) // whose checksum is known, and another one
	_ = upstreamtest.WantError(t, err, "ccm-manifest-missing", "this is not what was released")
	_, err = ccm.Manifest(t.Context(), "1.2.3/../..", o)
	_ = upstreamtest.WantError(t, err, "usage", "is no version")
	o.Go = upstreamtest.Go(t, `echo '{"Error": "no such host"}'; exit 1`)
	_, err = ccm.Manifest(t.Context(), "v1.2.3", o)
	_ = upstreamtest.WantError(t, err, "ccm-manifest-missing", "no such host")
	o.Go = filepath.Join(t.TempDir(), "none")
	_, err = ccm.Manifest(t.Context(), "v1.2.3", o)
	if try := upstreamtest.WantError(t, err, "go-missing", "there is no Go toolchain").Try; try != "--ccm-manifest FILE" {
		t.Errorf("try %q", try)
	}
}

// A release has the chart of its version, or that of the first release of its minor version.
func TestChart(t *testing.T) {
	source := t.TempDir()
	if err := os.Mkdir(filepath.Join(source, "charts"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, version := range []string{"1.2.0", "1.2.4"} {
		if err := os.WriteFile(filepath.Join(source, "charts", "vsphere-cpi-"+version+".tgz"), []byte(version), 0o444); err != nil {
			t.Fatal(err)
		}
	}
	o := program.Options{Cache: t.TempDir(), OS: "linux", Arch: "amd64"}
	o.Go = upstreamtest.Go(t, fmt.Sprintf(`echo '{"Dir": %q, "Sum": "h1:x"}'`, source))
	for version, want := range map[string]string{"v1.2.0": "1.2.0", "v1.2.4": "1.2.4", "v1.2.3": "1.2.0", "v1.2.4-rc.1": "1.2.4"} {
		if got, err := ccm.Chart(t.Context(), version, o); err != nil || string(got) != want {
			t.Errorf("%s: %q, %v", version, got, err)
		}
	}
	_, err := ccm.Chart(t.Context(), "v1.3.1", o)
	_ = upstreamtest.WantError(t, err, "ccm-chart-missing", "its module has no chart for v1.3")
	_, err = ccm.Chart(t.Context(), "1.2", o)
	_ = upstreamtest.WantError(t, err, "usage", "is no version")
}
