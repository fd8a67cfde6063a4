package kind

import (
	"encoding/json"
	"net/netip"
	"os"
	"os/exec"
	"testing"
)

// The container spec is valid JSON, and the hook a valid shell script.
func TestFirmware(t *testing.T) {
	var spec struct {
		Mounts []struct{ Destination string }
		Hooks  struct{ CreateContainer []struct{ Path string } }
	}
	if err := json.Unmarshal([]byte(containerSpec), &spec); err != nil || len(spec.Mounts) != 6 || spec.Hooks.CreateContainer[0].Path != hookPath {
		t.Errorf("%+v, %v", spec, err)
	}
	o := Options{Dir: t.TempDir(), Firmware: true}
	if !o.firmware() {
		t.Skip("this machine has a place for a serial number")
	}
	if err := o.writeFirmware(); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.CommandContext(t.Context(), "sh", "-n", hookFile(o.Dir)).CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
	for _, m := range o.firmwareMounts() {
		if _, err := os.Stat(m.HostPath); err != nil {
			t.Error(err)
		}
	}
	if o.Firmware = false; o.firmwareMounts() != nil {
		t.Error("it is there unasked")
	}
}

func TestMirrorOf(t *testing.T) {
	want := "server = \"https://registry.k8s.io\"\n\n[host.\"http://172.18.0.1:5000\"]\n  capabilities = [\"pull\", \"resolve\"]\n"
	if got := mirrorOf("registry.k8s.io", netip.MustParseAddrPort("172.18.0.1:5000")); got != want {
		t.Errorf("got %s", got)
	}
}
